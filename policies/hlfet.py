"""HLFET: list scheduling by static level (Adam, Chandy and Dickson)."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.graph.columns import Floats
from simsched.policy import Assignment, Platform
from simsched.policy.planning import OnlineList, Priorities, plan_list, positions
from simsched.policy.pushing import Pushing


@dataclass(frozen=True, kw_only=True)
class Hlfet(OnlineList):
    """Highest Level First with Estimated Times: the highest static level first, where the task starts first.

    The static level is the longest path to a sink, of mean seconds over the executors, without messages.
    A task starts after all that is planned on its executor.

    Cost: O(edges + tasks x executors).

    Parameters
    ----------
    online : bool
        Whether tasks are placed when they become ready, as by Estee: where the longest message of what they miss is
        shortest, on the lowest-numbered of several executors, whatever waits there.

    References
    ----------
    Adam, Chandy, Dickson: A Comparison of List Schedules for Parallel Processing Systems. CACM 17(12), 1974; with
    messages as in Kwok, Ahmad: Static Scheduling Algorithms for Allocating Directed Task Graphs to Multiprocessors. ACM
    Computing Surveys 31(4), 1999, Sec. 7. `online`: Estee, estee/schedulers/others.py, BlevelScheduler.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "hlfet")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 0], [0.0, 6.0, 2.0])
    """

    name = "hlfet"
    family = "list"

    @property
    def pushing(self) -> Pushing:
        """Choice of an executor by the longest message to it."""
        return Pushing(alpha=0.0, beta=1.0, aware=True, longest=True)

    def order(self, priorities: Priorities) -> Floats:
        """Return a number for each task: the lowest goes first."""
        return -priorities.static_level

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        position = positions(self.order(Priorities(platform)))
        return plan_list(platform, position, insertion=False, by_finish=False)
