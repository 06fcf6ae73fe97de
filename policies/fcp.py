"""FCP: the longest path to a sink first, on one of two executors (Radulescu and van Gemund)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities
from simsched.policy.planning.draft import Draft, Idle


@dataclass(frozen=True, kw_only=True)
class Fcp(PlannedPolicy):
    """Fast Critical Path: the highest b-level, messages included, first, on one of two executors.

    As many ready tasks as there are executors are kept sorted by their b-levels, of mean seconds and messages;
    others wait in a queue, first come, first served. A task goes to the executor that is free first or to the one
    that sends its last message, by mean seconds of messages: where it starts first, after all that is planned
    there, and to the former if both are equal.

    SAGA takes the executor of the predecessor that ends last for the second one, and levels of the mean speed and
    the mean bandwidth.

    Cost: O(tasks log executors + edges).

    References
    ----------
    Radulescu, van Gemund: On the Complexity of List Scheduling Algorithms for Distributed-Memory Systems. ICS 1999.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "fcp")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 0], [0.0, 6.0, 2.0])
    """

    name = "fcp"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        draft = Draft(platform, insertion=False)
        idle, level = Idle(draft), Priorities(platform).b_level.tolist()
        ready: list[tuple[float, int]] = []
        later = deque(task for task, waiting in enumerate(draft.waiting) if not waiting)
        while later or ready:
            while later and len(ready) < platform.n_executors:
                task = later.popleft()
                heappush(ready, (-level[task], task))
            _, task = heappop(ready)
            start, executor = _first_start(draft, task, idle.first_for(task))
            draft.place(task, executor, start)
            later.extend(draft.released(task))
        return draft.assignment()


def _first_start(draft: Draft, task: int, free: int) -> tuple[float, int]:
    """Return the start of a task, and its executor: that which is free first, or the sender of its last message."""
    _, sender = draft.enabling(task)
    executors = [free] if sender in (-1, free) else [free, sender]
    starts = [draft.start_on(task, executor) for executor in executors]
    return min(starts), executors[starts.index(min(starts))]
