"""The scheduler of planned policies: each executor runs its own tasks, in the order of the plan."""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush

import numpy as np

from simsched.graph.adjacency import Index
from simsched.replay.decision import Decision
from simsched.replay.list_scheduler import ListScheduler
from simsched.replay.plan import StaticPlan


class PlannedScheduler(ListScheduler):
    """Decides for a static plan that says where each task runs; see `Chooser`."""

    def __init__(self, plan: StaticPlan, assigned: Index) -> None:
        super().__init__(plan)
        self._assigned: list[int] = assigned.tolist()
        self._left: list[list[int]] = [
            [] for _ in range(plan.executors.n)
        ]  # of each executor, the next task last
        for task in np.argsort(plan.position)[::-1].tolist():
            self._left[self._assigned[task]].append(task)
        self._ready = bytearray(len(assigned))
        self._startable: list[int] = []  # heap of executors whose next task is ready

    def released(self, tasks: list[int], now_s: float) -> None:
        """Note ready tasks."""
        for task in tasks:
            self._ready[task] = True
            executor = self._assigned[task]
            if self._left[executor][-1] == task and self._is_idle(executor):
                heappush(self._startable, executor)

    def finished(self, task: int) -> None:
        """Make the task's executor idle."""
        executor = self._executor_of[task]
        super().finished(task)
        if self._left[executor] and self._ready[self._left[executor][-1]]:
            heappush(self._startable, executor)

    def next(self, now_s: float) -> Decision | None:
        """Return the next task of the lowest-numbered executor that is idle and whose next task is ready."""
        if not self._startable:
            return None
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        executor = heappop(self._startable)
        self._idle.pop(bisect_left(self._idle, executor))
        return self._decision(self._left[executor].pop(), executor, delay)
