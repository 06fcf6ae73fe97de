"""DLS: the pair of the highest dynamic level (Sih and Lee)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.graph.columns import Floats
from simsched.graph.taskgraph import Seconds
from simsched.policy import Assignment, Platform
from simsched.policy.planning import OnlineList, Priorities, plan_pairs
from simsched.policy.pushing import Pushing


@dataclass(frozen=True, kw_only=True)
class Dls(OnlineList):
    """Dynamic Level Scheduling: of all ready tasks and executors, the pair of the highest dynamic level.

    The dynamic level is the static level less the start there, plus the median of the task's seconds over the executors
    less those there. The static level is the longest path to a sink, of median seconds, without messages. Of several
    tasks, the one of the highest static level goes first. A task starts after all that is planned on its executor.

    Cost: O(tasks x ready tasks + edges x executors).

    Parameters
    ----------
    messages : bool
        Whether static levels count mean seconds of messages, too, as the simulator DSLab has it.
    online : bool
        Whether tasks are placed when they become ready, as by Estee: of those that do together, first the one whose
        static level less its earliest expected start is greatest; each where it is expected to start first, with the
        longest of its messages. An executor that neither runs a task nor can start one counts as free, whatever is in
        its queue: all that is ready at the beginning goes to the first. Seconds that differ by executor do not count.

    References
    ----------
    Sih, Lee: A Compile-Time Scheduling Heuristic for Interconnection-Constrained Heterogeneous Processor Architectures.
    IEEE TPDS 4(2), 1993, Sec. III and IV. `online`: Estee, estee/schedulers/others.py, DLSScheduler.

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

    @property
    def pushing(self) -> Pushing:
        """Choice of an executor by the expected start."""
        return Pushing(aware=True, longest=True, ready=True, by_start=True, pairs=True, levels=True)

    def order(self, priorities: Priorities) -> Floats:
        """Return the static level of each task, negative."""
        platform = priorities.platform
        return -priorities.level_of(medians(platform), platform.mean_message_s if self.messages else None)

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        extra = platform.kind_seconds - medians(platform)[:, None]
        return plan_pairs(platform, "level", extra=extra, level=-self.order(Priorities(platform)))


def medians(platform: Platform) -> Seconds:
    """Return the median seconds of each task over the executors that can run it, shape (n,).

    Parameters
    ----------
    platform : Platform
    """
    seconds = platform.kind_seconds
    order = np.argsort(seconds, axis=1, kind="stable")
    counts = np.bincount(platform.kind_of, minlength=seconds.shape[1])
    upto = np.cumsum(counts[order], axis=1)
    able = (np.isfinite(seconds) @ counts)[:, None]
    middle = [(upto > place).argmax(axis=1)[:, None] for place in ((able - 1) // 2, able // 2)]
    low, high = (np.take_along_axis(seconds, np.take_along_axis(order, at, axis=1), axis=1) for at in middle)
    return np.asarray((low[:, 0] + high[:, 0]) / 2.0)
