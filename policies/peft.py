"""PEFT: HEFT with a look at the whole rest of the graph (Arabnejad and Barbosa)."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities, plan_list, positions


@dataclass(frozen=True, kw_only=True)
class Peft(PlannedPolicy):
    """Predict Earliest Finish Time: the ready task with the most ahead, where it and the rest may end first.

    The optimistic cost of a task on an executor is the least time from its end there to the end of the graph, if every
    executor were free. Ready tasks go by its mean over the executors, and each to the one of the least finish plus
    optimistic cost. A task may start in an idle time between two that are planned, if it fits.

    Cost: O(edges x kinds of cores + tasks x executors), and the search for idle times.

    References
    ----------
    Arabnejad, Barbosa: List Scheduling Algorithm for Heterogeneous Systems by an Optimistic Cost Table. IEEE TPDS
    25(3), 2014, Sec. 4.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "peft")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "peft"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        priorities = Priorities(platform)
        table = priorities.optimistic_costs
        position = positions(-priorities.summed(table))
        return plan_list(platform, position, insertion=True, by_finish=True, extra=table)
