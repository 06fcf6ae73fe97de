"""Seconds of a whole training with CHAOS: one epoch is simulated, image by image, and repeats.

An epoch is a task graph: images on their own, or rounds in which the workers of a strategy meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simsched.graph import TaskGraph
from simsched.machine import RuntimeProfile
from simsched.replay import simulate
from simsched.reproduce.chaos.team import Image, Layer, Team
from simsched.reproduce.published import Published
from simsched.schedule import Schedule

Indices = npt.NDArray[np.int64]
#: Kind and seconds of a task.
Part = tuple[str, float]

_NAMES = {"conv": "conv", "maxpool": "pool", "full": "full", "output": "full"}


def images_by_layer(team: Team, images: int) -> TaskGraph:
    """Return training images, a chain of layers each: forward, then backward with each layer's update."""
    image = team.image
    forwards = zip(image.layers, image.forward_s, strict=True)
    parts = [(f"{_NAMES[layer.kind]} forward", seconds) for layer, seconds in forwards]
    for layer, seconds in image.backwards():
        parts.append((f"{_NAMES[layer.kind]} backward", seconds))
        if layer.weights:
            parts.append((f"{_NAMES[layer.kind]} update", team.waits_s(layer)))
    return _chains(parts, images)


def _classified(team: Team, images: int) -> TaskGraph:
    """Return images that are only classified."""
    return _chains([("forward", sum(team.image.forward_s))], images)


def chaos(team: Team, images: int) -> TaskGraph:
    """Return images for any free worker; updates wait for other writers, in order of arrival."""
    return _chains([("train", image_s(team) + _updates_s(team, team.waits_s))], images)


def _hogwild(team: Team, images: int) -> TaskGraph:
    """Return images for any free worker; nothing waits, but values written by others are fetched (D)."""
    return _chains([("train", image_s(team) + _updates_s(team, team.writes_s))], images)


def delayed(team: Team, images: int) -> TaskGraph:
    """Return images whose updates follow each other in turn, worker by worker (C)."""
    parts = [("train", image_s(team)), ("update", _updates_s(team, team.writes_s))]
    train, update = 2 * np.arange(images), 2 * np.arange(images) + 1
    turns = pairs(update[:-1], update[1:])
    own = pairs(update[: -team.threads], train[team.threads :])
    return _tasks(parts, images, np.concatenate([pairs(train, update), turns, own]))


def image_s(team: Team) -> float:
    """Return the seconds of an image forward and backward."""
    return sum(team.image.forward_s) + sum(team.image.backward_s)


def _updates_s(team: Team, update_s: Callable[[Layer], float]) -> float:
    """Return the seconds of the updates of all layers."""
    return sum(update_s(layer) for layer in team.image.layers if layer.weights)


def pairs(one: Indices, other: Indices) -> Indices:
    """Return edges from each of `one` to each of `other`, shape (m, 2)."""
    return np.stack([one, other], axis=1)


def _chains(parts: Sequence[Part], images: int) -> TaskGraph:
    tasks = np.arange(images * len(parts)).reshape(images, len(parts))
    return _tasks(parts, images, pairs(tasks[:, :-1].ravel(), tasks[:, 1:].ravel()))


def _tasks(parts: Sequence[Part], images: int, edges: Indices) -> TaskGraph:
    kinds = parts[0][0] if len(parts) == 1 else [kind for kind, _ in parts] * images
    return TaskGraph.from_edges(np.tile([seconds for _, seconds in parts], images), edges, kinds=kinds)


class _Stage(NamedTuple):
    """Work of all workers between two meetings, and the meeting after it.

    Parameters
    ----------
    kind : str
    seconds : float64 array, shape (rounds, threads)
    meeting_s : float or None
        None where workers continue without meeting.
    """

    kind: str
    seconds: npt.NDArray[np.float64]
    meeting_s: float | None


def _averaged(team: Team, images: int, batch: int) -> TaskGraph:
    """Return rounds in which each worker trains on its own batch, and all then average their gradients (B).

    Each worker averages its part of the weights over all copies, and fetches the result.
    """
    whole, rest = divmod(images, batch)
    rounds = -(-images // (team.threads * batch))
    sizes = np.zeros(rounds * team.threads)
    sizes[:whole] = batch
    sizes[whole : whole + 1] = rest
    average_s = 2 * team.fetches_s(team.image.weights) + 2 * team.meets_s()
    return _rounds([_Stage("train", sizes.reshape(rounds, -1) * image_s(team), average_s)])


def _hybrid(team: Team, images: int) -> TaskGraph:
    """Return rounds of one image per worker up to the connected layers, which all workers share (A).

    A connected layer's weights have one writer each. Its inputs, and the gradients of them, pass to all once.
    """
    image, rounds = team.image, -(-images // team.threads)
    busy = (np.arange(rounds * team.threads) < images).reshape(rounds, -1).astype(np.float64)
    split = next(i for i, layer in enumerate(image.layers) if layer.connected)
    passing_s = 2 * team.fetches_s(team.threads * image.layers[split].inputs)
    waits_s = _updates_s(team, lambda layer: 0.0 if layer.connected else team.waits_s(layer))
    shared_s = sum(image.forward_s[split:]) + sum(image.backward_s[split:]) + passing_s
    return _rounds([
        _Stage("conv forward", busy * sum(image.forward_s[:split]), team.meets_s()),
        _Stage("full", busy * shared_s, team.meets_s()),
        _Stage("conv backward", busy * (sum(image.backward_s[:split]) + waits_s), None),
    ])  # fmt: skip


def _rounds(stages: Sequence[_Stage]) -> TaskGraph:
    """Return the graph: in each round, each stage's tasks in worker order, then its meeting."""
    rounds, threads = stages[0].seconds.shape
    seconds: list[npt.NDArray[np.float64]] = []
    kinds: list[str] = []
    edges: list[Indices] = []
    before: Indices | None = None
    n = 0
    for turn in range(rounds):
        for stage in stages:
            own = np.arange(n, n + threads)
            n += threads
            seconds.append(stage.seconds[turn])
            kinds += [stage.kind] * threads
            if before is not None:
                edges.append(pairs(np.broadcast_to(before, threads), own))
            before = own
            if stage.meeting_s is not None:
                before = np.array([n])
                edges.append(pairs(own, np.broadcast_to(before, threads)))
                seconds.append(np.array([stage.meeting_s]))
                kinds.append("meeting")
                n += 1
    return TaskGraph.from_edges(
        np.concatenate(seconds), np.concatenate(edges or [np.empty((0, 2), np.int64)]), kinds=kinds
    )


_STRATEGIES: Mapping[str, Callable[[Team, int], TaskGraph]] = {
    "chaos": chaos,
    "hybrid": _hybrid,
    "delayed": delayed,
    "hogwild": _hogwild,
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
        return prepared_s + epochs * self._epoch_s

    @cached_property
    def _epoch_s(self) -> float:
        """Seconds of an epoch: training, validation and test, each begun when the one before has ended."""
        scheme = self.published.inputs["scheme"]
        phases = (
            self.trained(scheme["images"]),
            _classified(self.team, scheme["images"]),
            _classified(self.team, scheme["test_images"]),
        )
        return sum(self.replay(phase).makespan_s for phase in phases)

    def trained(self, images: int) -> TaskGraph:
        """Return the graph of some training images, under the strategy."""
        if self.variant == "averaged":
            return _averaged(self.team, images, self.batch)
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
        images = images_a_worker * self.threads
        if images not in self._by_layer:
            self._by_layer[images] = self.replay(images_by_layer(self.team, images))
        schedule = self._by_layer[images]
        graph, kinds = schedule.graph, {layer, layer.replace("backward", "update")}
        counted = [code for code, label in enumerate(graph.kinds.labels) if label in kinds]
        took_s = (schedule.finish_s - schedule.start_s)[np.isin(graph.kinds.codes, counted)]
        return float(took_s.sum()) / images

    @cached_property
    def _by_layer(self) -> dict[int, Schedule]:
        """Replays of numbers of images, layer by layer."""
        return {}

    def replay(self, graph: TaskGraph) -> Schedule:
        """Replay a graph on the team's threads; a worker that continues its image asks no scheduler."""
        return simulate(
            graph, self.team.machine, "data-parallel", (self.threads, 1), runtime=RuntimeProfile()
        )
