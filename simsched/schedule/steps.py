"""Step functions of time: a count, from one event to the next, and that of busy cores, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simsched.graph.adjacency import Ints, entries
from simsched.graph.taskgraph import Seconds
from simsched.policy.rank_policy import FAIR
from simsched.schedule.runs import Runs

if TYPE_CHECKING:
    from simsched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Steps:
    """A whole number at every moment, 0 before the first.

    Parameters
    ----------
    time_s : float64 array, shape (m,)
        Ascending, all different.
    level : int64 array, shape (m,)
        The number from each of these on.
    """

    time_s: Seconds
    level: Ints

    @classmethod
    def of(cls, begin_s: Seconds, end_s: Seconds, amount: Ints) -> Steps:
        """Return the sum of amounts, each from its beginning to its end."""
        lasting = end_s > begin_s
        if not lasting.all():
            begin_s, end_s, amount = begin_s[lasting], end_s[lasting], amount[lasting]
        time_s = np.concatenate([begin_s, end_s])
        order = np.argsort(time_s)
        time_s = time_s[order]
        level = np.cumsum(np.concatenate([amount, -amount])[order])
        last = np.ones(len(time_s), bool)
        last[:-1] = time_s[1:] > time_s[:-1]
        return cls(time_s[last], level[last])

    def at(self, time_s: Seconds) -> Ints:
        """Return the number from each of these times on."""
        return np.concatenate([[0], self.level])[np.searchsorted(self.time_s, time_s, side="right")]

    def above(self, level: int, begin_s: Seconds, end_s: Seconds) -> Seconds:
        """Return the seconds from each beginning to its end with the number above a non-negative level.

        Where that is always or never, they are exact.
        """
        holds = self.level > level
        # Beginnings and ends above the level alternate, and are far fewer than changes of the number.
        turns = np.flatnonzero(holds[1:] != holds[:-1]) + 1
        turns_s = self.time_s[np.concatenate([np.flatnonzero(holds[:1]), turns])]
        begins_s = np.concatenate([[-np.inf], turns_s[::2]])
        ends_s = np.concatenate([[-np.inf], turns_s[1::2]])
        passed_s = np.concatenate([[0.0], np.cumsum(ends_s[1:] - begins_s[1:])])
        first, last = (np.searchsorted(begins_s, t, side="right") - 1 for t in (begin_s, end_s))
        until_s = [passed_s[i] - np.maximum(ends_s[i] - t, 0.0) for i, t in ((first, begin_s), (last, end_s))]
        partly = np.clip(until_s[1] - until_s[0], 0.0, end_s - begin_s)
        return np.where(end_s <= ends_s[first], end_s - begin_s, partly)


def on_common_times(steps: Sequence[Steps], begin_s: float, end_s: float) -> tuple[Seconds, list[Ints]]:
    """Return the lengths of the moments in which no number changes, shape (m,), and each number in them.

    Parameters
    ----------
    steps : sequence of Steps
    begin_s, end_s : float
        From when to when.
    """
    times = np.concatenate([[begin_s, end_s], *(one.time_s for one in steps)])
    times = np.unique(np.clip(times, begin_s, end_s))
    return np.diff(times), [one.at(times[:-1]) for one in steps]


def busy_cores(schedule: Schedule, n_cores: int) -> Steps:
    """Return the number of busy cores over time.

    Where running threads have equal shares of all cores (docs/semantics.md, Fair shares), as many are busy as threads
    run, or all.

    Parameters
    ----------
    schedule : Schedule
    n_cores : int
        Cores that can be busy. Threads whose numbers differ by a multiple of it are on the same one: `Machine.n_cores`
        counts cores, `Schedule.n_cores` hardware threads.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 3.0])
    >>> machine, policy = "knl-7250[cores=2,smt=2,contention=false]", "fifo[placement=dense]"
    >>> schedule = ss.simulate(graph, machine, policy, "2x1", runtime=ss.RuntimeProfile())
    >>> busy_cores(schedule, 2).level.tolist(), busy_cores(schedule, 4).level.tolist()
    ([1, 1, 0], [2, 1, 0])
    """
    runs, teams = Runs.of(schedule), schedule.teams
    running = Steps.of(runs.start_s, runs.end_s, teams.degrees()[runs.team].astype(np.int64))
    if schedule.inputs is not None:
        if getattr(schedule.inputs.policy, "oversubscribe", False) == FAIR:
            return Steps(running.time_s, np.minimum(running.level, n_cores))
        # In a recording, tasks of one lane may overlap.
        if len(np.unique(teams.indices % n_cores)) == len(teams.indices):
            return running
    run, thread = entries(teams, runs.team)
    core = thread % n_cores
    order = np.lexsort((runs.start_s[run], core))
    run, core = run[order], core[order].astype(np.int64)
    distinct, place = np.unique(runs.end_s[run], return_inverse=True)
    # Until when each core is busy with this run and those begun before: cores ascend, so none exceeds the next one's.
    until_s = distinct[np.maximum.accumulate(core * len(distinct) + place.ravel()) % len(distinct)]
    begin_s = runs.start_s[run]
    same = core[1:] == core[:-1]
    begin_s[1:][same] = np.maximum(begin_s[1:], until_s[:-1])[same]
    return Steps.of(begin_s, until_s, np.ones(len(core), np.int64))


def what_runs(schedule: Schedule) -> str:
    """Return what `Schedule.n_cores` counts: "hardware threads" where several of a core are in use, else "cores".

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0])
    >>> [what_runs(ss.simulate(graph, machine, "fifo")) for machine in ("knl-7250", "knl-7250[smt=2]")]
    ['cores', 'hardware threads']
    """
    machine = schedule.machine
    return "hardware threads" if machine is not None and schedule.n_cores > machine.n_cores else "cores"
