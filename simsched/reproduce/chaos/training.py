"""Seconds of a whole training with CHAOS: one epoch is simulated, image by image, and repeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simsched.graph import TaskGraph
from simsched.machine import RuntimeProfile
from simsched.replay import simulate
from simsched.reproduce.chaos.epoch import (
    averaged,
    chaos,
    classified,
    delayed,
    hogwild,
    hybrid,
    images_by_layer,
)
from simsched.reproduce.chaos.network import Image
from simsched.reproduce.chaos.team import Team
from simsched.reproduce.published import Published
from simsched.schedule import Schedule

_STRATEGIES: Mapping[str, Callable[[Team, int], TaskGraph]] = {
    "chaos": chaos,
    "hybrid": hybrid,
    "delayed": delayed,
    "hogwild": hogwild,
}


@dataclass(frozen=True, eq=False)
class Training:
    """Workers that train a network.

    Parameters
    ----------
    published : Published
    network : str
        small, medium or large.
    threads : int
        Workers.
    variant : {"chaos", "hybrid", "averaged", "delayed", "hogwild"}
        The strategy.
    batch : int
        Images a worker takes between two averages.
    waiting : {"weights", "layers", "none"}
        As in `Team`.
    """

    published: Published
    network: str
    threads: int
    variant: str = "chaos"
    batch: int = 1
    waiting: str = "weights"

    @cached_property
    def team(self) -> Team:
        """The workers."""
        return Team(self.network, Image.of(self.published, self.network), self.threads, self.waiting)

    @cached_property
    def total_s(self) -> float:
        """Seconds of preparation and all epochs."""
        prepared_s = float(self.published.inputs["measured"]["prep_s"][self.network])
        epochs: int = self.published.inputs["scheme"]["epochs"][self.network]
        return prepared_s + epochs * self.epoch_s

    @cached_property
    def epoch_s(self) -> float:
        """Seconds of an epoch: training, validation and test, each begun when the one before has ended."""
        scheme = self.published.inputs["scheme"]
        phases = (
            self.trained(scheme["images"]),
            classified(self.team, scheme["images"]),
            classified(self.team, scheme["test_images"]),
        )
        return sum(self.replay(phase).makespan_s for phase in phases)

    def trained(self, images: int) -> TaskGraph:
        """Return the graph of some training images, under the strategy."""
        if self.variant == "averaged":
            return averaged(self.team, images, self.batch)
        return _STRATEGIES[self.variant](self.team, images)

    def layer_s(self, layer: str, images_a_worker: int = 16) -> float:
        """Return the mean seconds of an image in layers of a kind, with their updates.

        Parameters
        ----------
        layer : str
            As in `conv backward`.
        images_a_worker : int
            Images that each simulates; all are equal while all workers run.
        """
        graph = images_by_layer(self.team, images_a_worker * self.threads)
        schedule = self.replay(graph)
        kinds = {layer, layer.replace("backward", "update")}
        counted = [code for code, label in enumerate(graph.kinds.labels) if label in kinds]
        took_s = (schedule.finish_s - schedule.start_s)[np.isin(graph.kinds.codes, counted)]
        return float(took_s.sum()) / (images_a_worker * self.threads)

    def replay(self, graph: TaskGraph) -> Schedule:
        """Replay a graph on the team's threads; a worker that continues its image asks no scheduler."""
        return simulate(
            graph, self.team.machine, "data-parallel", (self.threads, 1), runtime=RuntimeProfile()
        )
