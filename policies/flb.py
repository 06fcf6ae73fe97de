"""FLB: the earliest start of two candidates (Radulescu and van Gemund)."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import plan_balanced


@dataclass(frozen=True, kw_only=True)
class Flb(PlannedPolicy):
    """Fast Load Balancing: of two pairs of a ready task and an executor, the one that starts first.

    A task whose last message arrives after its sender is free, by mean seconds of messages, is that executor's own.
    The first pair is the executor whose own task can start first, and that task; the second is of the tasks that
    are nobody's the one whose last message arrives first, on the executor that is free first. Where both start
    together, the second is taken, whose messages pass while executors are busy. Ties go to the highest b-level,
    then to the lowest index.

    SAGA takes the first pair where both start together, and does not look at levels.

    Cost: O(tasks log (tasks x executors) + edges).

    References
    ----------
    Radulescu, van Gemund: FLB: Fast Load Balancing for Distributed-Memory Machines. ICPP 1999.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "flb")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 0], [0.0, 6.0, 2.0])
    """

    name = "flb"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_balanced(platform)
