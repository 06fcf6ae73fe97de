"""MCT: each task where it finishes first, in the order of the program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import plan_list


@dataclass(frozen=True, kw_only=True)
class Mct(PlannedPolicy):
    """Minimum Completion Time: tasks in the order of their indices, each on the executor where it finishes first.

    Of the ready tasks the one of the lowest index is placed, after all that is planned on its executor. SAGA takes
    tasks in another order in which each comes after those that it waits for.

    Cost: O(edges + tasks x executors).

    References
    ----------
    Braun et al.: A Comparison of Eleven Static Heuristics for Mapping a Class of Independent Tasks onto Heterogeneous
    Distributed Computing Systems. JPDC 61(6), 2001, Sec. 3; for graphs SAGA, src/saga/schedulers/mct.py.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "mct")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "mct"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        position = np.arange(platform.successors.n, dtype=np.int32)
        return plan_list(platform, position, insertion=False, by_finish=True)
