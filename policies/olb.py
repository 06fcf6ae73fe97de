"""OLB: each task on the executor that is free first, whatever it takes there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning.draft import Draft, Idle


@dataclass(frozen=True, kw_only=True)
class Olb(PlannedPolicy):
    """Opportunistic Load Balancing: each task on the executor that is free first, whatever it takes there.

    An executor is free when it has done all that is planned on it; of several, the lowest-numbered. Neither seconds
    nor messages of the task count. Of the ready tasks the one of the lowest index goes first; SAGA takes another
    order in which each task comes after those that it waits for.

    Cost: O(edges + tasks log executors).

    References
    ----------
    Braun et al.: A Comparison of Eleven Static Heuristics for Mapping a Class of Independent Tasks onto Heterogeneous
    Distributed Computing Systems. JPDC 61(6), 2001, Sec. 3; for graphs SAGA, src/saga/schedulers/olb.py.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "olb")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 1, 0], [0.0, 7.0, 2.0])
    """

    name = "olb"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        draft = Draft(platform, insertion=False)
        idle = Idle(draft)
        for task in draft.by_position(np.arange(platform.successors.n, dtype=np.int32)):
            executor = idle.first_for(task)
            draft.place(task, executor, draft.start_on(task, executor))
        return draft.assignment()
