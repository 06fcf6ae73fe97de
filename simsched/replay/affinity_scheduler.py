"""The schedulers of HeteroPrio: kinds of cores take the tasks that they accelerate most, or take running ones over."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

from simsched.replay.data_state import DataState
from simsched.replay.decision import Decision
from simsched.replay.list_scheduler import ListScheduler
from simsched.replay.plan import StaticPlan


def slower(seconds: list[list[float]], kinds: set[int]) -> Callable[[int, int], float]:
    """Return the function of a task and a kind of core that can run it: its seconds over those of the best other kind.

    Parameters
    ----------
    seconds : list of list of float
        Of each task on each kind.
    kinds : set of int
        Kinds of which there are executors.
    """

    def ratio(task: int, kind: int) -> float:
        own = seconds[task][kind]
        best = min((seconds[task][other] for other in kinds if other != kind), default=own)
        if own == best:
            return 1.0
        return own / best if best else inf

    return ratio


class AffinityScheduler(ListScheduler):
    """Lets idle executors take the ready task that their kind of cores accelerates most; see `Chooser`."""

    def __init__(self, plan: StaticPlan) -> None:
        super().__init__(plan)
        self._estimates: list[float] = plan.alone_s.ravel().tolist()
        self._slower = slower(plan.alone_s.reshape(-1, self._kinds).tolist(), set(self._kind_of))
        self._rank = plan.position.tolist()
        self._heaps: dict[int, list[tuple[float, int, int]]] = {
            kind: [] for kind in sorted(set(self._kind_of))
        }
        self._left: set[int] = set()

    def released(self, tasks: list[int], now_s: float) -> None:
        """Note ready tasks."""
        self._left.update(tasks)
        for kind, heap in self._heaps.items():
            for task in self._able(tasks, kind):
                heappush(heap, (self._slower(task, kind), self._rank[task], task))

    def next(self, now_s: float) -> Decision | None:
        """Return the ready task that the lowest-numbered idle executor takes."""
        if not self._left or not self._idle:
            return None
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        for place, executor in enumerate(self._idle):
            heap = self._heaps[self._kind_of[executor]]
            while heap and heap[0][2] not in self._left:
                heappop(heap)
            if heap:
                task = heappop(heap)[2]
                self._left.remove(task)
                return self._decision(task, self._idle.pop(place), delay)
        return None

    def _able(self, tasks: list[int], kind: int) -> list[int]:
        """Return those of some tasks that a kind of core can run."""
        return [task for task in tasks if self._estimates[task * self._kinds + kind] < inf]


class SpoliatingScheduler(AffinityScheduler):
    """Lets idle executors take over tasks that they end earlier from the start; see docs/semantics.md, rule 13."""

    def __init__(self, plan: StaticPlan) -> None:
        super().__init__(plan)
        self._data: DataState | None = None
        self._ends_s: dict[int, float] = {}  # when each task that computes is expected to end
        self._aborted_on: dict[int, set[int]] = {}  # kinds of cores on which each task was

    def sees(self, data: DataState) -> None:
        """Let the rule see where objects are."""
        self._data = data

    def aborts(self, abort: Callable[[int], None]) -> None:
        """Note what aborts a run."""
        self._abort = abort

    def computes(self, task: int, now_s: float) -> None:
        """Note that a task begins to compute."""
        self._ends_s[task] = now_s + self._estimates[self._row(task, self._executor_of[task])]

    def finished(self, task: int) -> None:
        """Make the task's executor idle."""
        super().finished(task)
        del self._ends_s[task]

    def next(self, now_s: float) -> Decision | None:
        """Return the ready task that the lowest-numbered idle executor takes, or one that an idle one takes over."""
        decision = super().next(now_s)
        if decision is not None or not self._idle:
            return decision
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        for executor in self._idle:
            if (task := self._found(executor, now_s + delay)) is not None:
                return self._taken_over(task, executor, delay)
        return None

    def _found(self, executor: int, start_s: float) -> int | None:
        """Return the task that is expected to end last of those that an executor would end earlier."""
        found, latest, kind = None, (start_s, 0), self._kind_of[executor]
        for task, ends_s in self._ends_s.items():
            if (ends_s, -task) <= latest or kind in self._kinds_of_runs(task):
                continue
            seconds = self._estimates[self._row(task, executor)]
            if start_s + self._missing_s(task, executor) + seconds < ends_s:
                found, latest = task, (ends_s, -task)
        return found

    def _kinds_of_runs(self, task: int) -> set[int]:
        """Return the kinds of cores on which a task runs or was aborted."""
        return {self._kind_of[self._executor_of[task]]} | self._aborted_on.get(task, set())

    def _missing_s(self, task: int, executor: int) -> float:
        if self._data is None:
            return 0.0
        return self._data.missing_s(task, self._cores[executor][0], longest=False)

    def _taken_over(self, task: int, executor: int, delay: float) -> Decision:
        self._aborted_on[task] = self._kinds_of_runs(task)
        before = self._executor_of.pop(task)
        del self._ends_s[task]
        self._idle.remove(executor)
        insort(self._idle, before)
        self._abort(task)
        return self._decision(task, executor, delay)
