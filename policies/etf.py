"""ETF: the earliest start of all (Hwang, Chow, Anger and Lee)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.graph.columns import Floats
from simsched.policy import Assignment, Platform
from simsched.policy.planning import OnlineList, Priorities, plan_pairs
from simsched.policy.pushing import Pushing


@dataclass(frozen=True, kw_only=True)
class Etf(OnlineList):
    """Earliest Task First: of all ready tasks and executors, the pair of the earliest start.

    Of several, the task of the highest static level: the longest path to a sink, of mean seconds, without messages. A
    task starts after all that is planned on its executor.

    Cost: O(tasks x ready tasks + edges x executors).

    Parameters
    ----------
    online : bool
        Whether tasks are placed when they become ready, as by Estee: where they are expected to start first, with the
        longest of their messages. One that neither runs a task nor can start one counts as free, whatever is in its
        queue: all that is ready at the beginning goes to the first.

    References
    ----------
    Hwang, Chow, Anger, Lee: Scheduling Precedence Graphs in Systems with Interprocessor Communication Times. SIAM J.
    Computing 18(2), 1989. `online`: Estee, estee/schedulers/others.py, ETFScheduler.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "etf")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 0], [0.0, 6.0, 2.0])
    """

    name = "etf"
    family = "list"

    @property
    def pushing(self) -> Pushing:
        """Choice of an executor by the expected start."""
        return Pushing(aware=True, longest=True, ready=True, by_start=True, pairs=True)

    def order(self, priorities: Priorities) -> Floats:
        """Return a number for each task: of several that can start first, the lowest goes first."""
        return -priorities.static_level

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        level = Priorities(platform).static_level
        return plan_pairs(
            platform, "least", extra=np.where(np.isinf(platform.kind_seconds), np.inf, 0.0), level=level
        )
