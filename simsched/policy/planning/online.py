"""`Online`: decisions task by task, if all estimates are true; running tasks may start anew elsewhere."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from simsched.graph.columns import Floats
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.draft import Draft
from simsched.policy.platform import Platform


class Rule(Protocol):
    """Decision rule of a run: it records which tasks are ready, and returns the one that an idle executor runs."""

    def push(self, task: int, now_s: float) -> None:
        """Note that a task is ready."""
        ...

    def pop(self, executor: int, now_s: float) -> int:
        """Return the task that an idle executor runs next, and forget it; -1 for none."""
        ...


class Online:
    """A run in which all tasks take their estimated seconds.

    All that finish at an instant are handled first, in ascending index; then tasks become ready, in the order of what
    they waited for; then idle executors are asked, in ascending order, until none starts anything. An executor is held
    by a task from when it takes it, also while data are on their way to it.

    Parameters
    ----------
    platform : Platform

    Examples
    --------
    The newest ready task first, on whichever executor is idle:

    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import Online
    >>> class Newest(list):
    ...     def push(self, task, now_s):
    ...         self.append(task)
    ...
    ...     def pop(self, executor, now_s):
    ...         return super().pop() if self else -1
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 1.0]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> plan = Online(problem.platform(ss.policy("fifo").executors(machine, problem.layout))).run(Newest())
    >>> plan.executor.tolist(), plan.order.tolist()
    ([0, 1, 0], [2, 1, 0])
    """

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        # Where tasks run, and what they wait for; slots of executors are not used.
        self._draft = Draft(platform, insertion=False)
        self.holds = [-1] * platform.n_executors
        self.order: list[int] = []
        self._ends: list[tuple[float, int, int]] = []  # finish, task, executor

    @property
    def finish_s(self) -> list[float]:
        """When each started task finishes."""
        return self._draft.finish

    def arrivals(self, task: int) -> Floats:
        """Return when all that a ready task reads can be at each executor, shape (executors,)."""
        return self._draft.arrivals(task)

    def run(self, rule: Rule) -> Assignment:
        """Return the plan of a rule."""
        for task, waiting in enumerate(self._draft.waiting):
            if not waiting:
                rule.push(task, 0.0)
        self._start(rule, 0.0)
        while self._ends:
            now_s = self._ends[0][0]
            while self._ends and self._ends[0][0] == now_s:
                _, task, executor = heappop(self._ends)
                if self.holds[executor] == task and self.finish_s[task] == now_s:
                    self._finished(rule, task, executor, now_s)
            self._start(rule, now_s)
        executors = np.array(self._draft.executor, np.int32)
        place = {task: at for at, task in enumerate(self.order)}  # the last start counts
        return Assignment(executors, np.array(sorted(place, key=place.__getitem__), np.int32))

    def stop(self, executor: int) -> int:
        """Stop the task that an executor runs, for it to start anew elsewhere, and return it."""
        task, self.holds[executor] = self.holds[executor], -1
        return task

    def _finished(self, rule: Rule, task: int, executor: int, now_s: float) -> None:
        self.holds[executor] = -1
        for after in self.platform.successors.neighbours(task).tolist():
            self._draft.waiting[after] -= 1
            if not self._draft.waiting[after]:
                rule.push(after, now_s)

    def _start(self, rule: Rule, now_s: float) -> None:
        asking = True
        while asking:
            asking = False
            for executor, held in enumerate(self.holds):
                if held < 0 and (task := rule.pop(executor, now_s)) >= 0:
                    begin_s = max(now_s, float(self.arrivals(task)[executor]))
                    finish_s = begin_s + float(self.platform.seconds(task)[executor])
                    self.holds[executor], self._draft.executor[task] = task, executor
                    self.finish_s[task] = finish_s
                    self.order.append(task)
                    heappush(self._ends, (finish_s, task, executor))
                    asking = True
