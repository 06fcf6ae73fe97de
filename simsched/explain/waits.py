"""Causes of every task's wait, from the times of a schedule and the rules of a replay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from simsched.explain.arrivals import Arrivals
from simsched.graph.adjacency import Csr, Index, Ints, Mask, entries
from simsched.graph.taskgraph import Seconds
from simsched.policy import RankPolicy
from simsched.schedule.runs import Runs, before_each, by_start
from simsched.schedule.schedule import Schedule
from simsched.schedule.steps import Steps


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a schedule, each held by one task at a time, and those of each task.

    Parameters
    ----------
    places : Csr
        Row i holds the places of team i.
    row : int32 array, shape (runs,)
        The team of each run, as in `Runs.of`.
    pool : int64 array, shape (runs,)
        Tasks of one pool wait for the same places.
    capacity : tuple of int
        Places of each pool.
    owned : int32 array
        Cores that some task could have had.
    apart : bool
        Whether no two places have a core in common.
    """

    places: Csr
    row: Index
    pool: Ints
    capacity: tuple[int, ...]
    owned: Index
    apart: bool

    @property
    def widths(self) -> Ints:
        """Places that each run took, shape (runs,)."""
        return self.places.degrees()[self.row].astype(np.int64)

    @classmethod
    def of(cls, schedule: Schedule) -> Places:
        """Return executors as places under a static policy, cores under a dynamic one, the lanes of a real run."""
        inputs = schedule.inputs
        if inputs is not None and isinstance(inputs.policy, RankPolicy):
            return cls._executors(schedule, inputs.policy)
        row = Runs.of(schedule).team
        cores = np.unique(schedule.teams.indices)
        # A dynamic policy may take any core, a real run has shown those that it could.
        owned = cores if inputs is None else np.arange(schedule.n_cores, dtype=np.int32)
        pool, capacity = np.zeros(len(row), np.int64), (len(owned),)
        return cls(schedule.teams, row, pool, capacity, owned, inputs is not None)

    @classmethod
    def _executors(cls, schedule: Schedule, policy: RankPolicy) -> Places:
        assert schedule.inputs is not None  # noqa: S101 - narrows the type: the caller has looked
        assert schedule.inputs.layout is not None  # noqa: S101 - narrows the type: static policies always have one
        layout = schedule.inputs.layout
        executor = Runs.of(schedule).executor
        count = max(int(executor.max(initial=-1)) + 1, layout.n_executors)
        each = Csr(np.arange(count + 1, dtype=np.int64), np.arange(count, dtype=np.int32))
        # Of single-threaded executors the lowest idle one takes a task: all of them were used before one had to wait.
        pool = (executor >= layout.n_executors).astype(np.int64)
        cores = np.r_[policy.executors(schedule.require_machine(), layout).indices, schedule.teams.indices]
        owned = np.unique(cores).astype(np.int32)
        used = schedule.teams.indices
        apart = policy.pinned and len(np.unique(used)) == len(used)
        return cls(each, executor, pool, (layout.n_executors, count - layout.n_executors), owned, apart)


#: Causes of a task's start time, in the order of the categories of `Explanation.tasks`.
REASONS = ("none", "dependency", "no core", "queue", "dispatch", "data", "aborted")

#: The same of several tasks, in words: they ...
WAITED = {
    "no core": "mostly waited for a core",
    "queue": "mostly waited in the queue",
    "dispatch": "mostly waited for dispatch",
    "data": "mostly waited for data",
    "aborted": "mostly ran in vain",
}
AT_ONCE = "started as soon as ready"

#: Relative precision of decisions: start minus cost is known to so many digits.
RELATIVE = 1e-9


@dataclass(frozen=True, eq=False)
class Waits:
    """Three moments before the start of each run, and the runs that caused them. All arrays of shape (runs,).

    Entry t is the run of task t that finished; those that were aborted follow, as in `Runs.of`.

    Parameters
    ----------
    schedule : Schedule
    runs : Runs
    places : Places
    before : int64 array
        The run of its task before it, which was aborted; -1 for none.
    ready_s : float64 array
        When the last of the predecessors that had finished before it started did so. In a simulated schedule the
        `ready_s` of the schedule; in a recorded one tasks may start before their predecessors have finished. After an
        aborted run, its end.
    depends_on : int32 array
        That predecessor, of one instant the highest index, or that run; -1 for none.
    free_s : float64 array
        When the last of the runs that had its places before gave them back; minus infinity where none had.
    freed_by : int32 array
        That run; -1 for none.
    decided_s : float64 array
        When the decision before was over; minus infinity where there is none, or decisions cost nothing.
    decided : int32 array
        The run that it started; -1 for none.
    held_s : float64 array
        When the decision to start it began, which held its places: the end of the decision minus its cost.
    placed_s : float64 array
        When that decision ended, from when on it waited for what it reads, on its places.
    """

    schedule: Schedule
    runs: Runs
    places: Places
    before: Ints
    ready_s: Seconds
    depends_on: Index
    free_s: Seconds
    freed_by: Index
    decided_s: Seconds
    decided: Index
    held_s: Seconds
    placed_s: Seconds

    @classmethod
    def of(cls, schedule: Schedule) -> Waits:
        """Return the moments of a schedule."""
        places, runs, before = Places.of(schedule), Runs.of(schedule), before_each(schedule)
        ready_s, depends_on = _again(runs, before, *_ready(schedule))
        free_s, freed_by = _freed(schedule, runs, places)
        most_s, placed_s = _most_s(schedule), runs.placed_s
        decided_s, decided = _decided(schedule, runs, np.maximum(ready_s, free_s), most_s)
        held_s = _held(placed_s, np.maximum.reduce([ready_s, free_s, decided_s]), most_s)
        # What takes a run over aborts it when the decision begins.
        held_s = np.where(before >= 0, ready_s, held_s)
        return cls(
            schedule,
            runs,
            places,
            before,
            ready_s,
            depends_on,
            free_s,
            freed_by,
            decided_s,
            decided,
            held_s,
            placed_s,
        )

    @property
    def costs_known(self) -> bool:
        """Whether the costs of decisions are known; in a real run they are not, and count as queue."""
        return self.schedule.engine != "measured"

    @cached_property
    def arrivals(self) -> Arrivals:
        """What each run waited for from its decision on."""
        return Arrivals.of(self.schedule, self.runs, self.ready_s, self.depends_on)

    @cached_property
    def first(self) -> Ints:
        """The first run of each task, shape (n,)."""
        first = np.arange(self.schedule.graph.n_tasks)
        while (again := self.before[first] >= 0).any():
            first = np.where(again, self.before[first], first)
        return first

    def _of_tasks(self, seconds: Seconds) -> Seconds:
        """Return the seconds of each task, from those of its runs."""
        n = self.schedule.graph.n_tasks
        return seconds if len(seconds) == n else _sums(self.runs.task, seconds, n)

    @cached_property
    def dispatch_s(self) -> Seconds:
        """Cost of each task's own decisions, shape (n,)."""
        return self._of_tasks(self.placed_s - self.held_s)

    @cached_property
    def data_s(self) -> Seconds:
        """Seconds from decisions to the arrival of the last object that a task reads, shape (n,)."""
        return self._of_tasks(self.runs.start_s - self.placed_s)

    @cached_property
    def aborted_s(self) -> Seconds:
        """Seconds of each task's aborted runs, shape (n,)."""
        lost = self.schedule.lost
        return _sums(lost.task, lost.end_s - lost.start_s, self.schedule.graph.n_tasks)

    @cached_property
    def no_core_s(self) -> Seconds:
        """Seconds from ready to the decision in which fewer places were idle than the task took, shape (n,)."""
        return self._of_tasks(self._no_core_s)

    @cached_property
    def lacked_cores(self) -> Mask:
        """Whether fewer places were idle than a run took, at some time before its decision, shape (runs,)."""
        return self._no_core_s > 0

    @cached_property
    def _no_core_s(self) -> Seconds:
        seconds = np.zeros(len(self.ready_s))
        widths, pool = self.places.widths, self.places.pool
        for number, capacity in enumerate(self.places.capacity):
            ours = np.flatnonzero(pool == number)
            taken = Steps.of(self.held_s[ours], self.runs.end_s[ours], widths[ours])
            late = ours[self.held_s[ours] > self.ready_s[ours]]
            for width in np.unique(widths[late]).tolist():
                tasks = late[widths[late] == width]
                seconds[tasks] = taken.above(
                    max(capacity - width, 0), self.ready_s[tasks], self.held_s[tasks]
                )
        return seconds

    @cached_property
    def queue_s(self) -> Seconds:
        """The rest of the wait, shape (n,): the scheduler was busy, preferred other tasks, or delayed it."""
        return self._of_tasks((self.held_s - self.ready_s) - self._no_core_s)

    @cached_property
    def reason(self) -> Index:
        """The largest part of each task's wait, shape (n,), as a place in `REASONS`."""
        parts = np.stack([self.no_core_s, self.queue_s, self.dispatch_s, self.data_s, self.aborted_s])
        largest = parts.argmax(axis=0) + REASONS.index("no core")
        at_once = np.where(
            self.depends_on[self.first] >= 0, REASONS.index("dependency"), REASONS.index("none")
        )
        return np.where((parts > 0).any(axis=0), largest, at_once).astype(np.int32)

    def tasks_of(self, runs: Index) -> Index:
        """Return the tasks of some runs; -1 for -1."""
        return np.append(self.runs.task, np.int32(-1))[runs]

    def in_words(self) -> dict[str, int]:
        """Return the number of tasks by main cause of their wait, as phrases; causes of no task left out."""
        counts = dict(zip(REASONS, np.bincount(self.reason, minlength=len(REASONS)).tolist(), strict=True))
        waited = {phrase: counts.pop(reason) for reason, phrase in WAITED.items()} | {
            AT_ONCE: sum(counts.values())
        }
        return {phrase: count for phrase, count in waited.items() if count}

    def frame(self) -> pd.DataFrame:
        """Return the table of `Explanation.tasks`."""
        return pd.DataFrame({
            "task": self.runs.task[: len(self.first)],
            "depends_on": self.depends_on[self.first],
            "freed_by": self.tasks_of(self.freed_by[self.first]),
            "dependency_s": self.ready_s[self.first],
            "no_core_s": self.no_core_s,
            "queue_s": self.queue_s,
            "dispatch_s": self.dispatch_s,
            "data_s": self.data_s,
            "aborted_s": self.aborted_s,
            "reason": pd.Categorical.from_codes(self.reason, pd.Index(REASONS, dtype=object)),
        })  # fmt: skip


def _ready(schedule: Schedule) -> tuple[Seconds, Index]:
    edges = schedule.graph.successors
    before, after, ready_s = edges.sources(), edges.indices, schedule.ready_s
    if schedule.inputs is None:
        rank = np.empty(schedule.graph.n_tasks, np.int64)
        rank[schedule.start_order] = np.arange(schedule.graph.n_tasks)
        done = (schedule.finish_s[before] <= schedule.start_s[after]) & (rank[before] < rank[after])
        before, after = before[done], after[done]
        ready_s = np.full(schedule.graph.n_tasks, min(0.0, schedule.start_s.min(initial=0.0)))
        np.maximum.at(ready_s, after, schedule.finish_s[before])
    last = schedule.finish_s[before] == ready_s[after]
    depends_on = np.full(schedule.graph.n_tasks, -1, np.int32)
    np.maximum.at(depends_on, after[last], before[last])
    return ready_s, depends_on


def _sums(task: Index, seconds: Seconds, n_tasks: int) -> Seconds:
    """Return the seconds of each task, from those of some of its runs."""
    # Of no runs numpy counts, in whole numbers.
    return np.bincount(task, seconds, n_tasks).astype(np.float64)


def _again(runs: Runs, before: Ints, ready_s: Seconds, depends_on: Index) -> tuple[Seconds, Index]:
    """Return when each run was ready, and after what, from when its task was: after an aborted run, when that ended."""
    if len(runs) == len(ready_s):
        return ready_s, depends_on
    after = before >= 0
    return (
        np.where(after, runs.end_s[before], ready_s[runs.task]),
        np.where(after, before, depends_on[runs.task]).astype(np.int32),
    )


def _freed(schedule: Schedule, runs: Runs, places: Places) -> tuple[Seconds, Index]:
    """Return when, and by which run, the places of each run were last freed; not by still running ones."""
    n, order = len(runs), by_start(schedule, runs.start_s)
    nth, place = entries(places.places, places.row[order])
    task = order[nth].astype(np.int32)
    # By place, and of each place as the tasks started. Of small numbers a stable sort is a quick one.
    order = np.argsort(place.astype(np.min_scalar_type(place.max(initial=0))), kind="stable")
    task, place = task[order], place[order]
    same = place[1:] == place[:-1]
    # A displaced thread may share a core with another of its own team.
    once = np.append(np.ones(len(task[:1]), bool), ~same | (task[1:] != task[:-1]))
    task, place = task[once], place[once]
    before = np.full(len(task), -1, np.int32)
    before[1:] = np.where(place[1:] == place[:-1], task[:-1], -1)
    given_back = before >= 0
    given_back[given_back] = runs.end_s[before[given_back]] <= runs.start_s[task[given_back]]
    task, before = task[given_back], before[given_back]
    free_s, freed_by = np.full(n, -np.inf), np.full(n, -1, np.int32)
    np.maximum.at(free_s, task, runs.end_s[before])
    last = np.flatnonzero(runs.end_s[before] == free_s[task])[::-1]
    # Of several, the one on the lowest place: places ascend, and it is written last.
    freed_by[task[last]] = before[last]
    return free_s, freed_by


def _most_s(schedule: Schedule) -> float:
    """Return the longest time of a decision (docs/semantics.md, rule 3)."""
    if schedule.inputs is None:
        return 0.0
    policy, runtime = schedule.inputs.policy, schedule.inputs.runtime
    if policy.queue == "central":
        return runtime.dispatch_s if isinstance(policy, RankPolicy) else runtime.choice_s
    if isinstance(policy, RankPolicy):
        # The number of polling single-threaded executors beyond the used ones is unknown.
        return np.inf if runtime.pop_s or runtime.pop_per_poller_s else 0.0
    return runtime.pop_s + runtime.pop_per_poller_s * (schedule.n_cores - 1)


def _decided(schedule: Schedule, runs: Runs, possible_s: Seconds, most_s: float) -> tuple[Seconds, Index]:
    """Return when, and for which run, the last decision before each run ended; only nonzero ones."""
    # In the order of decisions, which is that of starts where no task waits for data.
    n, placed_s, order = len(runs), runs.placed_s, by_start(schedule, runs.placed_s)
    decided = np.full(n, -1, np.int32)
    if most_s:
        took = placed_s[order] > possible_s[order]
        latest = np.maximum.accumulate(np.where(took, np.arange(n), -1))[:-1]
        decided[order[1:]] = np.where(latest >= 0, order[latest], -1)
    return np.where(decided >= 0, placed_s[decided], -np.inf) if n else np.empty(0), decided


def _held(start_s: Seconds, possible_s: Seconds, most_s: float) -> Seconds:
    """Return when the decision to start each task began: as early as possible, with the longest duration.

    That moment is one of those given, to the bit, unless the policy let more time pass.
    """
    if not most_s:
        return start_s
    enough = start_s - possible_s <= most_s * (1 + RELATIVE) + 4 * np.spacing(start_s)
    return np.where(enough, possible_s, np.maximum(start_s - most_s, possible_s))
