"""`plan_imaginary`: BIL: the makespans of ready tasks if they got their k-th best executors."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from simsched.graph.columns import Floats
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.draft import Draft
from simsched.policy.planning.priorities import Priorities
from simsched.policy.platform import Platform


def plan_imaginary(platform: Platform) -> Assignment:
    """Return the plan by best imaginary levels (`bil`).

    Parameters
    ----------
    platform : Platform

    Returns
    -------
    Assignment

    Examples
    --------
    The second task's executor is the one that is free first, though its data are on the other:

    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_imaginary
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 1.0], [(0, 1)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> plan_imaginary(platform).executor.tolist()
    [0, 1, 0]
    """
    draft, ready = Draft(platform, insertion=False), _Ready(platform)
    for task, waiting in enumerate(draft.waiting):
        if not waiting:
            ready.add(task)
    for _ in range(platform.successors.n):
        task = ready.chosen()
        executor = ready.executor(task)
        draft.place(task, executor, draft.start_on(task, executor))
        ready.moved(executor, draft.free(executor))
        for released in draft.released(task):
            ready.add(released)
    return draft.assignment()


class _Ready:
    """Ready tasks, in groups of equal levels: within a group, only the index decides.

    Parameters
    ----------
    platform : Platform
    """

    def __init__(self, platform: Platform) -> None:
        priorities = Priorities(platform)
        self.platform = platform
        level = platform.kind_seconds + priorities.optimistic_costs
        self.level, group_of = np.unique(level, axis=0, return_inverse=True)
        self.by_kind = np.ascontiguousarray(self.level.T)
        self.finite_level, self.finite_s = (
            np.where(np.isinf(one), 0.0, one) for one in (self.level, platform.kind_seconds)
        )
        self.group_of: list[int] = group_of.ravel().tolist()
        self.tasks: dict[int, list[int]] = {}
        self.free = np.zeros(platform.n_executors)
        self.count = 0
        # Groups with ready tasks, each at a place among the first `len(self.tasks)`, and their greatest makespans.
        self.groups = np.empty(len(self.level), np.int64)
        self.place: dict[int, int] = {}
        self.greatest = np.empty(len(self.level))
        self.level_sum, self.seconds_sum = (np.zeros(level.shape[1]) for _ in range(2))

    def add(self, task: int) -> None:
        """Add a task that has become ready."""
        group, place = self.group_of[task], len(self.tasks)
        if group not in self.tasks:
            self.tasks[group], self.place[group], self.groups[place] = [], place, group
            self.greatest[place] = self._makespans(np.array([group])).max()
        heappush(self.tasks[group], task)
        self._count(task, 1)

    def chosen(self) -> int:
        """Take out the task that goes first, and return it."""
        p, here = len(self.free), len(self.tasks)
        k = min(self.count, p)
        if k == p:
            values = self.greatest[:here]
            best = self.groups[:here][values == values.max()]
        else:
            best = self.groups[:here]
        if len(best) > 1:
            table = np.sort(self._makespans(best), axis=1)
            for column in reversed(range(k)):
                most = table[:, column] == table[:, column].max()
                best, table = best[most], table[most]
                if len(best) == 1:
                    break
        group = min(best.tolist(), key=lambda group: self.tasks[group][0])
        task = heappop(self.tasks[group])
        if not self.tasks[group]:
            self._remove(group)
        self._count(task, -1)
        return task

    def executor(self, task: int) -> int:
        """Return the executor of a task that was ready beside those that still are."""
        kinds, more = self.platform.kind_of, max((self.count + 1) / len(self.free) - 1.0, 0.0)
        revised = self.free + (self.level[self.group_of[task]] + self.finite_s[task] * more)[kinds]
        equal = np.flatnonzero(revised == revised.min())
        others = self.count * self.free + (self.level_sum + more * self.seconds_sum)[kinds]
        return int(equal[others[equal].argmax()])

    def moved(self, executor: int, free_s: float) -> None:
        """Note when an executor is free now: only there do makespans become greater."""
        self.free[executor] = free_s
        here = len(self.tasks)
        there = free_s + self.by_kind[self.platform.kind_of[executor]][self.groups[:here]]
        np.maximum(self.greatest[:here], there, out=self.greatest[:here])

    def _makespans(self, groups: npt.NDArray[np.int64]) -> Floats:
        return np.asarray(self.free + self.level[groups][:, self.platform.kind_of])

    def _count(self, task: int, sign: int) -> None:
        self.count += sign
        self.level_sum += sign * self.finite_level[self.group_of[task]]
        self.seconds_sum += sign * self.finite_s[task]

    def _remove(self, group: int) -> None:
        """Let the last group take the place of one that has no ready task any more."""
        place, last = self.place.pop(group), len(self.tasks) - 1
        del self.tasks[group]
        if place != last:
            moved = int(self.groups[last])
            self.groups[place], self.greatest[place], self.place[moved] = moved, self.greatest[last], place
