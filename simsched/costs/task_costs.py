"""`TaskCosts`: seconds of the tasks of one graph on one machine, by width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, sqrt
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from simsched.costs.curves import REFERENCE_S, SEVERAL, Curve
from simsched.costs.own_machine import part_idle
from simsched.costs.width_table import WidthTable
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr, Index, Mask
from simsched.graph.columns import ReadOnly
from simsched.graph.taskgraph import Seconds
from simsched.machine import RuntimeProfile

Width = int | npt.NDArray[np.integer]
#: Memory share, demand in bytes per second, and core share of each task; see `TaskCosts.memory`.
Memory = tuple[Seconds, npt.NDArray[np.int64], Seconds]
Kept = TypeVar("Kept", Seconds, Memory)


@dataclass(frozen=True, eq=False)
class Terms(ReadOnly):
    """Terms of the cost curves, one entry per label of the graph's kinds; formula in `simsched.costs.curves`.

    Parameters
    ----------
    serial_share, thread_overhead : float64 arrays, shape (labels,)
        s and a of the curve.
    fork_join_s, fork_join_per_thread_s : float64 arrays, shape (labels,)
        F and f of the runtime profile; zero for kinds that never fork.
    grain_flops, grain_B : float64 arrays, shape (labels,)
        Grains of the curve; zero for none.
    several : bool array, shape (labels,)
        Whether nothing is known but that tasks ran on several threads.
    """

    serial_share: Seconds
    thread_overhead: Seconds
    fork_join_s: Seconds
    fork_join_per_thread_s: Seconds
    grain_flops: Seconds
    grain_B: Seconds
    several: Mask

    @classmethod
    def of(cls, curves: Sequence[Curve], runtime: RuntimeProfile) -> Terms:
        """Return the terms of the curve of each label."""
        serial = np.array([curve.serial_share for curve in curves])
        several = np.array([curve.family == SEVERAL for curve in curves], np.bool_)
        forks = (serial < 1) & ~several
        return cls(
            serial_share=serial,
            thread_overhead=np.array([curve.thread_overhead for curve in curves]),
            fork_join_s=np.where(forks, runtime.region_s, 0.0),
            fork_join_per_thread_s=np.where(forks, runtime.region_per_thread_s, 0.0),
            grain_flops=np.array([curve.grain_flops for curve in curves]),
            grain_B=np.array([curve.grain_B for curve in curves]),
            several=several,
        )

    def pieces(self, graph: TaskGraph) -> Seconds:
        """Return the number of pieces of each task, at least 1; infinite where it is unknown or unlimited.

        What was recorded on fewer threads than its team had has as many pieces as these, and so has that of which
        nothing else is known.
        """
        found = np.full(graph.n_tasks, np.inf)
        if self.several.any():
            threads = np.where(np.isnan(graph.durations_s), 1, graph.widths)
            np.copyto(found, threads, where=self.several[graph.kinds.codes])
        for amount, of_label in ((graph.flops, self.grain_flops), (graph.bytes_B, self.grain_B)):
            if of_label.any():
                grains = of_label[graph.kinds.codes]
                known = (grains > 0) & ~np.isnan(amount)
                found[known] = np.maximum(amount[known] / grains[known], 1.0)
        np.minimum(found, graph.widths, out=found, where=part_idle(graph))
        return found


@dataclass(frozen=True, eq=False)
class TaskCosts:
    """Seconds of every task of one graph on one machine, by width.

    Parameters
    ----------
    one_core_s : float64 array, shape (n,)
        Seconds on one core.
    labels : int32 array, shape (n,)
        Row of `terms` of each task.
    terms : Terms
        Terms of the cost curves.
    traffic_B : float64 array, shape (n,)
        Bytes that each task moves to and from memory; 0 where unknown.
    pieces : float64 array, shape (n,)
        Pieces that each task divides into, at least 1; infinite for no limit.
    reach_Bps : float64 array, shape (widest + 1,)
        Bytes per second that a team of each width reaches, up to the widest team of the machine.
    notes : tuple of str
        Where the seconds came from.
    table : WidthTable or None
        Seconds that replace the formula, for some of the tasks; `one_core_s` are theirs, too.
    kinds_s : float64 array, shape (n, kinds of cores), or None
        Seconds on one core of each kind, inf where it cannot run the task; None where the machine has one kind. Costs
        on one such kind have inf seconds on every width, and no demand.
    kinds_reach_Bps : float64 array, shape (kinds of cores, widest + 1), or None
        `reach_Bps` of teams of each kind; None where all kinds move the same.
    kinds_threads : tuple of int
        Hardware threads of each kind.
    kind : int array, shape (n,), or None
        Kind of the cores of each task, where these are its costs on one kind and kinds do not move the same.
    most : int array, shape (n,), or None
        Most threads of a team of each task, where these are its costs on one kind.
    devices : tuple of bool
        Of each kind, whether it is a device: what it moves to and from its own memory slows nobody down.
    stretch : float64 array, shape (labels, widest + 1), optional
        Factor on the formula's seconds of teams of each width, though no team gains more than its threads;
        see `simsched.costs.discrepancy`. By default 1.
    alone : float64 array, shape (n,), optional
        Seconds on a core while all others are idle, over `one_core_s`: clocks may fall with busy cores. By default 1.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 3.0], kinds="mine")
    >>> costs = ss.CostModel({"mine": ss.Curve(serial_share=0.5)}).on(graph, ss.machine("generic[cores=4]"))
    >>> costs.seconds(2).tolist(), costs.seconds_of(1, 4), costs.fastest_widths.tolist()
    ([0.75, 2.25], 1.875, [4, 4])
    """

    one_core_s: Seconds
    labels: Index
    terms: Terms
    traffic_B: Seconds
    pieces: Seconds
    reach_Bps: Seconds
    notes: tuple[str, ...] = ()
    table: WidthTable | None = None
    kinds_s: Seconds | None = None
    kinds_reach_Bps: Seconds | None = None
    kinds_threads: tuple[int, ...] = ()
    kind: Index | None = None
    most: npt.NDArray[np.int64] | None = None
    devices: tuple[bool, ...] = ()
    stretch: Seconds | None = None
    alone: Seconds | None = None

    def __post_init__(self) -> None:
        self.one_core_s.setflags(write=False)

    @cached_property
    def _possible_s(self) -> Seconds:
        """The seconds on one core, 0 of tasks that cannot run there."""
        never = np.isinf(self.one_core_s)
        return np.where(never, 0.0, self.one_core_s) if never.any() else self.one_core_s

    @property
    def widest(self) -> int:
        """Most threads of a team: the hardware threads in use."""
        return len(self.reach_Bps) - 1

    def reached_Bps(self, width: Width, tasks: int | slice = slice(None)) -> Seconds:
        """Return the bytes per second that a team of some tasks reaches; threads beyond the machine's reach no more."""
        used = np.minimum(width, self.widest)
        if self.kind is None or self.kinds_reach_Bps is None:
            return np.asarray(self.reach_Bps[used])
        return np.asarray(self.kinds_reach_Bps[self.kind[tasks], used])

    def seconds(self, width: Width) -> Seconds:
        """Return the seconds of every task on `width` cores, scalar or one per task; shape (n,).

        Raises
        ------
        CostError
            If a width is below 1.
        """
        if isinstance(width, int) and width == 1:
            return self.one_core_s
        return self._kept("seconds", width, self._seconds)

    def _kept(self, what: str, width: Width, make: Callable[[Width], Kept]) -> Kept:
        """Return the last result for one width of all tasks; replays of a sweep repeat the request."""
        if not isinstance(width, int):
            return make(width)
        made: tuple[int, Kept] | None = vars(self).get(f"last_{what}")
        if made is None or made[0] != width:
            made = width, make(width)
            for column in made[1] if isinstance(made[1], tuple) else (made[1],):
                column.setflags(write=False)
            vars(self)[f"last_{what}"] = made
        return made[1]

    def _seconds(self, width: Width) -> Seconds:
        if (least := np.min(width, initial=1)) < 1:
            raise CostError(f"a width is {least}; the least is 1")
        t1 = self._possible_s
        formula = np.where(np.equal(width, 1), t1, np.minimum(t1, self._team(width)))
        found = formula if self.table is None else self.table.over(formula, width)
        return found if t1 is self.one_core_s else np.where(np.isinf(self.one_core_s), np.inf, found)

    def _team(self, width: Width) -> Seconds:
        """Return the seconds of every task if all threads of its team can work."""
        t1, terms, labels = self._possible_s, self.terms, self.labels
        s, used = terms.serial_share[labels], np.minimum(width, self.pieces)
        parallel = np.maximum(t1 / used, self.traffic_B / self.reached_Bps(np.ceil(used).astype(np.int64)))
        team = s * t1 + (1 - s) * parallel
        team += terms.thread_overhead[labels] * np.sqrt(REFERENCE_S * t1) * (width - np.int64(1))
        team = np.asarray(team + terms.fork_join_s[labels] + terms.fork_join_per_thread_s[labels] * used)
        if self.stretch is None:
            return team
        return np.maximum(team * self.stretch[labels, np.minimum(width, self.widest)], t1 / width)

    def seconds_of(self, task: int, width: int) -> float:
        """Return the seconds of one task on `width` cores; the same bits as `seconds`."""
        t1, label, terms = float(self.one_core_s[task]), int(self.labels[task]), self.terms
        if width == 1 or t1 == inf:
            return t1
        if self.table is not None and (seconds := self.table.seconds_of(task, width)) is not None:
            return seconds
        s, used = float(terms.serial_share[label]), min(float(width), float(self.pieces[task]))
        parallel = max(t1 / used, float(self.traffic_B[task] / self.reached_Bps(ceil(used), task)))
        team = s * t1 + (1 - s) * parallel
        team += float(terms.thread_overhead[label]) * sqrt(REFERENCE_S * t1) * (width - 1)
        team = team + float(terms.fork_join_s[label]) + float(terms.fork_join_per_thread_s[label]) * used
        if self.stretch is not None:
            team = max(team * float(self.stretch[label, min(width, self.widest)]), t1 / width)
        return min(t1, team)

    def of_kind(self, kind: int) -> TaskCosts:
        """Return the costs on teams of cores of one kind."""
        return self.on_kinds(np.full(len(self.one_core_s), kind))

    def by_kind_s(self, widths: Sequence[int]) -> Seconds:
        """Return the seconds of each task on a team of each kind of core, of one width per kind, shape (n, kinds)."""
        return np.stack([self.of_kind(kind).seconds(width) for kind, width in enumerate(widths)], axis=1)

    def on_kinds(self, kind: Index) -> TaskCosts:
        """Return the costs of each task on teams of cores of a kind of its own, shape (n,)."""
        if self.kinds_s is None:
            return self
        apart = np.array(self.devices or (False,) * self.kinds_s.shape[1])[kind]
        found = self._on_other_cores(self.kinds_s[np.arange(len(kind)), kind])
        of_reach = None if self.kinds_reach_Bps is None else kind
        alone = None if self.alone is None else np.where(apart, 1.0, self.alone)
        traffic_B, most = np.where(apart, 0.0, self.traffic_B), np.array(self.kinds_threads)[kind]
        return replace(found, traffic_B=traffic_B, kind=of_reach, most=most, alone=alone)

    def _on_other_cores(self, one_core_s: Seconds) -> TaskCosts:
        """Return the costs where each task takes other seconds on one core, and its team in proportion."""
        table = None if self.table is None else self.table.beside(one_core_s)
        return replace(self, one_core_s=np.ascontiguousarray(one_core_s), table=table, kinds_s=None)

    def in_turn(self, kind: int) -> TaskCosts:
        """Return the costs of all tasks on teams of one kind, of those that cannot run there on their fastest kind."""
        if self.kinds_s is None:
            return self
        return self.on_kinds(np.where(np.isinf(self.kinds_s[:, kind]), self.kinds_s.argmin(axis=1), kind))

    def on_teams(self, teams: Csr, team: Index, kind_of: Index) -> Seconds:
        """Return the seconds of each task on its team, as long as on its slowest kind of cores, shape (n,).

        Parameters
        ----------
        teams : Csr
            Hardware threads of each team.
        team : int array, shape (n,)
            Row of each task's team.
        kind_of : int array, shape (n_cores,)
        """
        widths = teams.degrees()[team]
        if self.kinds_s is None:
            return self.seconds(widths)
        kind = kind_of[teams.indices % len(kind_of)]
        slowest = np.zeros(len(team))
        for one in range(self.kinds_s.shape[1]):
            has = np.bincount(teams.sources(), kind == one, minlength=teams.n)[team] > 0
            np.maximum(slowest, self.of_kind(one).seconds(widths), out=slowest, where=has)
        return slowest

    def fastest_teams(self) -> TaskCosts | FastestTeams:
        """Return costs that no team beats: each task on cores of the kinds on which it is fastest."""
        if self.kinds_s is None:
            return self
        order = np.argsort(self.kinds_s, axis=1, kind="stable")
        most = np.cumsum(np.array(self.kinds_threads)[order], axis=1)
        if self.kinds_reach_Bps is None and not any(self.devices):
            # Of kinds that are alike, as with kinds=each, the last stands for all.
            ascending = np.take_along_axis(self.kinds_s, order, axis=1)
            distinct = np.r_[(ascending[:, 1:] > ascending[:, :-1]).any(axis=0), True]
            order, most = order[:, distinct], most[:, distinct]
        pairs = zip(order.T, most.T, strict=True)
        return FastestTeams(
            tuple(replace(self.on_kinds(kind), most=threads) for kind, threads in pairs), most
        )

    def part(self, tasks: slice | Index) -> TaskCosts:
        """Return the costs of some of the tasks: of a range, or in any order."""
        return replace(
            self,
            one_core_s=self.one_core_s[tasks],
            labels=self.labels[tasks],
            traffic_B=self.traffic_B[tasks],
            pieces=self.pieces[tasks],
            table=None if self.table is None else self.table.part(tasks),
            kinds_s=None if self.kinds_s is None else self.kinds_s[tasks],
            kind=None if self.kind is None else self.kind[tasks],
            most=None if self.most is None else self.most[tasks],
            alone=None if self.alone is None else self.alone[tasks],
        )

    @cached_property
    def fastest_widths(self) -> npt.NDArray[np.int64]:
        """The narrowest width on which each task is fastest, shape (n,), read-only."""
        # Layers and steps repeat: most graphs have few different tasks.
        kind = [column for column in (self.kind, self.most) if column is not None]
        first, which = _distinct(self.one_core_s, self.labels, self.traffic_B, self.pieces, *kind)
        few = self.table is None and 2 * len(first) < len(which)
        widths = self.part(first.astype(np.int32))._fastest()[which] if few else self._fastest()
        widths.setflags(write=False)
        return widths

    def _fastest(self) -> npt.NDArray[np.int64]:
        widths, seconds = np.ones(len(self.one_core_s), np.int64), self.one_core_s
        most = np.full(len(widths), self.widest) if self.most is None else self.most
        for begin, end in self._stretches():
            first, last = np.minimum(begin, most), np.minimum(end, most)
            low = self._lowest(first, last)
            # Where it is flat but for rounding, the neighbours decide.
            for candidate in (np.clip(low + offset, first, last) for offset in range(-2, 3)):
                there = self.seconds(candidate)
                faster = there < seconds
                widths, seconds = np.where(faster, candidate, widths), np.where(faster, there, seconds)
        # A measured curve may fall and rise more than once.
        return widths if self.table is None else self.table.fastest(widths, most)

    @property
    def in_sequence_s(self) -> float:
        """Seconds of all tasks in sequence, on one core while all others are idle."""
        return float((self.one_core_s if self.alone is None else self.one_core_s * self.alone).sum())

    def least_core_seconds(self) -> Seconds:
        """Return the least product of width and seconds of each task, shape (n,): by the formula, that on one core."""
        return self.one_core_s if self.table is None else self.table.least_core_seconds(self.one_core_s)

    def _stretches(self) -> list[tuple[int, int]]:
        """Return the ranges of widths, from 2 up, in which no thread adds more bandwidth than the one before.

        A new range begins where a team reaches a further memory domain, or a further way of its cores.
        """
        gains = np.diff(
            self.reach_Bps if self.kind is None or self.kinds_reach_Bps is None else self.kinds_reach_Bps
        )
        rises = np.diff(gains) > 1e-9 * gains[..., :1]
        begins = np.flatnonzero(np.atleast_2d(rises).any(axis=0)) + 2
        firsts = [2, *begins[begins > 2].tolist()]
        lasts = [first - 1 for first in firsts[1:]] + [self.widest]
        return [(first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last]

    def _lowest(self, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return, for each task, the lowest point of a range in which the curve falls and then rises."""
        low, high = first, last
        for _ in range(int((last - first).max(initial=0)).bit_length()):
            middle = (low + high) // 2
            rises = (middle >= high) | (self._team(np.minimum(middle + 1, last)) >= self._team(middle))
            low, high = np.where(rises, low, middle + 1), np.where(rises, middle, high)
        return low

    def memory_of(self, task: int, width: int) -> tuple[float, int, float]:
        """Return memory share, demand and core share of one task on `width` cores; the same bits as `memory`."""
        seconds = self.seconds_of(task, width)
        if seconds == inf:
            return 0.0, 0, 1.0
        used = ceil(min(float(width), float(self.pieces[task]))) if seconds < self.one_core_s[task] else 1
        reachable_Bps = float(self.reached_Bps(used, task))
        demand_Bps = min(float(self.traffic_B[task]) / seconds, reachable_Bps) if seconds > 0 else 0.0
        share = demand_Bps / reachable_Bps
        waits_s = share * seconds
        core = min(float(self.one_core_s[task]) / used, waits_s) / waits_s if waits_s > 0 else 1.0
        return share, int(demand_Bps), core

    def memory(self, width: Width) -> Memory:
        """Return the memory demand of each task on `width` cores.

        Returns
        -------
        (float64 array, int64 array, float64 array), all of shape (n,)
            The share of its seconds in which the memory limits it, in [0, 1]: its bytes at the bandwidth of the threads
            that work over its seconds; its demand, in bytes per second; both zero where its bytes are unknown. And the
            share of those seconds that its cores would take for all its work, each as on one core, at most 1.
        """
        return self._kept("memory", width, self._memory)

    def _memory(self, width: Width) -> Memory:
        seconds = self.seconds(width)
        if self._possible_s is not self.one_core_s:
            seconds = np.where(np.isinf(seconds), 0.0, seconds)
        used = np.where(seconds < self.one_core_s, np.ceil(np.minimum(width, self.pieces)), 1.0)
        reachable_Bps = self.reached_Bps(used.astype(np.int64))
        demand_Bps = np.zeros(len(seconds))
        np.divide(self.traffic_B, seconds, out=demand_Bps, where=seconds > 0)
        demand_Bps = np.minimum(demand_Bps, reachable_Bps)
        share = demand_Bps / reachable_Bps
        waits_s, core = share * seconds, np.ones(len(seconds))
        np.divide(np.minimum(self.one_core_s / used, waits_s), waits_s, out=core, where=waits_s > 0)
        return share, demand_Bps.astype(np.int64), core

    def overhead_of(self, task: int, width: int) -> float:
        """Return the overhead share of one task on `width` cores; the same bits as `overhead`."""
        t1, label = float(self.one_core_s[task]), int(self.labels[task])
        if self.table is not None and (share := self.table.overhead_of(task, width)) is not None:
            return share
        seconds = self.seconds_of(task, width)
        added = float(self.terms.thread_overhead[label]) * sqrt(REFERENCE_S * t1) * (width - 1)
        if self.stretch is not None:
            added *= float(self.stretch[label, min(width, self.widest)])
        return added / seconds if 0 < seconds < t1 else 0.0

    def overhead(self, width: Width) -> Seconds:
        """Return the share of each task's seconds on `width` cores due to its threads' overhead, shape (n,).

        It is A (w - 1) / c(w) in the terms of `simsched.costs.curves`: the time in which a team's threads wait for each
        other's data on the interconnect. Zero for tasks that run on one thread of their team.
        """
        return self._kept("overhead", width, self._overhead)

    def _overhead(self, width: Width) -> Seconds:
        t1, seconds = self._possible_s, self.seconds(width)
        added = self.terms.thread_overhead[self.labels] * np.sqrt(REFERENCE_S * t1) * (width - np.int64(1))
        if self.stretch is not None:
            added = added * self.stretch[self.labels, np.minimum(width, self.widest)]
        share = np.zeros(len(seconds))
        np.divide(added, seconds, out=share, where=(seconds > 0) & (seconds < t1))
        return share if self.table is None else self.table.overhead(share, seconds, width)


@dataclass(frozen=True, eq=False)
class FastestTeams:
    """Seconds of every task on the fastest teams of cores of several kinds; a team is as slow as its slowest kind.

    Parameters
    ----------
    kinds : tuple of TaskCosts
        On the kind on which each task is fastest, on its second fastest, and so on.
    most : int array, shape (n, kinds)
        Hardware threads of these kinds and all faster ones.
    """

    kinds: tuple[TaskCosts, ...]
    most: npt.NDArray[np.int64]

    def seconds(self, width: Width) -> Seconds:
        """Return the least seconds of every task on `width` cores, scalar or one per task; shape (n,)."""
        least = self.kinds[-1].seconds(width).copy()
        for costs, most in zip(self.kinds[:-1], self.most.T, strict=False):
            np.minimum(least, costs.seconds(width), out=least, where=np.less_equal(width, most))
        return least

    @cached_property
    def fastest_widths(self) -> npt.NDArray[np.int64]:
        """The width on which each task is fastest, shape (n,); of equals, that of the faster kind."""
        every = np.stack([costs.fastest_widths for costs in self.kinds])
        fastest = np.argmin([self.seconds(widths) for widths in every], axis=0)
        return np.asarray(every[fastest, np.arange(len(fastest))])

    def least_core_seconds(self) -> Seconds:
        """Return the least product of width and seconds of each task, shape (n,)."""
        return self.kinds[0].least_core_seconds()


def _distinct(*columns: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the places of distinct rows, and for each row the one that it equals to the bit.

    Where two different rows have the same hash, all rows are returned.
    """
    bits = [np.asarray(column, np.float64).view(np.uint64) for column in columns]
    hashes = np.zeros(len(bits[0]), np.uint64)
    for column in bits:
        hashes ^= column ^ (column >> np.uint64(29))
        hashes *= np.uint64(0x9E3779B97F4A7C15)
    _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    if all((column[first][which] == column).all() for column in bits):
        return first, which
    every = np.arange(len(hashes))
    return every, every
