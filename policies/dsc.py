"""DSC: dominant sequence clustering (Yang and Gerasoulis)."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from simsched.graph.adjacency import Index
from simsched.graph.columns import Floats
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities, plan_clusters


@dataclass(frozen=True, kw_only=True)
class Dsc(PlannedPolicy):
    """Dominant Sequence Clustering: tasks on the longest path join the cluster from which they start first.

    Every task begins in a cluster of its own. Tasks are examined, each after its predecessors, by the longest path
    through them, which is the dominant sequence. A task joins the cluster of the predecessor whose data arrive last, if
    it then starts earlier; other predecessors come along, if that helps, and nobody else waits for them. Where the
    dominant sequence goes through a task that still waits for predecessors, and its start can be reduced, no other task
    may join the cluster that reduces it.

    Clusters are for any number of processors. With as many executors, each has its own, in the order of the clustering.
    With fewer, the clusters of the most mean seconds go first, each to the executor that is done first, and tasks by
    their longest paths to a sink, as in PYRROS.

    Cost: O((tasks + edges) log(tasks) + clusters x executors).

    References
    ----------
    Yang, Gerasoulis: DSC: Scheduling Parallel Tasks on an Unbounded Number of Processors. IEEE TPDS 5(9), 1994, Sec. 4.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "dsc")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([1, 1, 0], [0.0, 3.0, 4.0])
    """

    name = "dsc"
    family = "clustering"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        cluster, start = dominant_sequences(platform)
        return plan_clusters(platform, cluster, start)


def dominant_sequences(platform: Platform) -> tuple[Index, Floats]:
    """Return the cluster of each task, and its start with an executor for each cluster, in multiples of mean seconds.

    Of tasks and arrivals that are equal, the lower index goes first.
    """
    clusters = _Clusters(platform)
    while (task := clusters.next()) >= 0:
        clusters.examine(task)
    _, cluster = np.unique(np.array(clusters.cluster, np.int32), return_inverse=True)
    return cluster.astype(np.int32), np.array(clusters.start, np.float64)


class _Clusters:
    """Examined tasks in their clusters, and the starts of these and of those that wait for them."""

    def __init__(self, platform: Platform) -> None:
        ranks, graph = Priorities(platform), platform.successors
        n = graph.n
        self.seconds, self.level = ranks.seconds.tolist(), ranks.b_level.tolist()
        self.after: list[list[tuple[int, float]]] = [[] for _ in range(n)]
        self.before: list[list[tuple[int, float]]] = [[] for _ in range(n)]
        columns = graph.sources().tolist(), graph.indices.tolist(), ranks.messages.tolist()
        for i, j, message in zip(*columns, strict=True):
            self.after[i].append((j, message))
            self.before[j].append((i, message))
        self.waiting = [len(before) for before in self.before]
        self.start, self.cluster = [0.0] * n, [-1] * n
        self.last = [-1] * n  # the predecessor whose data arrive last
        self.members: list[list[int]] = []
        self.free: list[tuple[float, int]] = []  # heaps, by the longest path through a task
        self.partly_free: list[tuple[float, int]] = []
        for task, count in enumerate(self.waiting):
            if not count:
                heappush(self.free, (-self.level[task], task))

    def next(self) -> int:
        """Return the free task on the longest path; -1 where there is none."""
        return heappop(self.free)[1] if self.free else -1

    def examine(self, task: int) -> None:
        """Put a task into a cluster, and release its successors."""
        frozen = self._frozen(self.start[task] + self.level[task])
        joined = self._joined(task, frozen) if self.before[task] else None
        if joined is None:
            self.cluster[task] = len(self.members)
            self.members.append([task])
        else:
            target, companions, self.start[task] = joined
            for one, start in companions:
                self.members[self.cluster[one]].remove(one)
                self._enter(one, target, start)
            self._enter(task, target, self.start[task])
        end = self._end(task)
        for after, message in self.after[task]:
            self._arrive(after, task, end + message)

    def _arrive(self, task: int, sender: int, at: float) -> None:
        """Note when the data of an examined predecessor are at a task."""
        self.waiting[task] -= 1
        if self.last[task] < 0 or at > self.start[task]:
            self.start[task], self.last[task] = at, sender
        heap = self.partly_free if self.waiting[task] else self.free
        heappush(heap, (-(self.start[task] + self.level[task]), task))

    def _frozen(self, priority: float) -> int:
        """Return the cluster that nobody may join, so that the start of a partly free task stays reducible; or -1."""
        while self.partly_free:
            path, task = self.partly_free[0]
            if self.waiting[task] and -path == self.start[task] + self.level[task]:
                cluster = self.cluster[self.last[task]]
                reducible = self._end(self.members[cluster][-1]) < self.start[task]
                return cluster if -path > priority and reducible else -1
            heappop(self.partly_free)
        return -1

    def _joined(self, task: int, frozen: int) -> tuple[int, list[tuple[int, float]], float] | None:
        """Return the cluster to join, companions and their starts there, and the task's; None where none is earlier."""
        arrivals = sorted((-(self._end(one) + message), one) for one, message in self.before[task])
        target = self.cluster[arrivals[0][1]]
        if target == frozen:
            return None
        others = [(one, -at) for at, one in arrivals if self.cluster[one] != target]
        movable = next((k for k, (one, _) in enumerate(others) if len(self.after[one]) > 1), len(others))
        free = self._end(self.members[target][-1])
        ready = {one: self._ready_in(one, target) for one, _ in others[:movable]}

        def trial(count: int) -> tuple[float, list[tuple[int, float]], float]:
            """Return the end of the cluster with so many companions, their starts, and when other data arrive."""
            end, starts = free, []
            for one in sorted((one for one, _ in others[:count]), key=lambda one: (ready[one], one)):
                starts.append((one, max(end, ready[one])))
                end = starts[-1][1] + self.seconds[one]
            return end, starts, others[count][1] if count < len(others) else 0.0

        # More companions end later, and spare later arrivals: the best number is where the two meet.
        low, high = 0, movable
        while low < high:
            middle = (low + high) // 2
            end, _, arrival = trial(middle)
            low, high = (low, middle) if end >= arrival else (middle + 1, high)
        found = [trial(count) for count in range(max(low - 1, 0), low + 1)]
        end, starts, arrival = min(found, key=lambda one: max(one[0], one[2]))
        return (target, starts, max(end, arrival)) if max(end, arrival) < self.start[task] else None

    def _ready_in(self, task: int, cluster: int) -> float:
        """Return when the data of a task are in a cluster."""
        ends = (
            self._end(one) + (0.0 if self.cluster[one] == cluster else message)
            for one, message in self.before[task]
        )
        return max(ends, default=0.0)

    def _end(self, task: int) -> float:
        return float(self.start[task] + self.seconds[task])

    def _enter(self, task: int, cluster: int, start: float) -> None:
        self.cluster[task], self.start[task] = cluster, start
        self.members[cluster].append(task)
