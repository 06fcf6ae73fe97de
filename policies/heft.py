"""HEFT: by upward rank, where the task finishes first (Topcuoglu, Hariri and Wu, Fig. 4)."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities, plan_list, positions


@dataclass(frozen=True, kw_only=True)
class Heft(PlannedPolicy):
    """Heterogeneous Earliest Finish Time: the highest upward rank first, on the executor where the task finishes first.

    The upward rank is the longest path to a sink: of mean seconds over the executors, and for messages of the mean
    latency, and their bytes over the mean bandwidth, of all pairs. A task may start in an idle time between two
    that are planned, if it fits.

    Cost: O(edges + tasks x executors), and the search for idle times.

    References
    ----------
    Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous Computing. IEEE
    TPDS 13(3), 2002, Sec. 4.1.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "heft")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "heft"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_list(platform, positions(-Priorities(platform).b_level), insertion=True, by_finish=True)
