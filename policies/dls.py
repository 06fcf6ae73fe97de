"""DLS: the pair of the highest dynamic level (Sih and Lee)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.graph.taskgraph import Seconds
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities, plan_pairs


@dataclass(frozen=True, kw_only=True)
class Dls(PlannedPolicy):
    """Dynamic Level Scheduling: of all ready tasks and executors, the pair of the highest dynamic level.

    The dynamic level is the static level less the start there, plus the median of the task's seconds over the executors
    less those there. The static level is the longest path to a sink, of median seconds, without messages. A task starts
    after all that is planned on its executor.

    Cost: O(tasks x ready tasks + edges x executors).

    Parameters
    ----------
    messages : bool
        Whether static levels count mean seconds of messages, too, as the simulator DSLab has it.

    References
    ----------
    Sih, Lee: A Compile-Time Scheduling Heuristic for Interconnection-Constrained Heterogeneous Processor Architectures.
    IEEE TPDS 4(2), 1993, Sec. III and IV.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "dls")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "dls"
    family = "list"

    messages: bool = False

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        seconds, median = platform.kind_seconds, medians(platform)
        level = Priorities(platform).level_of(median, platform.mean_message_s if self.messages else None)
        return plan_pairs(platform, "level", extra=seconds - median[:, None], level=level)


def medians(platform: Platform) -> Seconds:
    """Return the median seconds of each task over the executors, shape (n,).

    Parameters
    ----------
    platform : Platform
    """
    seconds, p = platform.kind_seconds, platform.n_executors
    order = np.argsort(seconds, axis=1, kind="stable")
    counts = np.bincount(platform.kind_of, minlength=seconds.shape[1])
    upto = np.cumsum(counts[order], axis=1)
    middle = [(upto > place).argmax(axis=1)[:, None] for place in ((p - 1) // 2, p // 2)]
    low, high = (np.take_along_axis(seconds, np.take_along_axis(order, at, axis=1), axis=1) for at in middle)
    return np.asarray((low[:, 0] + high[:, 0]) / 2.0)
