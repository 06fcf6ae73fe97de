"""CPOP: the critical path on one processor (Topcuoglu, Hariri and Wu, Fig. 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities, plan_list, positions
from simsched.policy.planning.draft import fastest_for

#: By how much, relatively, a sum of the same seconds can differ.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Cpop(PlannedPolicy):
    """Critical Path on a Processor: the tasks of the critical path on the executor that runs them fastest.

    Of the ready tasks the one goes first whose longest path from a source to a sink is longest, by mean seconds. Those
    off the critical path go where they finish first. A task may start in an idle time between two that are planned.

    Cost: O(edges + tasks x executors), and the search for idle times.

    References
    ----------
    Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous Computing. IEEE
    TPDS 13(3), 2002, Sec. 4.2.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "cpop")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([1, 1, 1], [0.0, 3.0, 4.0])
    """

    name = "cpop"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        priorities = Priorities(platform)
        through = priorities.b_level + priorities.t_level
        path = critical_path(priorities)
        pinned = np.full(len(through), -1, np.int32)
        pinned[path] = fastest_for(platform, path)
        return plan_list(platform, positions(-through), insertion=True, by_finish=True, pinned=pinned)


def critical_path(priorities: Priorities) -> list[int]:
    """Return the tasks of the longest path, first to last; of several the lower index.

    The next task is one to which an edge of the path leads: one may also be on it by an edge that passes others by.

    Parameters
    ----------
    priorities : Priorities
    """
    graph, level = priorities.platform.successors, priorities.b_level
    if not graph.n:
        return []
    sources = np.flatnonzero(np.bincount(graph.indices, minlength=graph.n) == 0)
    path = [int(sources[level[sources].argmax()])]
    while len(after := graph.neighbours(path[-1])):
        left = priorities.messages[graph.indptr[path[-1]] :][: len(after)] + level[after]
        # Sums of the same seconds may differ in the last bits.
        path.append(int(after[np.minimum(left, left.max() * (1.0 - ROUNDING)).argmax()]))
    return path
