"""`Paths`: longest paths through a graph whose tasks change, in Python: the reference of the compiled ones."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from simsched.graph.taskgraph import Seconds
from simsched.policy.planning.compiled import order_of
from simsched.policy.platform import Platform


class Paths:
    """Longest paths from tasks to a sink, while tasks are taken out or change.

    Parameters
    ----------
    platform : Platform
    seconds : float64 array, shape (n,)
    messages : float64 array, shape (m,)
        Seconds of each edge's bytes.
    """

    def __init__(self, platform: Platform, seconds: Seconds, messages: Seconds) -> None:
        graph = platform.successors
        order, self._seconds, self._messages = (
            order_of(platform).tolist(),
            seconds.tolist(),
            messages.tolist(),
        )
        self._starts, self._targets = graph.indptr.tolist(), graph.indices.tolist()
        self._before: list[list[int]] = [[] for _ in order]
        for i, j in zip(graph.sources().tolist(), self._targets, strict=True):
            self._before[j].append(i)
        self._place = {task: place for place, task in enumerate(reversed(order))}
        self._left, self.level, self._next = [True] * graph.n, [0.0] * graph.n, [-1] * graph.n
        for task in reversed(order):
            self._set_level(task)
        self._longest = [(-level, task) for task, level in enumerate(self.level)]
        heapify(self._longest)
        self._stale: list[tuple[int, int]] = []

    def longest(self) -> list[int]:
        """Return the tasks of the longest path, first to last; none where no task is left.

        Of equal paths, that of the lower first task, then of the lower next one.
        """
        while self._longest:
            level, task = self._longest[0]
            if self._left[task] and -level == self.level[task]:
                path = [task]
                while (task := self._next[path[-1]]) >= 0:
                    path.append(task)
                return path
            heappop(self._longest)
            if self._left[task]:
                heappush(self._longest, (-self.level[task], task))
        return []

    def take_out(self, tasks: Iterable[int]) -> None:
        """Take out the tasks of a path."""
        for task in tasks:
            self._left[task] = False
        for task in tasks:
            self._mark(task, longer=False)
        self._settle()

    def set_seconds(self, task: int, seconds: float) -> None:
        """Change the seconds of a task."""
        self._seconds[task] = seconds
        heappush(self._stale, (self._place[task], task))
        self._settle()

    def _settle(self) -> None:
        while self._stale:
            _, task = heappop(self._stale)
            before = self.level[task]
            self._set_level(task)
            if self.level[task] != before:
                self._mark(task, longer=self.level[task] > before)
            # Where a path became shorter, its start is found to be out of date when it is on top.
            if self.level[task] > before:
                heappush(self._longest, (-self.level[task], task))

    def _set_level(self, task: int) -> None:
        most, self._next[task] = 0.0, -1
        for edge in range(self._starts[task], self._starts[task + 1]):
            after = self._targets[edge]
            path = self._messages[edge] + self.level[after]
            if self._left[after] and (self._next[task] < 0 or path > most):
                most, self._next[task] = path, after
        self.level[task] = self._seconds[task] + most

    def _mark(self, task: int, *, longer: bool) -> None:
        """Note the tasks whose longest path leads over one that has changed, or might, where that became longer."""
        for i in self._before[task]:
            if self._left[i] and (longer or self._next[i] == task):
                heappush(self._stale, (self._place[i], i))
