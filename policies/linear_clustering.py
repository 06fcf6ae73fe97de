"""Linear clustering: the longest path that is left becomes a cluster (Kim and Browne)."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from simsched.native import find
from simsched.policy.planned_policy import PlannedPolicy
from simsched.policy.planning import Priorities, plan_clusters
from simsched.policy.planning.compiled import bound, order_of

if TYPE_CHECKING:
    from simsched.graph.adjacency import Index
    from simsched.policy.planned_policy import Assignment
    from simsched.policy.platform import Platform


@dataclass(frozen=True, kw_only=True)
class LinearClustering(PlannedPolicy):
    """Linear clustering: the longest path of the tasks that are left runs on one executor, again and again.

    Paths are as long as their mean seconds, messages included. Where there are more clusters than executors, those of
    the most seconds go first, each to the executor that is done first, and tasks by their longest paths to a sink.

    Cost: O((tasks + edges) log(tasks) + clusters x executors), and tasks whose longest path changes with each cluster.

    References
    ----------
    Kim, Browne: A General Approach to Mapping of Parallel Computation upon Multiprocessor Architectures. ICPP 1988;
    with the longest path as in Gerasoulis, Yang: A Comparison of Clustering Heuristics for Scheduling Directed Acyclic
    Graphs on Multiprocessors. JPDC 16(4), 1992.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "linear-clustering")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([1, 1, 0], [0.0, 3.0, 4.0])
    """

    name = "linear-clustering"
    classic = True

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_clusters(platform, linear_clusters(platform))


def linear_clusters(platform: Platform) -> Index:
    """Return the cluster of each task, numbered in the order in which they are found.

    Of equal paths, the one of the lower first task, then of the lower next one, is taken.
    """
    ranks, native = Priorities(platform), find()
    if native is not None:
        return np.asarray(native.linear_clusters(bound(native, platform), ranks.seconds, ranks.messages))
    paths, cluster = _Paths(platform, ranks), np.empty(platform.successors.n, np.int32)
    for number, path in enumerate(iter(paths.take, [])):
        cluster[path] = number
    return cluster


class _Paths:
    """Longest paths from tasks to a sink, among the tasks that are left."""

    def __init__(self, platform: Platform, ranks: Priorities) -> None:
        graph = platform.successors
        self.n, self.order = graph.n, order_of(platform).tolist()
        self.seconds, self.messages = ranks.seconds.tolist(), ranks.messages.tolist()
        self.starts, self.targets = graph.indptr.tolist(), graph.indices.tolist()
        self.before: list[list[int]] = [[] for _ in range(self.n)]
        for i, j in zip(graph.sources().tolist(), self.targets, strict=True):
            self.before[j].append(i)
        self.place = {task: place for place, task in enumerate(reversed(self.order))}
        self.left, self.level, self.next = [True] * self.n, [0.0] * self.n, [-1] * self.n
        for task in reversed(self.order):
            self._set_level(task)
        self.longest = [(-level, task) for task, level in enumerate(self.level)]
        heapify(self.longest)

    def take(self) -> list[int]:
        """Take the longest path out, and return its tasks; none where no task is left."""
        while self.longest:
            level, task = heappop(self.longest)
            if not self.left[task]:
                continue
            if -level != self.level[task]:  # paths only become shorter
                heappush(self.longest, (-self.level[task], task))
            else:
                path = [task]
                while (task := self.next[path[-1]]) >= 0:
                    path.append(task)
                self._drop(path)
                return path
        return []

    def _drop(self, path: list[int]) -> None:
        for task in path:
            self.left[task] = False
        stale: list[tuple[int, int]] = []
        for task in path:
            self._mark(task, stale)
        while stale:
            _, task = heappop(stale)
            before = self.level[task]
            self._set_level(task)
            if self.level[task] != before:
                self._mark(task, stale)

    def _set_level(self, task: int) -> None:
        most, self.next[task] = 0.0, -1
        for edge in range(self.starts[task], self.starts[task + 1]):
            after = self.targets[edge]
            path = self.messages[edge] + self.level[after]
            if self.left[after] and (self.next[task] < 0 or path > most):
                most, self.next[task] = path, after
        self.level[task] = self.seconds[task] + most

    def _mark(self, task: int, stale: list[tuple[int, int]]) -> None:
        """Note the tasks whose longest path leads over one that has changed."""
        for i in self.before[task]:
            if self.left[i] and self.next[i] == task:
                heappush(stale, (self.place[i], i))
