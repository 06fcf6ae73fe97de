"""Backfilling: rigid jobs first come, first served, with others in the gaps, as batch systems do."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError, SpecError
from simsched.policy import Policy, Problem, Start, View
from simsched.text import counted

MODES = ("easy", "conservative", "none")


@dataclass(frozen=True)
class Backfilling(Policy):
    """Ready tasks in the order in which they became ready, each on the width that it was recorded on.

    Where the first does not fit, others may pass it: with `easy`, if they delay the first in the queue by nothing, as
    far as estimates tell; with `conservative`, if they delay none before them; with `none`, nobody passes. Tasks that
    are not ready yet are unknown, as jobs of a batch system are before they are submitted. Cost: O(ready tasks) per
    decision, conservative O(ready tasks x running tasks).

    Parameters
    ----------
    mode : {"easy", "conservative", "none"}
    hosts : str
        For each task, the hosts over which its width is spread evenly, as in `hosts=2;4;1`: it takes as many cores on
        each of so many hosts, the lowest-numbered that have them. Hosts are the machine's memory domains. Where
        nothing is said, any cores will do.

    References
    ----------
    Lifka, The ANL/IBM SP scheduling system, JSSPP 1995 (EASY). Mu'alem and Feitelson, Utilization, predictability,
    workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling, IEEE TPDS 12(6), 2001. Hosts as in
    WRENCH's batch service (FCFS, first fit).

    Examples
    --------
    Three cores: 1 does not fit beside 0; 2 ends before 0 does, and passes it; 3 would still run then:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([4.0, 2.0, 3.0, 5.0], widths=[2, 3, 1, 1])
    >>> for mode in ("none", "easy"):
    ...     print(ss.simulate(graph, "generic[cores=3]", f"backfilling[mode={mode}]").start_s.tolist())
    [0.0, 4.0, 6.0, 6.0]
    [0.0, 4.0, 0.0, 6.0]
    """

    name = "backfilling"
    any_core = True
    family = "batch"

    mode: str = "easy"
    hosts: str = ""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise SpecError(f"backfilling[mode={self.mode}]: expected one of {', '.join(MODES)}")
        if self.hosts and not all(one.isdecimal() and int(one) for one in self.hosts.split(";")):
            raise SpecError(f"backfilling[hosts={self.hosts}]: expected numbers of hosts, as in 2;4;1")

    def team_widths(self, problem: Problem, width: int) -> npt.NDArray[np.int64]:
        """Return the recorded widths."""
        return problem.graph.widths.astype(np.int64)

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with the width and the estimate of every task.

        Raises
        ------
        LayoutError
            If a task is wider than the machine, or cannot be spread over its hosts.
        """
        widths, machine = self.team_widths(problem, 1), problem.machine
        if (widths > machine.n_threads).any():
            task = int(widths.argmax())
            raise LayoutError(
                f"{self}: task {task} was recorded on {widths[task]} threads; {machine} has {machine.n_threads}"
            )
        seconds = problem.costs.seconds(widths).tolist()
        host_of = (
            np.tile(machine.structure.domain_of, machine.smt) if self.hosts else np.zeros(machine.n_threads)
        )
        needs = self._needs(widths, np.bincount(host_of.astype(np.int64)))
        return _Backfilled(self.mode, needs, seconds, host_of.astype(np.int64), spread=bool(self.hosts))

    def _needs(self, widths: npt.NDArray[np.int64], cores: npt.NDArray[np.int64]) -> list[_Need]:
        """Return what each task needs, of hosts with so many cores."""
        if not self.hosts:
            return [_Need(1, width) for width in widths.tolist()]
        hosts = np.array(self.hosts.split(";"), np.int64)
        if len(hosts) != len(widths):
            given = counted(len(hosts), "number of hosts", "numbers of hosts")
            raise LayoutError(f"{self}: {given} for {counted(len(widths), 'task')}")
        each = widths // hosts
        wrong = (widths % hosts > 0) | ((cores[None] >= each[:, None]).sum(axis=1) < hosts)
        if wrong.any():
            task = int(wrong.argmax())
            raise LayoutError(
                f"{self}: task {task} was recorded on {widths[task]} threads, which {hosts[task]} hosts of "
                f"{cores.max()} do not have in equal parts"
            )
        return [_Need(*pair) for pair in zip(hosts.tolist(), each.tolist(), strict=True)]


@dataclass(frozen=True)
class _Need:
    """Hosts of a task, and its cores on each."""

    hosts: int
    cores: int

    def on(self, free: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the hosts to take, given the free cores of each; fewer than needed where it does not fit."""
        return np.flatnonzero(free >= self.cores)[: self.hosts]

    def fits(self, free: npt.NDArray[np.int64]) -> bool:
        """Return whether enough hosts have enough free cores."""
        return len(self.on(free)) == self.hosts


@dataclass(frozen=True, eq=False)
class _Backfilled(Policy):
    name = Backfilling.name

    mode: str
    needs: list[_Need]
    seconds: list[float]
    host_of: npt.NDArray[np.int64]
    spread: bool
    waiting: list[int] = field(default_factory=list)  # in order of becoming ready

    def decide(self, view: View) -> Iterable[Start]:
        """Return the tasks that start now."""
        self.waiting.extend(view.newly_ready)
        gaps = _Gaps(view, self.host_of)
        found = list(self._conservative(gaps) if self.mode == "conservative" else self._easy(gaps))
        started = set(found)
        self.waiting[:] = [task for task in self.waiting if task not in started]
        if self.spread:
            return self._placed(found, view)
        return [Start(task, self.needs[task].cores) for task in found]

    def _placed(self, tasks: list[int], view: View) -> list[Start]:
        """Return the starts of tasks on the lowest idle cores of the hosts that each takes."""
        idle: list[list[int]] = [[] for _ in range(int(self.host_of.max()) + 1)]
        for core in view.idle_cores:
            idle[self.host_of[core]].append(core)
        starts = []
        for task in tasks:
            need = self.needs[task]
            hosts = need.on(np.array([len(cores) for cores in idle]))
            team = [core for host in hosts.tolist() for core in idle[host][: need.cores]]
            starts.append(Start(task, cores=tuple(sorted(team))))
            for host in hosts.tolist():
                del idle[host][: need.cores]
        return starts

    def _easy(self, gaps: _Gaps) -> Iterator[int]:
        first = None  # the first that has to wait
        for task in self.waiting:
            need, seconds = self.needs[task], self.seconds[task]
            if now := gaps.fits_now(need, seconds):
                yield task
            elif self.mode == "none":
                return
            if now or first is None:
                gaps.take(gaps.start(need, seconds), need, seconds)
                first = first if now else task

    def _conservative(self, gaps: _Gaps) -> Iterator[int]:
        for task in self.waiting:
            need, seconds = self.needs[task], self.seconds[task]
            if gaps.fits_now(need, seconds):
                yield task
            gaps.take(gaps.start(need, seconds), need, seconds)


class _Gaps:
    """Idle cores of each host over time, by the estimates: `free[i]` from `times[i]` until the next time."""

    def __init__(self, view: View, host_of: npt.NDArray[np.int64]) -> None:
        hosts = int(host_of.max()) + 1

        def by_host(cores: Sequence[int]) -> npt.NDArray[np.int64]:
            return np.bincount(host_of[list(cores)], minlength=hosts)

        self.now_s, self.idle = view.now_s, by_host(view.idle_cores)
        ends = sorted((max(one.finish_s, view.now_s), one.cores) for one in view.running)
        self.times, self.free = [view.now_s], [self.idle.copy()]
        for end_s, cores in ends:
            # What should have ended by now ends later, nobody knows when: next.
            moment_s = float(np.nextafter(end_s, np.inf)) if end_s == view.now_s else end_s
            if moment_s > self.times[-1]:
                self.times.append(moment_s)
                self.free.append(self.free[-1].copy())
            self.free[-1] += by_host(cores)

    def _least(self, begin: int, seconds: float) -> npt.NDArray[np.int64]:
        """Return the least idle cores of each host from a time on, for so long."""
        end = max(begin + 1, bisect_left(self.times, self.times[begin] + seconds))
        least: npt.NDArray[np.int64] = np.min(self.free[begin:end], axis=0)
        return least

    def start(self, need: _Need, seconds: float) -> float:
        """Return the earliest time from which a task has its cores for so long, on the same hosts."""
        begins = range(len(self.times))
        return next(self.times[begin] for begin in begins if need.fits(self._least(begin, seconds)))

    def fits_now(self, need: _Need, seconds: float) -> bool:
        """Return whether a task has its cores from now on for so long; what takes no time needs them, too."""
        return need.fits(np.minimum(self.idle, self._least(0, seconds)))

    def take(self, at_s: float, need: _Need, seconds: float) -> None:
        """Take cores from a time on."""
        least = self._least(self.times.index(at_s), seconds)
        hosts = need.on(np.minimum(self.idle, least) if at_s == self.now_s else least)
        if at_s == self.now_s:
            self.idle[hosts] -= need.cores
        # What takes no time needs its cores for a moment.
        until_s = max(at_s + seconds, float(np.nextafter(at_s, np.inf)))
        for moment_s in (at_s, until_s):
            if moment_s not in self.times:
                place = bisect_left(self.times, moment_s)
                self.times.insert(place, moment_s)
                self.free.insert(place, self.free[place - 1].copy())
        for place, moment_s in enumerate(self.times):
            if at_s <= moment_s < until_s:
                self.free[place][hosts] -= need.cores
