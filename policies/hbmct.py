"""HBMCT: independent tasks together, balanced between executors (Sakellariou and Zhao)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities
from simsched.policy.planning.compiled import order_of
from simsched.policy.planning.draft import Draft


@dataclass(frozen=True, kw_only=True)
class Hbmct(PlannedPolicy):
    """Hybrid Balanced Minimum Completion Time: groups of independent tasks, moved from the executor that ends last.

    Tasks in descending order of their b-levels, of mean seconds and messages, are cut into groups: one that waits
    for a task of the group begins the next. Of a group, each task first gets the executor where it takes least; an
    executor runs its tasks by their earliest starts there: when their data arrive and the groups before have ended.
    Then, again and again, the tasks of the executor that ends last are tried in ascending order of their mean
    earliest starts. The first that another executor can run, in its place there, and end earlier than that goes where
    that end is earliest. The group is done when there is none. Of equals the lowest-numbered executor is taken, and
    the task that comes first in the list.

    SAGA lets a moved task run after all others of its group.

    Cost: O(edges + tasks x executors) and, for each move, as much as the tasks of the group that executors have.

    References
    ----------
    Sakellariou, Zhao: A Hybrid Heuristic for DAG Scheduling on Heterogeneous Systems. HCW, IPDPS 2004; details from
    SAGA, src/saga/schedulers/hbmct.py.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "hbmct")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "hbmct"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        draft = Draft(platform, insertion=False)
        for tasks in _groups(draft):
            group = _Group(draft, tasks)
            while group.moved():
                pass
            group.place()
        return draft.assignment()


def _groups(draft: Draft) -> Iterator[list[int]]:
    """Yield independent tasks that follow each other in the order of b-levels."""
    after = np.empty(len(draft.start))
    after[order_of(draft.platform)] = np.arange(len(after))
    tasks: list[int] = []
    known = set[int]()
    for task in np.lexsort((after, -Priorities(draft.platform).b_level)).tolist():
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
        # Sums order tasks as means do, without their rounding.
        self.turn: list[int] = np.argsort(np.argsort(earliest.sum(axis=1), kind="stable")).tolist()
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
