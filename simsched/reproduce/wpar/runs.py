"""`Runs`: batches of W-Par and of Seq, replayed cell by cell, each once.

Of W-Par any cell is ready whose neighbours are done. Of Seq a mini-batch is a chain: all its cells, in sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from simsched.graph import TaskGraph
from simsched.replay import simulate
from simsched.reproduce.wpar.cells import CellCosts
from simsched.reproduce.wpar.setting import KEPT, Setting
from simsched.schedule import Schedule

#: Meaning of a system here: any ready cell on any free core; or a mini-batch that stays with its core.
POLICIES: Mapping[str, str] = {"wpar": "wavefront", "seq": "data-parallel"}


class Runs:
    """Replays of W-Par and of Seq.

    Parameters
    ----------
    costs : CellCosts
    """

    def __init__(self, costs: CellCosts) -> None:
        self.costs = costs
        self._known_s: dict[tuple[str, Setting, int, int], float] = {}

    def seconds(self, system: str, setting: Setting, mini_batches: int, cores: int) -> float:
        """Return the seconds of a batch."""
        key = (system, setting, mini_batches, cores)
        if key not in self._known_s:
            self._known_s[key] = self.schedule(*key).makespan_s
        return self._known_s[key]

    def best_s(
        self, system: str, setting: Setting, mini_batches: Sequence[int], cores: Sequence[int]
    ) -> float:
        """Return the fewest seconds over numbers of mini-batches, none more than the batch has, and of cores."""
        return min(
            self.seconds(system, setting, parts, count)
            for parts in mini_batches
            if parts <= setting.batch
            for count in cores
        )

    def schedule(self, system: str, setting: Setting, mini_batches: int, cores: int) -> Schedule:
        """Return the replay of a batch."""
        graph, machine = (
            _graph(system, setting, mini_batches),
            self.costs.machine_of(setting, mini_batches),
        )
        workers = min(cores, mini_batches if system == "seq" else widest(setting, mini_batches))
        seconds = self.costs.seconds(graph, setting, mini_batches, workers)
        graph = replace(graph, durations_s=seconds)
        if workers > machine.n_cores // machine.n_domains:
            graph = replace(graph, durations_s=self.costs.over_two_sockets(graph, setting, workers))
        return simulate(graph, machine, POLICIES[system], (cores, 1))


@lru_cache(KEPT)
def _graph(system: str, setting: Setting, mini_batches: int) -> TaskGraph:
    graph = setting.graph(mini_batches)
    return graph if system == "wpar" else chained(graph, mini_batches)


def widest(setting: Setting, mini_batches: int) -> int:
    """Return the most cells of a batch that can run at a time (Sec. 3)."""
    return mini_batches * min(setting.layers, setting.steps)


def chained(graph: TaskGraph, mini_batches: int) -> TaskGraph:
    """Return a graph of cells with those of a mini-batch in a chain, followed by the final tasks.

    Parameters
    ----------
    graph : TaskGraph
        As `simsched.workloads.recurrent.cell_grid` makes it: forward, then backward, each mini-batch by mini-batch.
    mini_batches : int
    """
    finals = mini_batches if "ApplyGradientDescent" in graph.kinds.labels else 0
    cells = graph.n_tasks - finals
    ways = np.arange(cells).reshape(2 if finals else 1, mini_batches, -1)
    chains = np.concatenate(list(ways), axis=1)
    edges = [np.stack([chains[:, :-1].ravel(), chains[:, 1:].ravel()], axis=1)]
    if finals:
        sums = cells + np.arange(mini_batches)
        first_sum = np.maximum(sums - 1, cells)
        edges += [np.stack([sums[:-1], sums[1:]], axis=1), np.stack([chains[:, -1], first_sum], axis=1)]
    labels = np.array(graph.kinds.labels, object)
    return TaskGraph.from_edges(
        graph.durations_s, np.concatenate(edges), kinds=labels[graph.kinds.codes].tolist(), flops=graph.flops,
        bytes_B=graph.bytes_B, shapes=graph.shapes.to_list(), name=graph.name,
    )  # fmt: skip
