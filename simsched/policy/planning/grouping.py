"""`plan_groups`: HBMCT: groups of independent tasks, balanced between executors."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator

import numpy as np

from simsched.graph.adjacency import Index
from simsched.native import find
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.compiled import assignment, bound, order_of
from simsched.policy.planning.draft import Draft
from simsched.policy.planning.priorities import Priorities
from simsched.policy.platform import Platform


def plan_groups(platform: Platform) -> Assignment:
    """Return the plan of groups of independent tasks (`hbmct`).

    Parameters
    ----------
    platform : Platform

    Returns
    -------
    Assignment

    Examples
    --------
    All tasks take least on the first executor; 2 s is moved beside 3 s, and 1 s follows it:

    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_groups
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 1.0, 3.0], [(0, 1)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> plan_groups(platform).executor.tolist()
    [1, 1, 0]
    """
    after = np.empty(platform.successors.n)
    after[order_of(platform)] = np.arange(len(after))
    order = np.lexsort((after, -Priorities(platform).b_level)).astype(np.int32)
    if (native := find()) is not None:
        return assignment(native.plan_groups(bound(native, platform), order))
    draft = Draft(platform, insertion=False)
    for tasks in _groups(draft, order):
        group = _Group(draft, tasks)
        while group.moved():
            pass
        group.place()
    return draft.assignment()


def _groups(draft: Draft, order: Index) -> Iterator[list[int]]:
    """Yield independent tasks that follow each other."""
    tasks: list[int] = []
    known = set[int]()
    for task in order.tolist():
        if any(before in known for before, _ in draft.inputs[task]):
            yield tasks
            tasks, known = [], set()
        tasks.append(task)
        known.add(task)
    if tasks:
        yield tasks


class _Group:
    """Independent tasks, by their places in the group, in a queue for each executor.

    Parameters
    ----------
    draft : Draft
    tasks : list of int
    """

    def __init__(self, draft: Draft, tasks: list[int]) -> None:
        self.draft, self.tasks = draft, tasks
        executors = range(draft.platform.n_executors)
        self.free = [draft.free(executor) for executor in executors]
        seconds = draft.platform.kind_seconds[tasks][:, draft.platform.kind_of]
        earliest = np.maximum([draft.arrivals(task) for task in tasks], self.free)
        # Sums order tasks as means do, without their rounding; those of NumPy are of no fixed order.
        sums = np.cumsum(earliest, axis=1)[:, -1]
        self.turn: list[int] = np.argsort(np.argsort(sums, kind="stable")).tolist()
        self.seconds, self.earliest = seconds.T.tolist(), earliest.T.tolist()
        self.queues: list[list[int]] = [[] for _ in executors]
        for place, executor in enumerate(seconds.argmin(axis=1).tolist()):
            self.queues[executor].append(place)
        for executor, queue in enumerate(self.queues):
            queue.sort(key=self.earliest[executor].__getitem__)
        self.ends = [self._end(executor, queue) for executor, queue in enumerate(self.queues)]

    def moved(self) -> bool:
        """Move a task from the executor that ends last, and return whether there was one to move."""
        last = self.ends.index(max(self.ends))
        for place in sorted(self.queues[last], key=self.turn.__getitem__):
            left = [other for other in self.queues[last] if other != place]
            if self._end(last, left) < self.ends[last] and (found := self._better(place, self.ends[last])):
                for executor, queue in ((last, left), found):
                    self.queues[executor], self.ends[executor] = queue, self._end(executor, queue)
                return True
        return False

    def place(self) -> None:
        """Place all tasks."""
        for executor, queue in enumerate(self.queues):
            for place in queue:
                start = max(self.draft.free(executor), self.earliest[executor][place])
                self.draft.place(self.tasks[place], executor, start)

    def _better(self, place: int, end: float) -> tuple[int, list[int]] | None:
        """Return the executor that ends first with a task, and its queue then; None where it does not before `end`."""
        found = None
        for executor, earliest in enumerate(self.earliest):
            # No queue ends earlier for a task more.
            if max(self.ends[executor], earliest[place] + self.seconds[executor][place]) < end:
                queue = self.queues[executor].copy()
                insort(queue, place, key=lambda other: (earliest[other], other))
                if (then := self._end(executor, queue)) < end:
                    end, found = then, (executor, queue)
        return found

    def _end(self, executor: int, queue: list[int]) -> float:
        end, earliest, seconds = self.free[executor], self.earliest[executor], self.seconds[executor]
        for place in queue:
            end = max(end, earliest[place]) + seconds[place]
        return end
