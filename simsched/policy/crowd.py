"""How much tasks slow each other down, estimated from how many run side by side (docs/semantics.md, rule 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from simsched.costs.loads import Loads
    from simsched.graph.taskgraph import Seconds
    from simsched.machine import Machine

#: Executors whose domains are compared: more change the mean little.
MOST_COMPARED = 64


class Groups(Protocol):
    """Tasks that run at about the same time."""

    def mean(self, column: Seconds, weights: Seconds) -> Seconds:
        """Return for each task the weighted mean of its group."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """Tasks that run side by side, in the mean.

    Parameters
    ----------
    machine : Machine
    tasks : float64 array, shape (n,)
        How many tasks run while each one does, itself included.
    widths : int64 array, shape (n,) or ()
        Threads of each task's team, or of all teams.

    Examples
    --------
    >>> import simsched as ss
    >>> machine = ss.machine("generic[cores=4]")
    >>> Crowd(machine, np.array([2.0, 1.0]), np.array([2, 4])).threads.tolist()
    [4.0, 4.0]
    """

    machine: Machine
    tasks: Seconds
    widths: npt.NDArray[np.int64]

    @property
    def threads(self) -> Seconds:
        """Threads that run while each task does, shape (n,)."""
        return self.tasks * self.widths

    def slowdown(self, seconds: Seconds, demand: Loads, groups: Groups) -> Seconds:
        """Return by which factor each task takes longer than alone, shape (n,).

        Parameters
        ----------
        seconds : float64 array, shape (n,)
            Of each task alone.
        demand : Loads
        groups : Groups
            The tasks that run beside each.
        """
        on, m, o = self.machine.effects, demand.memory_share, demand.overhead_share
        if not on.any:
            return np.ones(len(seconds))
        memory: Seconds = np.ones(len(seconds))
        if on.share_bandwidth:
            memory = self._pressure(seconds, demand, groups)
        if on.remote_memory and self.machine.n_domains > 1:
            memory = memory * self._distance()
        if on.share_tiles and self.machine.cores_per_tile > 1:
            memory = np.maximum(memory, self._tile())
        core, waiting, turns = self._cores() if on.share_cores else (1.0, 1.0, 1.0)
        net = self._net() if on.share_interconnect else 1.0
        return np.asarray((1 - m - o) * core + m * np.maximum(waiting, memory) + o * np.maximum(turns, net))

    def _pressure(self, seconds: Seconds, demand: Loads, groups: Groups) -> Seconds:
        """Return the pressure on the memory domains that the tasks' threads are in."""
        machine, others = self.machine, self.tasks - 1
        capacity_Bps = machine.domain_Bps * self._domains()
        asked = demand.demand_Bps.astype(np.float64)
        waited = asked * demand.memory_share
        total = asked + others * groups.mean(asked, seconds)
        share = np.ones(len(total))
        np.divide(waited + others * groups.mean(waited, seconds), total, out=share, where=total > 0)
        return np.where(total > capacity_Bps, 1 + (total / capacity_Bps - 1) / np.maximum(share, 1e-9), 1.0)

    def _domains(self) -> npt.NDArray[np.int64]:
        """Return how many memory domains the running threads are in: cores are taken in their order."""
        domain_of = self.machine.structure.domain_of
        first = np.unique(domain_of, return_index=True)[1]
        begun = np.zeros(len(domain_of) + 1, np.int64)
        begun[first + 1] = 1
        cores = np.clip(np.ceil(self.threads - 1e-9), 1, len(domain_of)).astype(np.int64)
        return np.asarray(np.cumsum(begun)[cores])

    def _distance(self) -> Seconds:
        """Return how much longer traffic takes where tasks read what other running tasks have left."""
        local = self._local_of_executors() if self.widths.ndim == 0 else self._local_of_widths()
        return np.asarray(local + (1 - local) * self.machine.memory.remote_penalty)

    def _local_of_executors(self) -> float:
        """Return the share of its data that an executor finds in its own domains, in the mean of all pairs of them."""
        width = int(self.widths)
        executors = min(int(np.ceil(self.tasks.mean())), MOST_COMPARED, max(self.machine.n_cores // width, 1))
        cores = np.arange(executors * width).reshape(executors, width) % self.machine.n_cores
        domains = self.machine.structure.domain_of[cores]
        shares = np.array([np.bincount(row, minlength=self.machine.n_domains) for row in domains]) / width
        return float(np.minimum(shares[:, None], shares[None]).sum(axis=2).mean())

    def _local_of_widths(self) -> Seconds:
        """Return the same for teams of different widths, the narrower of two within the domains of the wider or not."""
        machine, in_use = self.machine, float(self._domains().mean())
        spans = np.minimum(
            np.ceil(self.widths * machine.n_domains / machine.n_cores), machine.n_domains
        ).astype(np.int64)
        of_span = np.bincount(spans, minlength=machine.n_domains + 1) / len(spans)
        span = np.arange(machine.n_domains + 1)
        narrow, wide = np.minimum.outer(span, span), np.maximum(np.maximum.outer(span, span), 1)
        return np.asarray((narrow / wide * np.minimum(wide / in_use, 1) @ of_span)[spans])

    def _tile(self) -> Seconds:
        slowdowns = self.machine.tile_slowdowns[np.minimum(self.widths, len(self.machine.tile_slowdowns) - 1)]
        return np.where(self.threads > 1.5, slowdowns, 1.0)

    def _cores(self) -> tuple[Seconds, Seconds, Seconds]:
        """Return by how much shared cores lengthen computing, waiting for memory and waiting for threads."""
        machine = self.machine
        load = np.maximum(self.threads / machine.n_cores, 1.0)
        ways = np.arange(1, len(machine.compute_throughput) + 1)
        computing = load / np.interp(load, ways, machine.compute_throughput)
        waiting = load / np.interp(load, ways, machine.memory_throughput)
        return computing, waiting, np.maximum(load / len(ways), 1.0)

    def _net(self) -> Seconds:
        """Return how much longer threads wait for each other where all running threads load the interconnect."""
        machine, widths = self.machine, self.widths
        segment = machine.n_cores / machine.structure.n_segments
        # A team that does not fit into interconnects as they are cut begins in one and ends in another.
        begun = np.ceil(widths / segment) + np.where(
            np.where(widths < segment, segment % widths, widths % segment) > 0,
            (np.minimum(widths, segment) - 1) / segment,
            0,
        )
        loading = np.maximum(widths, np.minimum(self.threads, begun * segment)) * machine.interconnect_share
        return np.maximum(1.0, (loading - 1) / np.maximum(widths - 1, 1))
