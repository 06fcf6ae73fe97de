"""DPS: the task whose b-level is most above its t-level (Ahmad, Dhodhi and Ul-Mustafa)."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import plan_dynamic


@dataclass(frozen=True, kw_only=True)
class Dps(PlannedPolicy):
    """Dynamic Priority Scheduling: the highest b-level less t-level first, where the task finishes first.

    Levels are the longest paths to a sink, the task included, and from a source to the task: of the seconds and
    messages of tasks that are placed, where they are, and of mean ones of others. So the priority of a ready task is
    known when its last predecessor is placed. A task may start in an idle time between two that are planned, if it
    fits.

    SAGA takes bytes for the seconds of messages, unless both tasks are placed.

    Cost: O(edges + tasks x executors + tasks log tasks), and the search for idle times.

    References
    ----------
    Ahmad, Dhodhi, Ul-Mustafa: DPS: Dynamic Priority Scheduling Heuristic for Heterogeneous Computing Systems. IEE
    Proceedings - Computers and Digital Techniques 145(6), 1998; details from SAGA, src/saga/schedulers/dps.py.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "dps")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "dps"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_dynamic(platform)
