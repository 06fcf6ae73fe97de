"""Queues of ready tasks. Tasks that become ready at one instant arrive together, ascending."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Protocol

from simsched.graph.adjacency import Index
from simsched.policy.policy import Discipline


class ReadyQueue(Protocol):
    """Ready tasks in the order of a discipline."""

    def __len__(self) -> int: ...

    def add(self, tasks: list[int]) -> None:
        """Add the tasks that became ready at one instant, ascending."""
        ...

    def take(self) -> int:
        """Remove and return the next task."""
        ...


class RankQueue:
    """Lowest position first."""

    def __init__(self, position: Index) -> None:
        self._position = position.tolist()
        self._task = [0] * len(self._position)
        for task, place in enumerate(self._position):
            self._task[place] = task
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, tasks: list[int]) -> None:
        """Add ready tasks."""
        for task in tasks:
            heappush(self._heap, self._position[task])

    def take(self) -> int:
        """Remove and return the task of the lowest position."""
        return self._task[heappop(self._heap)]


class FifoQueue:
    """First come, first served; of one instant, the lower index first."""

    def __init__(self) -> None:
        self._tasks: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, tasks: list[int]) -> None:
        """Add ready tasks."""
        self._tasks.extend(tasks)

    def take(self) -> int:
        """Remove and return the task that came first."""
        return self._tasks.popleft()


class LifoQueue(FifoQueue):
    """Last come, first served; of one instant, the lower index first."""

    def add(self, tasks: list[int]) -> None:
        """Add ready tasks."""
        self._tasks.extendleft(reversed(tasks))


def ready_queue(discipline: Discipline, position: Index) -> ReadyQueue:
    """Return an empty queue of a discipline."""
    if discipline == "rank":
        return RankQueue(position)
    return FifoQueue() if discipline == "fifo" else LifoQueue()
