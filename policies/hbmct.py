"""HBMCT: independent tasks together, balanced between executors (Sakellariou and Zhao)."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import plan_groups


@dataclass(frozen=True, kw_only=True)
class Hbmct(PlannedPolicy):
    """Hybrid Balanced Minimum Completion Time: groups of independent tasks, moved from the executor that ends last.

    Tasks in descending order of their b-levels, of mean seconds and messages, are cut into groups: one that waits
    for a task of the group begins the next. Of a group, each task first gets the executor where it takes least; an
    executor runs its tasks by their earliest starts there: when their data arrive and the groups before have ended.
    Then, again and again, the tasks of the executor that ends last are tried in ascending order of their mean
    earliest starts. The first that another executor can run, in its place there, and end earlier than that goes where
    that end is earliest. The group is done when there is none. Of equals the lowest-numbered executor is taken, and
    the task that comes first in the list.

    SAGA lets a moved task run after all others of its group.

    Cost: O(edges + tasks x executors) and, for each move, as much as the tasks of the group that executors have.

    References
    ----------
    Sakellariou, Zhao: A Hybrid Heuristic for DAG Scheduling on Heterogeneous Systems. HCW, IPDPS 2004; details from
    SAGA, src/saga/schedulers/hbmct.py.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "hbmct")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "hbmct"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_groups(platform)
