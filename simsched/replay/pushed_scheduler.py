"""The scheduler that pushes ready tasks to queues of executors."""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush
from itertools import takewhile
from math import inf

from simsched.replay.data_state import DataState
from simsched.replay.decision import Decision
from simsched.replay.list_scheduler import ListScheduler
from simsched.replay.plan import StaticPlan


class PushedScheduler(ListScheduler):
    """Pushes tasks that become ready to queues of executors; see `Chooser` and docs/semantics.md, rule 13."""

    def __init__(self, plan: StaticPlan) -> None:
        super().__init__(plan)
        self._rule, self._rank = plan.pushing, plan.position.tolist()
        self._rank_s: list[float] = plan.rank_s.tolist()
        self._estimates = plan.alone_s.ravel().tolist()
        n = plan.executors.n
        self._waiting: list[list[tuple[int, int, int]]] = [
            [] for _ in range(n)
        ]  # sorted: rank, when it came, task
        self._came = 0
        self._busy_until_s, self._queued_s = [0.0] * n, [0.0] * n
        self._share_s = [0.0] * len(self._rank)  # what each task adds to its queue
        self._runs, self._busy = (
            [False] * n,
            [False] * n,
        )  # whether each executor runs a task; or can start one
        self._startable: list[int] = []  # heap of idle executors whose queue is not empty
        self._data: DataState | None = None

    def sees(self, data: DataState) -> None:
        """Let the rule of the queues see where objects are."""
        self._data = data

    def released(self, tasks: list[int], now_s: float) -> None:
        """Push ready tasks."""
        if not self._rule.sorts:
            tasks = sorted(tasks, key=self._rank.__getitem__)
        if self._rule.by_start:
            self._busy = [self._is_busy(executor) for executor in range(len(self._busy))]
        if self._rule.pairs:
            tasks = sorted(
                tasks,
                key=lambda task: (
                    min(self._expected_s(task, now_s)) + (self._rank_s[task] if self._rule.levels else 0.0)
                ),
            )
        for task in tasks:
            executor = self._pushed(task, now_s)
            if self._data is not None:
                self._data.prefetch(task, self._cores[executor][0], now_s)

    def _pushed(self, task: int, now_s: float) -> int:
        """Add a task to the queue of the executor that the rule chooses, and return this."""
        executor, share_s = self._chosen(task, now_s)
        self._share_s[task] = share_s
        self._queued_s[executor] += share_s
        if not self._waiting[executor] and self._is_idle(executor):
            heappush(self._startable, executor)
        rank = self._rank[task] if self._rule.sorts else 0
        insort(self._waiting[executor], (rank, self._came, task))
        self._came += 1
        return executor

    def _chosen(self, task: int, now_s: float) -> tuple[int, float]:
        """Return the executor for a task, and the seconds by which it is expected to end later with it."""
        rule, expected_s = self._rule, self._expected_s(task, now_s)
        first_s = min(expected_s)
        worse = [inf if one == inf else rule.alpha * (one - first_s) for one in expected_s]
        if rule.beta:
            worse = [one + rule.beta * self._missing_s(task, at) for at, one in enumerate(worse)]
        found = worse.index(min(worse))
        if rule.by_start:
            return found, self._estimate_s(task, found)
        return found, expected_s[found] - self._free_s(found, now_s)

    def _expected_s(self, task: int, now_s: float) -> list[float]:
        """Return when a task is expected to end on each executor, or to start there; inf where it cannot run."""
        found = []
        for one in range(len(self._waiting)):
            start_s = self._free_s(one, now_s)
            if self._rule.aware:
                start_s = max(start_s, now_s + self._missing_s(task, one))
            seconds = self._estimate_s(task, one)
            found.append(start_s if self._rule.by_start and seconds < inf else start_s + seconds)
        return found

    def _free_s(self, executor: int, now_s: float) -> float:
        """Return when an executor is expected to be free."""
        if self._rule.by_start and not self._busy[executor]:
            return now_s
        return max(self._busy_until_s[executor], now_s) + self._queued_s[executor]

    def _is_busy(self, executor: int) -> bool:
        """Return whether an executor runs a task, or has one in its queue whose data are there."""
        data, thread = self._data, self._cores[executor][0]
        return self._runs[executor] or any(
            data is None or not data.missing_B(task, thread)[0] for _, _, task in self._waiting[executor]
        )

    def _estimate_s(self, task: int, executor: int) -> float:
        return float(self._estimates[task * self._kinds + self._kind_of[executor]])

    def _missing_s(self, task: int, executor: int) -> float:
        if self._data is None or not (self._rule.aware or self._rule.beta):
            return 0.0
        return self._data.missing_s(task, self._cores[executor][0], longest=self._rule.longest)

    def began(self, task: int, now_s: float) -> None:
        """Update the expected end of a task whose data have arrived."""
        executor = self._executor_of[task]
        self._busy_until_s[executor] = now_s + self._estimate_s(task, executor)
        self._runs[executor] = True

    def finished(self, task: int) -> None:
        """Make the task's executor idle."""
        executor = self._executor_of[task]
        super().finished(task)
        self._runs[executor] = False
        if self._waiting[executor]:
            heappush(self._startable, executor)

    def next(self, now_s: float) -> Decision | None:
        """Return the first task in the queue of the lowest-numbered idle executor that has one."""
        if not self._startable:
            return None
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        executor = heappop(self._startable)
        self._idle.pop(bisect_left(self._idle, executor))
        task = self._taken(executor)
        self._queued_s[executor] -= self._share_s[task]
        if not self._waiting[executor]:
            self._queued_s[executor] = 0.0  # what is left of sums of floats
        self._busy_until_s[executor] = (now_s + delay) + self._share_s[task]
        self._runs[executor] = self._data is None
        return self._decision(task, executor, delay)

    def _taken(self, executor: int) -> int:
        """Take the first task of a queue, or the one of its rank that misses fewest bytes."""
        queue, found = self._waiting[executor], 0
        if self._rule.ready and (data := self._data) is not None:
            thread, first = self._cores[executor][0], queue[0][0]
            equals = takewhile(lambda entry: entry[0] == first, queue)
            least = inf, inf
            for place, (_, _, task) in enumerate(equals):
                if (missing_B := data.missing_B(task, thread)) < least:
                    found, least = place, missing_B
                if not any(least):
                    break
        return queue.pop(found)[2]
