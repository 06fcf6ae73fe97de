"""Duplex: the shorter one of two plans, of min-min and of max-min."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policies.max_min import MaxMin
from simsched.policies.min_min import MinMin
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning.draft import planned_end


@dataclass(frozen=True, kw_only=True)
class Duplex(PlannedPolicy):
    """Duplex: what `min-min` and `max-min` plan, the shorter one of both.

    Of equal ones that of `min-min`.

    Cost: that of both, O(tasks x ready tasks + edges x executors).

    References
    ----------
    Braun et al.: A Comparison of Eleven Static Heuristics for Mapping a Class of Independent Tasks onto Heterogeneous
    Distributed Computing Systems. JPDC 61(6), 2001, Sec. 3; for graphs SAGA, src/saga/schedulers/duplex.py.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "duplex")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "duplex"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        plans = (policy.plan(platform, seed) for policy in (MinMin(), MaxMin()))
        return min(plans, key=lambda plan: planned_end(platform, plan))
