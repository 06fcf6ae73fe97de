"""`Setting`: a row of W-Par and its networks; and seconds of its tasks, cells on one core, by sequential kernels.

A cell is its matrix products, by MKL's vectors, and its gates, element by element in plain loops, each at the clock
that cores have with such code while as many of them are busy. It takes as long as these or its bytes, whichever is
longer; with `packing`, products of several sequences first pass their matrices and then multiply, so that it takes
both. Bytes pass as from the L3 while weights and gradients fit there, else as from memory. The rate of products and the
cycles of a gate's element are those with which Seq and W-Par take their measured times on the reference row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import cast

import numpy as np

from simsched.costs.kernels.library import parameters
from simsched.errors import MachineError
from simsched.graph import TaskGraph
from simsched.graph.shapes import parse_shape
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine
from simsched.replay import simulate
from simsched.schedule import Schedule
from simsched.workloads import family
from simsched.workloads.recurrent import Recurrent
from simsched.workloads.tensor import ELEMENT_B

#: Networks and graphs that are kept: their runs on all numbers of cores follow one another.
KEPT = 64


@dataclass(frozen=True)
class Setting:
    """A stacked recurrent network and its batch.

    Parameters
    ----------
    cell : {"lstm", "gru", "rnn"}
    layers, input, hidden, batch, steps : int
        As in `simsched.workloads.recurrent.Recurrent`.
    training : bool
        Whether there is a way back, too.
    """

    cell: str
    layers: int
    input: int
    hidden: int
    batch: int
    steps: int
    training: bool = True

    def cells(self, mini_batches: int) -> Recurrent:
        """Return the network whose tasks are cells, as run by W-Par and Seq."""
        return _cells(self, mini_batches)

    def graph(self, mini_batches: int) -> TaskGraph:
        """Return the graph of that network."""
        return _setting_graph(self, mini_batches)

    def ops(self, steps: int, *, fused: bool) -> Recurrent:
        """Return the network of some steps op by op; with `fused`, gates share their products."""
        shared = {"fused": fused} if self.cell != "rnn" else {}
        return self._network(**{"steps": steps, **shared})

    def _network(self, **more: str | int | bool) -> Recurrent:
        own = {
            "layers": self.layers, "input": self.input, "hidden": self.hidden, "batch": self.batch,
            "steps": self.steps, "training": self.training,
        }  # fmt: skip
        return cast(Recurrent, family(self.cell, **{**own, **more}))


@lru_cache(KEPT)
def _cells(setting: Setting, mini_batches: int) -> Recurrent:
    return setting._network(mini_batches=mini_batches, granularity="cell")


@lru_cache(KEPT)
def _setting_graph(setting: Setting, mini_batches: int) -> TaskGraph:
    return setting.cells(mini_batches).graph()


#: Gates of a cell, by its kind (Sec. 2).
_GATES = {"LSTMCell": 4, "GRUCell": 3, "RNNCell": 1}


@dataclass(frozen=True)
class CellCosts:
    """Seconds of cells.

    Parameters
    ----------
    machine : Machine
    cache_Bps : float
        Bytes per second of one core from the L3; that from memory is the machine's.
    remote : float
        Share of a cell's data on the other socket, in a run on more cores than a socket has.
    packing : bool
        Whether products of several sequences take their bytes and their operations in sequence.
    flops : float
        Operations per second of one core in a cell's products, at the clock that it has while all cores are busy.
    cycles : float
        Cycles of one core for an element of a gate, in one direction.
    """

    machine: Machine
    cache_Bps: float
    remote: float
    packing: bool
    flops: float = inf
    cycles: float = 0.0

    def calibrated(
        self, setting: Setting, mini_batches: int, seconds: float, gates: float = 0.0
    ) -> CellCosts:
        """Return the costs that fit Seq's measured seconds, by a rate of products and cycles of gates.

        Parameters
        ----------
        setting : Setting
            What Seq ran; its cells take their operations, and with `packing` their bytes, too.
        mini_batches : int
            Each on its own core; the first is the largest.
        seconds : float
            Of a batch: the first mini-batch, and the final tasks.
        gates : float
            Share of what cells compute that gates take.

        Raises
        ------
        MachineError
            If passing the bytes alone takes longer on this machine.
        """
        graph, plain = setting.graph(mini_batches), replace(self, cycles=0.0)
        passing_s = plain.seconds(graph, setting, mini_batches, mini_batches)
        cells = setting.layers * setting.steps
        first = np.zeros(graph.n_tasks, bool)
        first[:cells] = first[mini_batches * cells :][:cells] = True
        besides_s = passing_s[-mini_batches:].sum() + (passing_s[first].sum() if self.packing else 0.0)
        if besides_s >= seconds:
            raise MachineError(
                f"{self.machine}: the reference took {seconds:.3g} s, and passing its bytes alone takes "
                f"{besides_s:.3g} s here; take a machine with more bandwidth"
            )
        cycle_s = replace(self, cycles=1.0).gates_s(graph, setting, mini_batches)[first].sum()
        products_s = (1 - gates) * (seconds - besides_s) * self._gain(mini_batches)
        return replace(
            self,
            flops=float(graph.flops[first].sum() / products_s),
            cycles=float(gates * (seconds - besides_s) / cycle_s),
        )

    def machine_of(self, setting: Setting, mini_batches: int) -> Machine:
        """Return the machine whose cores have their rates in this setting, alone."""
        memory = self.machine.memory.through(self.stream_Bps(setting, mini_batches))
        return replace(self.machine, memory=memory)

    def stream_Bps(self, setting: Setting, mini_batches: int) -> float:
        """Return the bytes per second of one core: from the L3, and from memory for the rest."""
        memory_Bps = self.machine.memory.core_bandwidth_Bps
        found = self.found(setting, mini_batches)
        return 1.0 / (found / self.cache_Bps + (1.0 - found) / memory_Bps)

    def found(self, setting: Setting, mini_batches: int) -> float:
        """Return the share of weights and gradients still in a socket's L3 at their next use."""
        copies = 1 + mini_batches if setting.training else 1
        walked_B = copies * ELEMENT_B * setting.cells(1).n_parameters
        fits = (self.machine.l3_B or 0.0) / walked_B
        return float(min(1.0, fits ** parameters().stream.reuse_falloff))

    def _gain(self, workers: int) -> float:
        """Return the speed-up of products with so many working cores over all cores working."""
        return self.machine.core_flops_at(workers) / self.machine.core_flops

    def gates_s(self, graph: TaskGraph, setting: Setting, workers: int) -> Seconds:
        """Return the seconds of each task's gates while so many cores work, shape (n,)."""
        rows = np.array([_rows(label) for label in graph.shapes.labels])[graph.shapes.codes]
        gates = np.array([_GATES.get(label.removesuffix("Grad"), 0) for label in graph.kinds.labels])
        elements = rows * setting.hidden * gates[graph.kinds.codes]
        seconds: Seconds = self.cycles * elements / self.machine.scalar_clock_Hz(workers)
        return seconds

    def seconds(self, graph: TaskGraph, setting: Setting, mini_batches: int, workers: int) -> Seconds:
        """Return the seconds of each task while so many cores work, all of one socket, shape (n,)."""
        gates_s = self.gates_s(graph, setting, workers)
        computing_s = graph.flops / (self.flops * self._gain(workers)) + gates_s
        passing_s = graph.bytes_B / self.stream_Bps(setting, mini_batches)
        # Products by vectors pack nothing.
        both = self.packing and setting.batch // mini_batches > 1
        seconds = computing_s + passing_s if both else np.maximum(computing_s, passing_s)
        if setting.training:
            # Sums and the update pass over all parameters once.
            seconds[-mini_batches:] = graph.bytes_B[-mini_batches:] / self.machine.memory.core_bandwidth_Bps
        return seconds

    def over_two_sockets(self, graph: TaskGraph, setting: Setting, workers: int) -> Seconds:
        """Return the seconds of each task with data on both sockets, shape (n,).

        The time of a task beyond its gates and its operations at the sustained rate is waiting for data, longer for
        remote ones.
        """
        busy_s = graph.flops / self.machine.core_flops_at(workers) + self.gates_s(graph, setting, workers)
        waiting = np.clip(1.0 - busy_s / graph.durations_s, 0.0, 1.0)
        return graph.durations_s * (1.0 + waiting * self.remote * (self.machine.memory.remote_penalty - 1.0))


def _rows(label: str) -> int:
    """Return the sequences of a cell, from its shapes; 0 where none are known."""
    return parse_shape(label)[0][0] if label else 0


#: Meaning of a system here: any ready cell on any free core; or a mini-batch that stays with its core.
POLICIES: Mapping[str, str] = {"wpar": "wavefront", "seq": "data-parallel"}


class Runs:
    """Batches of W-Par and of Seq, replayed cell by cell, each once.

    Of W-Par any cell is ready whose neighbours are done. Of Seq a mini-batch is a chain: all its cells, in sequence.

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
        graph = replace(graph, durations_s=self.costs.seconds(graph, setting, mini_batches, workers))
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
