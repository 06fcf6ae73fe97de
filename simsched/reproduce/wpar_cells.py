"""Seconds of W-Par's tasks: a cell in one direction on one core, by sequential kernels.

A matrix product packs its matrices, then multiplies: a cell of several sequences takes its bytes and its operations, one after
the other. Of one sequence the products are by vectors, which stream: it takes the longer of both. Operations pass at the rate
at which the paper's own Seq works on its reference row, bytes as from the L3 while weights and gradients fit there, else as
from memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from simsched.costs.kernel_parameters import parameters
from simsched.machine import Machine
from simsched.workloads.tensor import ELEMENT_B

if TYPE_CHECKING:
    from simsched.graph import TaskGraph
    from simsched.graph.taskgraph import Seconds
    from simsched.reproduce.wpar_setting import Setting


@dataclass(frozen=True)
class CellCosts:
    """What cells take.

    Parameters
    ----------
    machine : Machine
    cache_Bps : float
        Bytes a second of one core from the L3; that from memory is the machine's.
    flops : float
        Operations a second of one core in a cell.
    remote : float
        Share of a cell's data that lies with the other socket, in a run on more cores than a socket has.
    """

    machine: Machine
    cache_Bps: float
    flops: float
    remote: float

    @classmethod
    def calibrated(
        cls, machine: Machine, cache_Bps: float, remote: float, seq: tuple[Setting, int, float]
    ) -> CellCosts:
        """Return the costs with which Seq takes what was measured.

        Parameters
        ----------
        machine, cache_Bps, remote
            As of the class.
        seq : (Setting, int, float)
            What Seq ran, in how many mini-batches, and the seconds of a batch. The largest mini-batch is the longest.
        """
        setting, mini_batches, seconds = seq
        graph = setting.cells(mini_batches).graph()
        costs = cls(machine, cache_Bps, inf, remote)
        cells = setting.layers * setting.steps
        on_way = np.zeros(graph.n_tasks, bool)
        on_way[:cells] = on_way[mini_batches * cells :][:cells] = True
        passing = on_way.copy()
        passing[-mini_batches:] = True
        passing_s = costs.seconds(graph, setting, mini_batches)[passing].sum()
        return replace(costs, flops=float(graph.flops[on_way].sum() / (seconds - passing_s)))

    def machine_of(self, setting: Setting, mini_batches: int) -> Machine:
        """Return the machine whose cores reach what they do in this setting, alone."""
        memory = replace(self.machine.memory, core_bandwidth_Bps=self.stream_Bps(setting, mini_batches))
        return replace(self.machine, memory=memory)

    def stream_Bps(self, setting: Setting, mini_batches: int) -> float:
        """Return the bytes a second of one core: from the L3, and from memory for what is no longer found there."""
        memory_Bps = self.machine.memory.core_bandwidth_Bps
        found = self.found(setting, mini_batches)
        return 1.0 / (found / self.cache_Bps + (1.0 - found) / memory_Bps)

    def found(self, setting: Setting, mini_batches: int) -> float:
        """Return the share of weights and gradients that is still in a socket's L3 when it is used again."""
        copies = 1 + mini_batches if setting.training else 1
        walked_B = copies * ELEMENT_B * setting.cells(1).n_parameters
        fits = (self.machine.l3_B or 0.0) / walked_B
        return float(min(1.0, fits ** parameters().stream.reuse_falloff))

    def seconds(self, graph: TaskGraph, setting: Setting, mini_batches: int) -> Seconds:
        """Return the seconds of each task in a run that stays on one socket, shape (n,)."""
        computing_s = graph.flops / self.flops
        passing_s = graph.bytes_B / self.stream_Bps(setting, mini_batches)
        vectors = setting.batch // mini_batches == 1
        seconds = np.maximum(computing_s, passing_s) if vectors else computing_s + passing_s
        if setting.training:
            # Sums and the update pass over all parameters once.
            seconds[-mini_batches:] = graph.bytes_B[-mini_batches:] / self.machine.memory.core_bandwidth_Bps
        return seconds

    def over_two_sockets(self, graph: TaskGraph) -> Seconds:
        """Return the seconds of each task where data lie with both sockets, shape (n,).

        What a task takes beyond its operations at the sustained rate it waits for data, and longer for remote ones.
        """
        waiting = np.clip(1.0 - graph.flops / self.machine.core_flops / graph.durations_s, 0.0, 1.0)
        return graph.durations_s * (1.0 + waiting * self.remote * (self.machine.memory.remote_penalty - 1.0))
