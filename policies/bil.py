"""BIL: the best imaginary makespan (Oh and Ha)."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import plan_imaginary


@dataclass(frozen=True, kw_only=True)
class Bil(PlannedPolicy):
    """Best Imaginary Level: the task that would end last if it got its k-th best executor, where all may end first.

    The level of a task on an executor is the path from there to the end, if each successor stays or goes on where
    it is best after a mean message (that of `peft`, and the task's own seconds); with the time when the executor
    has done all that is planned on it, it is the task's makespan there. Of k ready tasks the one goes first whose
    k-th least makespan (the greatest, on fewer executors) is greatest; of several, that whose next smaller one is;
    then the lowest index. It goes where its makespan is least, plus its seconds there times k over the executors
    less 1, if that is above 0; of several executors, where the other ready tasks have most of that together; then
    to the lowest-numbered.

    When data arrive on an executor counts when the task is placed there, and not in these makespans. SAGA reads the
    paper so, whose text was not at hand.

    SAGA differs: it counts tasks for executors in the last factor, so that it is always 0, starts with the greatest
    makespan for any k, and of several executors takes that of the least makespan.

    Cost: O(tasks x ready tasks + edges x executors).

    References
    ----------
    Oh, Ha: A Static Scheduling Heuristic for Heterogeneous Processors. Euro-Par 1996.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "bil")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "bil"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_imaginary(platform)
