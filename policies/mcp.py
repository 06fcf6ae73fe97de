"""MCP: by latest start, where the task starts first (Wu and Gajski)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.graph.columns import Floats
from simsched.policy import Assignment, Platform
from simsched.policy.planning import OnlineList, Priorities, plan_list, positions
from simsched.policy.pushing import Pushing


@dataclass(frozen=True, kw_only=True)
class Mcp(OnlineList):
    """Modified Critical Path: the task that has to start first goes first, on the executor where it starts first.

    The latest start of a task is the length of the critical path less the longest path from the task to a sink, by
    mean seconds with messages. Ties go by the latest starts of the successors, greatest first. A task may start in an
    idle time between two that are planned, if it fits.

    Cost: O(edges + tasks x executors), and the search for idle times.

    Parameters
    ----------
    online : bool
        Whether tasks are placed when they become ready, as by Estee: where they are expected to start first, with the
        longest of their messages. One that neither runs a task nor can start one counts as free, whatever is in its
        queue: all that is ready at the beginning goes to the first.

    References
    ----------
    Wu, Gajski: Hypertool: A Programming Aid for Message-Passing Systems. IEEE TPDS 1(3), 1990, Sec. 4; as described by
    Kwok, Ahmad: Benchmarking and Comparison of the Task Graph Scheduling Algorithms. JPDC 59(3), 1999. `online`: Estee,
    estee/schedulers/others.py, MCPScheduler.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "mcp")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 0], [0.0, 6.0, 2.0])
    """

    name = "mcp"
    family = "list"

    @property
    def pushing(self) -> Pushing:
        """Choice of an executor by the expected start."""
        return Pushing(aware=True, longest=True, ready=True, by_start=True)

    def order(self, priorities: Priorities) -> Floats:
        """Return the place of each task by its latest start."""
        # Latest starts ascend as the paths to a sink descend, which are not rounded by a subtraction.
        latest = -priorities.b_level
        return positions(latest, successors_order(priorities.platform, latest)).astype(np.float64)

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        position = positions(self.order(Priorities(platform)))
        return plan_list(platform, position, insertion=True, by_finish=False)


def successors_order(platform: Platform, latest: Floats) -> Floats:
    """Return, among tasks of equal latest starts, the place of each by those of its successors, the greatest first.

    Parameters
    ----------
    platform : Platform
    latest : float64 array, shape (n,)
    """
    graph, place = platform.successors, np.zeros(len(latest))
    _, group, sizes = np.unique(latest, return_inverse=True, return_counts=True)
    tied = np.flatnonzero(sizes[group] > 1)
    lists = {task: sorted(latest[graph.neighbours(task)].tolist(), reverse=True) for task in tied.tolist()}
    place[sorted(lists, key=lambda task: (lists[task], task))] = np.arange(len(lists))
    return place
