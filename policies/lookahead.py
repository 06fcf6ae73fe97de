"""Lookahead: HEFT that tries where the children would finish (Bittencourt et al.)."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities, plan_lookahead, positions


@dataclass(frozen=True, kw_only=True)
class Lookahead(PlannedPolicy):
    """HEFT with lookahead: the highest upward rank first, on the executor from which all its children finish first.

    Every executor is tried: the children are placed after the task by HEFT, by their ranks, each where it finishes
    first; the executor is taken from which the last of them ends first. A task without children goes where it
    finishes first.

    Cost: O(edges x executors^2) searches for idle times.

    References
    ----------
    Bittencourt, Sakellariou, Madeira: DAG Scheduling Using a Lookahead Variant of the Heterogeneous Earliest Finish
    Time Algorithm. PDP 2010, Sec. III.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "lookahead")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "lookahead"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_lookahead(platform, positions(-Priorities(platform).b_level))
