"""Causes of slowdowns: the schedule traversed again, with the parts of each task's slowdown kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

import numpy as np
import pandas as pd

from simsched.costs.loads import Load, Loads, loads
from simsched.costs.task_costs import TaskCosts
from simsched.errors import SimschedError
from simsched.explain.core_time import SLOW_DOWNS, UNKNOWN
from simsched.explain.team_time import costs_of
from simsched.graph.adjacency import Index
from simsched.graph.taskgraph import Seconds
from simsched.native import find
from simsched.policy import RankPolicy
from simsched.replay.contention import Contention
from simsched.replay.decision import Decision
from simsched.replay.native_engine import sharing_of
from simsched.schedule import Schedule
from simsched.schedule.runs import Events, Runs, by_start

#: Parts returned by `Contention.excess`.
EXCESSES = SLOW_DOWNS[:5]

#: Visits of running tasks in a walk made without a request, about a second of them: in Python, and compiled.
MOST_LOOKS = 200_000
MOST_LOOKS_COMPILED = 200_000_000


def slow_downs(
    schedule: Schedule, causes: bool | None = None, costs: TaskCosts | None = None
) -> pd.DataFrame:
    """Return the seconds by which each task took longer than alone, by cause; they add up to the difference.

    A slow-down S = 1 + sum of parts runs dt / S of a task's seconds alone in dt; each part takes dt part / S.

    Parameters
    ----------
    schedule : Schedule
    causes : bool, optional
        Whether to find the causes; when not given, where the schedule is not `too_large`.
    costs : TaskCosts, optional
        Result of `simsched.explain.team_time.costs_of`, if known.

    Returns
    -------
    DataFrame
        One row per task, one column per cause of `SLOW_DOWNS`.

    Raises
    ------
    SimschedError
        If causes are asked for of a real run, whose tasks do not follow the rules of a replay.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0], bytes_B=[1e10, 1e10])
    >>> machine = "generic[cores=2,core_bandwidth_Bps=1e10,bandwidth_Bps=1e10,contention=false,share_bandwidth=true]"
    >>> slow_downs(ss.simulate(graph, machine, "fifo"))["memory bandwidth"].tolist()
    [1.0, 1.0]
    """
    n = schedule.graph.n_tasks
    known = causes or (causes is None and not too_large(schedule))
    return pd.DataFrame(_by_cause(schedule, np.arange(n, dtype=np.int32), known, costs))


def slow_downs_of(schedule: Schedule, tasks: Index, costs: TaskCosts | None = None) -> dict[str, Seconds]:
    """Return the same for some tasks, each array of shape (tasks,); faster for a path than for all tasks.

    Parameters
    ----------
    schedule : Schedule
    tasks : int32 array, shape (tasks,)
    costs
        As in `slow_downs`.
    """
    # The compiled walk visits these tasks only.
    known = schedule.inputs is not None and (find() is not None or not too_large(schedule))
    return _by_cause(schedule, tasks, known, costs)


def _by_cause(schedule: Schedule, tasks: Index, known: bool, costs: TaskCosts | None) -> dict[str, Seconds]:
    """Return the seconds of some tasks by cause, where the causes of all are known."""
    inputs = schedule.inputs
    alone_s = schedule.alone_s[tasks]
    parts = {cause: np.zeros(len(tasks)) for cause in SLOW_DOWNS}
    left = schedule.finish_s[tasks] - schedule.start_s[tasks] - alone_s
    if inputs is None:
        if known:
            raise SimschedError(
                "the causes of slow-down are known of simulated schedules only; this is a real run"
            )
        return parts | {UNKNOWN: left}
    if inputs.factors is not None:
        parts["noise"] = alone_s * (inputs.factors[tasks] - 1.0)
        left = left - parts["noise"]
    shared = schedule.require_machine().effects.any
    if shared and known:
        parts |= dict(zip(EXCESSES, _excess_s(schedule, tasks, costs).T, strict=True))
        left = left - sum(parts[cause] for cause in EXCESSES)
    read_s = (schedule.begun_s - schedule.start_s)[tasks]
    parts["reading from afar"] = read_s
    left = left - read_s
    resized = not isinstance(inputs.policy, RankPolicy) and any(inputs.runtime.resize_costs_s)
    return parts | {"team changes" if resized and (known or not shared) else UNKNOWN: left}


def too_large(schedule: Schedule) -> bool:
    """Return whether causes are found only on request: many tasks share something, or it is a real run."""
    if schedule.inputs is None:
        return True
    # A walk visits all running tasks at every start and finish.
    most = MOST_LOOKS if find() is None else MOST_LOOKS_COMPILED
    return schedule.require_machine().effects.any and int(Events.of(schedule).running.sum()) > most


def _excess_s(schedule: Schedule, tasks: Index, costs: TaskCosts | None) -> Seconds:
    """Return the seconds that each part of the slow-down of some tasks took, shape (tasks, causes)."""
    machine, runs = schedule.require_machine(), Runs.of(schedule)
    asked = _loads(schedule, costs or costs_of(schedule))
    if (native := find()) is None:
        return _Walk(schedule, asked.rows()).excess_s()[tasks]
    after, teams = schedule.graph.successors, schedule.teams
    watched = np.zeros(len(runs), np.bool_)
    watched[tasks] = True
    found = native.excess_seconds(
        successors=native.Csr(after.indptr, after.indices),
        task=runs.task,
        start_order=by_start(schedule, runs.begun_s).astype(np.int32),
        start_s=runs.begun_s,
        finish_s=runs.end_s,
        teams=native.Csr(teams.indptr, teams.indices),
        team=runs.team,
        loads=native.Loads(**vars(asked)),
        watched=watched,
        shared=sharing_of(native, machine),
    )
    return np.asarray(found).reshape(-1, len(EXCESSES))[tasks]


def _loads(schedule: Schedule, costs: TaskCosts) -> Loads:
    """Return the demand of each run; costs are those of the tasks."""
    effects, lost = schedule.require_machine().effects, schedule.lost
    asked = loads(costs, schedule.widths, effects)
    if not len(lost):
        return asked
    aborted = loads(costs_of(schedule, lost), schedule.teams.degrees()[lost.team], effects)
    return Loads(*(np.append(one, vars(aborted)[name]) for name, one in vars(asked).items()))


@dataclass(slots=True)
class _Running:
    """A run that goes on: the time of the last change of its slowdown, and its parts above 1."""

    run: int
    since_s: float
    parts: tuple[float, ...] = (0.0,) * len(EXCESSES)


class _Walk:
    """One walk through a simulated schedule; `simsched/native/causes.cpp` is its twin."""

    def __init__(self, schedule: Schedule, asked: Sequence[Load]) -> None:
        self._schedule = schedule
        self._runs = Runs.of(schedule)
        self._loads = asked
        self._sharing = Contention(schedule.require_machine())
        self._running: dict[int, _Running] = {}
        self._ends: list[tuple[float, int]] = []
        self._now_s = 0.0
        self._excess_s: Seconds = np.zeros((len(self._runs), len(EXCESSES)))

    def excess_s(self) -> Seconds:
        """Return the seconds that each part of the slow-down of each run took, shape (runs, causes)."""
        runs = self._runs
        for run in by_start(self._schedule, runs.begun_s).tolist():
            now_s = float(runs.begun_s[run])
            self._finish(now_s)
            self._go_on(now_s)
            cores = self._schedule.teams.neighbours(self._runs.team[run]).tolist()
            self._sharing.begin(Decision(int(self._runs.task[run]), 0, 0, 0.0, 0.0, cores, self._loads[run]))
            self._running[int(runs.task[run])] = _Running(run, now_s)
            heappush(self._ends, (float(runs.end_s[run]), run))
        self._finish(inf)
        return self._excess_s

    def _finish(self, until_s: float) -> None:
        """End all runs that finish, or were aborted, by then."""
        followers = self._schedule.graph.successors
        while self._ends and self._ends[0][0] <= until_s:
            self._go_on(self._ends[0][0])
            run = heappop(self._ends)[1]
            task = int(self._runs.task[run])
            self._pass(self._running.pop(task))
            if run != task:
                self._sharing.abort(task)
                continue
            self._sharing.end(task)
            self._sharing.feed(task, followers.neighbours(task).tolist())

    def _go_on(self, until_s: float) -> None:
        """Advance from an instant: rates change once all its starts and ends are done."""
        if until_s == self._now_s:
            return
        for task, _ in self._sharing.update():
            running = self._running[task]
            self._pass(running)
            running.parts = self._sharing.excess(task)
        self._now_s = until_s

    def _pass(self, running: _Running) -> None:
        """Add the seconds of each part since the slowdown of a run changed."""
        passed_s = self._now_s - running.since_s
        if passed_s and any(running.parts):
            self._excess_s[running.run] += np.multiply(running.parts, passed_s / (1.0 + sum(running.parts)))
        running.since_s = self._now_s
