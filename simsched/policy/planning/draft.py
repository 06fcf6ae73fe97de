"""`Draft`: a partial plan, in Python: for use without the compiled module, and as its reference."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace
from math import inf

import numpy as np

from simsched.graph.adjacency import Index
from simsched.graph.columns import Floats
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.compiled import order_of
from simsched.policy.platform import Platform

#: Start, finish and task of what an executor runs.
Slot = tuple[float, float, int]


class Draft:
    """Tasks placed so far.

    Parameters
    ----------
    platform : Platform
    insertion : bool
        Whether a task may start in an idle time between two that are placed, or after all of its executor only.
    """

    def __init__(self, platform: Platform, insertion: bool) -> None:
        n, graph = platform.successors.n, platform.successors
        self.platform = platform
        self.insertion = insertion
        self.executor = [-1] * n
        self.start, self.finish = [0.0] * n, [0.0] * n
        self.slots: list[list[Slot]] = [[] for _ in range(platform.n_executors)]
        self.waiting = [0] * n
        self.inputs: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for edge, (i, j) in enumerate(zip(graph.sources().tolist(), graph.indices.tolist(), strict=True)):
            self.inputs[j].append((i, edge))
            self.waiting[j] += 1

    def arrivals(self, task: int) -> Floats:
        """Return when the data of placed predecessors are at each executor, shape (executors,)."""
        platform, places = self.platform, self.platform.place_of
        latest = np.zeros(platform.n_executors)
        for before, edge in self.inputs[task]:
            if self.executor[before] >= 0:
                sender = places[self.executor[before]]
                message = (
                    platform.latency_s[sender, places]
                    + platform.edge_bytes[edge] * platform.s_per_B[sender, places]
                )
                latest = np.maximum(latest, self.finish[before] + message)
        return latest

    def starts(self, task: int, arrivals: Floats) -> Floats:
        """Return when the task can start on each executor, shape (executors,); inf where it cannot run."""
        seconds = self.platform.seconds(task).tolist()
        return np.array(
            [self._start(e, *known) for e, known in enumerate(zip(arrivals, seconds, strict=True))]
        )

    def free(self, executor: int) -> float:
        """Return when an executor has done all that is placed on it."""
        slots = self.slots[executor]
        return slots[-1][1] if slots else 0.0

    def start_on(self, task: int, executor: int) -> float:
        """Return when the task can start on an executor after all that is placed there; inf where it cannot run."""
        platform, places, latest = self.platform, self.platform.place_of, self.free(executor)
        if platform.kind_seconds[task, platform.kind_of[executor]] == inf:
            return inf
        for before, edge in self.inputs[task]:
            pair = places[self.executor[before]], places[executor]
            message = platform.latency_s[pair] + platform.edge_bytes[edge] * platform.s_per_B[pair]
            latest = max(latest, self.finish[before] + float(message))
        return latest

    def enabling(self, task: int) -> tuple[float, int]:
        """Return when the last message to a task arrives, of mean seconds, and the executor that sends it, or -1."""
        messages = self.platform.mean_message_s
        arrivals = [
            (self.finish[i] + float(messages[edge]), self.executor[i]) for i, edge in self.inputs[task]
        ]
        return max(arrivals, key=lambda arrival: arrival[0], default=(0.0, -1))

    def _start(self, executor: int, arrival: float, seconds: float) -> float:
        if seconds == inf:
            return inf
        slots = self.slots[executor]
        if not self.insertion:
            return max(arrival, slots[-1][1] if slots else 0.0)
        free = 0.0
        for start, finish, _ in slots:
            begin = max(arrival, free)
            # A task that takes no time fits between two that follow each other at once.
            if begin + seconds <= start and (free < start or not seconds):
                return begin
            free = finish
        return max(arrival, free)

    def by_position(self, position: Index) -> Iterator[int]:
        """Yield the ready task of the lowest position, again and again, to be placed before the next."""
        ready = [(place, task) for task, place in enumerate(position.tolist()) if not self.waiting[task]]
        heapify(ready)
        while ready:
            _, task = heappop(ready)
            yield task
            for released in self.released(task):
                heappush(ready, (int(position[released]), released))

    def released(self, task: int) -> list[int]:
        """Return the successors of a placed task that wait for no other, ascending."""
        after = self.platform.successors.neighbours(task).tolist()
        return [successor for successor in after if not self.waiting[successor]]

    def place(self, task: int, executor: int, start: float, seconds: float | None = None) -> None:
        """Place a task, of its seconds there or of other ones."""
        finish = start + (float(self.platform.seconds(task)[executor]) if seconds is None else seconds)
        self.executor[task], self.start[task], self.finish[task] = executor, start, finish
        insort(self.slots[executor], (start, finish, task))
        for successor in self.platform.successors.neighbours(task).tolist():
            self.waiting[successor] -= 1

    def withdraw(self, task: int) -> None:
        """Undo the placement of a task."""
        self.slots[self.executor[task]].remove((self.start[task], self.finish[task], task))
        self.executor[task] = -1
        for successor in self.platform.successors.neighbours(task).tolist():
            self.waiting[successor] += 1

    def assignment(self) -> Assignment:
        """Return the plan: tasks in the order of their starts."""
        first = np.empty(len(self.start))
        first[order_of(self.platform)] = np.arange(len(self.start))
        # Of two that start together, one that takes no time may have to run before the other.
        order = np.lexsort((first, np.array(self.finish), np.array(self.start))).astype(np.int32)
        return Assignment(np.array(self.executor, np.int32), order)


class Idle:
    """Which executor has done first all that is placed on it; the lowest-numbered of several.

    Parameters
    ----------
    draft : Draft
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._known = [(draft.free(executor), executor) for executor in range(draft.platform.n_executors)]
        heapify(self._known)

    def first(self) -> int:
        """Return it. Executors only become free later, so that the least that was known of them is looked at again."""
        while (now := self._draft.free(self._known[0][1])) != self._known[0][0]:
            heapreplace(self._known, (now, self._known[0][1]))
        return self._known[0][1]

    def first_for(self, task: int) -> int:
        """Return the first of those that can run a task."""
        executor, platform = self.first(), self._draft.platform
        possible = np.isfinite(platform.seconds(task))
        if possible[executor]:
            return executor
        return min(np.flatnonzero(possible).tolist(), key=self._draft.free)


def fastest_for(platform: Platform, tasks: Index | list[int]) -> int:
    """Return the executor on which some tasks take least, of those that can run most of them."""
    seconds = platform.kind_seconds[tasks]
    never = np.isinf(seconds)
    total, lacks = np.where(never, 0.0, seconds).sum(axis=0), never.sum(axis=0)
    return int(np.lexsort((total[platform.kind_of], lacks[platform.kind_of]))[0])


def best(scores: Floats) -> int:
    """Return the executor of the lowest score; of equal ones the lowest-numbered."""
    return int(scores.argmin())


def planned_end(platform: Platform, plan: Assignment) -> float:
    """Return when the last task of a plan finishes, each after the one before it on its executor and its data."""
    draft = Draft(platform, insertion=False)
    for task in plan.order.tolist():
        executor = int(plan.executor[task])
        draft.place(task, executor, draft.start_on(task, executor))
    return max(draft.finish, default=0.0)
