"""Mutual slowdown of tasks, estimated from those side by side, and places of their data (docs/semantics.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simsched.costs.loads import Loads
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine

#: Executors whose domains are compared: more change the mean little.
MOST_COMPARED = 64


@dataclass(frozen=True, eq=False)
class _Locality:
    """Average places of the data of tasks.

    Parameters
    ----------
    local : float64 array, shape (n,)
        Share of its data that each task finds in its own team's domains.
    dense : float64 array, shape (n,)
        Share of its data in the memory domain that has most of them.
    linked : float64 array, shape (n,)
        Share of its data that come over one link, where data are remote.
    """

    local: Seconds
    dense: Seconds
    linked: Seconds


def _of_executors(machine: Machine, width: int, readers: Seconds, makers: Seconds) -> _Locality:
    """Return the places of the data of tasks on executors of one width.

    Parameters
    ----------
    machine : Machine
    width : int
        Cores of each executor; the first executors run tasks.
    readers : float64 array, shape (n,)
        Executors that run while each task does.
    makers : float64 array, shape (n,)
        Executors that ran while its predecessors did; 0 for tasks that read where they run.
    """
    most = max(1, min(MOST_COMPARED, machine.n_cores // width))
    reading, making = np.clip(readers, 1, most), np.clip(makers, 0, most)
    cores = np.arange(math.ceil(max(reading.max(), making.max())) * width).reshape(-1, width)
    domains = machine.structure.domain_of[cores % machine.n_cores]
    shares = np.array([np.bincount(row, minlength=machine.n_domains) for row in domains]) / width
    local = np.minimum(shares[:, None], shares[None]).sum(axis=2)
    beyond = np.maximum(shares[None] - shares[:, None], 0).max(axis=2)
    dense = np.broadcast_to(shares.max(axis=1), local.shape)

    def mean(pairs: npt.NDArray[np.float64]) -> Seconds:
        """Return the mean over pairs of the executors of each task and of its predecessors, the last ones in part."""
        total = np.zeros(np.add(pairs.shape, 2))
        total[1:-1, 1:-1] = pairs.cumsum(axis=0).cumsum(axis=1)
        row, column = reading.astype(np.int64), making.astype(np.int64)
        down, right = reading - row, making - column
        above = (1 - right) * total[row, column] + right * total[row, column + 1]
        below = (1 - right) * total[row + 1, column] + right * total[row + 1, column + 1]
        return np.asarray(((1 - down) * above + down * below) / np.maximum(reading * making, 1e-9))

    near, remote, alone = mean(local), mean(1 - local), making == 0
    linked = np.divide(mean(beyond * (1 - local)), remote, out=np.zeros(len(remote)), where=remote > 1e-12)
    return _Locality(np.where(alone, 1.0, near), np.where(alone, 1 / machine.n_domains, mean(dense)), linked)


def _of_widths(
    machine: Machine, widths: npt.NDArray[np.int64], in_use: float, first: npt.NDArray[np.bool_]
) -> _Locality:
    """Return the places of the data of teams of different widths, whose domains are nested or not.

    Parameters
    ----------
    machine : Machine
    widths : int64 array, shape (n,)
        Threads of each task's team.
    in_use : float
        Domains in which tasks run, in the mean.
    first : bool array, shape (n,)
        Tasks that read where they run.
    """
    most = machine.n_domains
    spans = np.clip(np.ceil(widths * most / machine.n_cores), 1, most).astype(np.int64)
    of_span = np.bincount(spans, minlength=most + 1)[1:] / len(spans)
    span = np.arange(1, most + 1)
    reader, maker = span[:, None], span[None]
    narrow, wide = np.minimum(reader, maker), np.maximum(reader, maker)
    within = np.minimum(wide / in_use, 1)
    local = within * narrow / wide
    over = within * np.maximum(1 / maker - 1 / reader, 0) * (1 - narrow / wide) + (1 - within) / maker
    remote = (1 - local) @ of_span
    linked = np.divide(over @ of_span, remote, out=np.zeros(most), where=remote > 1e-12)
    dense = np.full(len(spans), float(of_span @ (1 / span)))
    near = (local @ of_span)[spans - 1]
    return _Locality(
        np.where(first, 1.0, near), np.where(first, 1 / spans, dense), np.asarray(linked[spans - 1])
    )


class Groups(Protocol):
    """Tasks that run at about the same time."""

    def mean(self, column: Seconds, weights: Seconds) -> Seconds:
        """Return, for each task, the weighted mean of its group."""

    def makers(self, column: Seconds) -> Seconds:
        """Return, for each task, the mean of a column over its predecessors; 0 where it has none."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """Average tasks that run side by side.

    Parameters
    ----------
    machine : Machine
    tasks : float64 array, shape (n,)
        How many tasks run while each one does, itself included.
    widths : int64 array, shape (n,) or ()
        Threads of each task's team, or of all teams.
    kept : float64 array, shape (n,), or float
        Share of its data that each task finds where it runs since the same team has made them.

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
    kept: Seconds | float = 0.0

    @property
    def threads(self) -> Seconds:
        """Average number of running threads during each task, shape (n,)."""
        return self.tasks * self.widths

    def slowdown(self, seconds: Seconds, demand: Loads, groups: Groups) -> Seconds:
        """Return the slowdown of each task, shape (n,).

        Parameters
        ----------
        seconds : float64 array, shape (n,)
            Of each task alone.
        demand : Loads
        groups : Groups
            The tasks that run with each.
        """
        on, m, o = self.machine.effects, demand.memory_share, demand.overhead_share
        if not on.any:
            return np.ones(len(seconds))
        memory = self._memory(seconds, demand, groups)
        if on.share_tiles and self.machine.cores_per_tile > 1:
            memory = np.maximum(memory, self._tile())
        core, waiting, turns = self._cores(demand.core_share) if on.share_cores else (1.0, 1.0, 1.0)
        net = self._net() if on.share_interconnect else 1.0
        return np.asarray((1 - m - o) * core + m * np.maximum(waiting, memory) + o * np.maximum(turns, net))

    def _memory(self, seconds: Seconds, demand: Loads, groups: Groups) -> Seconds:
        """Return the slowdown of memory traffic, by pressure on domains and links and by distance."""
        machine, on = self.machine, self.machine.effects
        press = _Press.of(self, seconds, demand, groups) if on.share_bandwidth else None
        if not on.remote_memory or machine.n_domains == 1:
            return press.on_domains() if press else np.ones(len(seconds))
        before = groups.makers(self.tasks)
        where = self._locality(before)
        # Where fewer tasks run than did, an idle executor before the one that made the data may take the task.
        kept = self.kept * np.minimum(self.tasks / np.maximum(before, 1e-9), 1.0)
        local = where.local + (1 - where.local) * kept
        near: Seconds = press.on_domains(where.dense) if press else np.ones(len(seconds))
        far = np.maximum(near, press.on_links(where.linked, 1 - local)) if press else near
        return np.asarray(local * near + (1 - local) * far * machine.memory.remote_penalty)

    def _locality(self, before: Seconds) -> _Locality:
        """Return the places of the data that tasks read, by the number of tasks during their production."""
        if self.widths.ndim == 0:
            return _of_executors(self.machine, int(self.widths), self.tasks, before)
        return _of_widths(self.machine, self.widths, float(self.domains.mean()), before == 0)

    @property
    def domains(self) -> Seconds:
        """Return the number of memory domains of running threads, as if evenly spread over cores in order."""
        domain_of = self.machine.structure.domain_of
        in_domain = np.zeros((len(domain_of) + 1, self.machine.n_domains))
        in_domain[np.arange(1, len(domain_of) + 1), domain_of] = 1
        # Of threads of which a share f(d) is in domain d, each meets the sum of f(d)^2 of all of them.
        met = (in_domain.cumsum(axis=0) ** 2).sum(axis=1)
        cores = np.clip(np.ceil(self.threads - 1e-9), 1, len(domain_of)).astype(np.int64)
        return np.asarray(cores**2 / met[cores])

    def _tile(self) -> Seconds:
        slowdowns = self.machine.tile_slowdowns[np.minimum(self.widths, len(self.machine.tile_slowdowns) - 1)]
        return np.where(self.threads > 1.5, slowdowns, 1.0)

    def _cores(self, share: Seconds) -> tuple[Seconds, Seconds, Seconds]:
        """Return the factors of shared cores on computing, waiting for memory and waiting for threads."""
        machine = self.machine
        load = np.maximum(self.threads / machine.n_cores, 1.0)
        ways = np.arange(1, len(machine.compute_throughput) + 1)
        computing = load / np.interp(load, ways, machine.compute_throughput)
        waiting = np.maximum(share * (load / np.interp(load, ways, machine.memory_throughput)), 1.0)
        return computing, waiting, np.maximum(load / len(ways), 1.0)

    def _net(self) -> Seconds:
        """Return the factor on waiting between threads if all running threads load the interconnect."""
        machine, widths = self.machine, self.widths
        segment = machine.n_cores / machine.structure.n_segments
        # A team that does not fit in one interconnect begins in one and ends in another.
        begun = np.ceil(widths / segment) + np.where(
            np.where(widths < segment, segment % widths, widths % segment) > 0,
            (np.minimum(widths, segment) - 1) / segment,
            0,
        )
        loading = np.maximum(widths, np.minimum(self.threads, begun * segment)) * machine.interconnect_share
        return np.maximum(1.0, (loading - 1) / np.maximum(widths - 1, 1))


@dataclass(frozen=True, eq=False)
class _Press:
    """Memory demand of running tasks: each task, the others, and their mean memory share; of shape (n,)."""

    machine: Machine
    domains: Seconds
    asked_Bps: Seconds
    others_Bps: Seconds
    share: Seconds

    @classmethod
    def of(cls, crowd: Crowd, seconds: Seconds, demand: Loads, groups: Groups) -> _Press:
        asked, others = demand.demand_Bps.astype(np.float64), crowd.tasks - 1
        waited = asked * demand.memory_share
        beside = others * groups.mean(asked, seconds)
        share = np.ones(len(asked))
        np.divide(
            waited + others * groups.mean(waited, seconds),
            asked + beside,
            out=share,
            where=asked + beside > 0,
        )
        return cls(crowd.machine, crowd.domains, asked, beside, share)

    def on_domains(self, dense: Seconds | float = 0.0) -> Seconds:
        """Return the pressure on the domains of tasks that have a share of their data in one domain, or more evenly."""
        loaded = np.maximum((self.asked_Bps + self.others_Bps) / self.domains, self.asked_Bps * dense)
        return self._pressure(loaded, self.machine.domain_Bps)

    def on_links(self, linked: Seconds, remote: Seconds) -> Seconds:
        """Return the pressure on links, from the share of its data that a task reads over one, and others remotely."""
        loaded = self.asked_Bps * linked + self.others_Bps * remote / self.domains
        return self._pressure(loaded, self.machine.memory.link_bandwidth_Bps)

    def _pressure(self, loaded_Bps: Seconds, capacity_Bps: float) -> Seconds:
        more = np.maximum(loaded_Bps / capacity_Bps - 1, 0)
        return np.asarray(1 + more / np.maximum(self.share, 1e-9))
