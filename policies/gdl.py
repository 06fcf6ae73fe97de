"""GDL: the highest global dynamic level (Sih and Lee)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.graph.taskgraph import Seconds
from simsched.policies.dls import medians
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities, plan_pairs


@dataclass(frozen=True, kw_only=True)
class Gdl(PlannedPolicy):
    """Generalized Dynamic Level: DLS that looks at one child, and at what a task loses elsewhere.

    To the dynamic level of `dls` is added how much faster than its median the child can be done that gets most
    bytes (of several, the lowest index): there, or on another executor after its message. Of the ready tasks the
    one goes first whose level, on the executor where it is highest, plus what it is above that on the second-best,
    is highest; it goes there. A task starts after all that is planned on its executor.

    SAGA differs: it takes the executor of the lowest level and the task of the lowest sum, the median of all tasks'
    seconds in place of the task's, and static levels that count the bytes of edges as seconds.

    Cost: O(tasks x ready tasks + edges x executors + tasks x executors^2).

    References
    ----------
    Sih, Lee: A Compile-Time Scheduling Heuristic for Interconnection-Constrained Heterogeneous Processor Architectures.
    IEEE TPDS 4(2), 1993, Sec. IV: descendant consideration, resource scarcity.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "gdl")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([1, 1, 1], [0.0, 3.0, 4.0])
    """

    name = "gdl"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        seconds, median, p = platform.kind_seconds, medians(platform), platform.n_executors
        level = Priorities(platform).level_of(median)
        extra = seconds[:, platform.kind_of] - median[:, None] - gains(platform, median)
        executors = np.arange(p, dtype=np.int32)
        return plan_pairs(platform, "global", extra=extra, level=level, column_of=executors)


def gains(platform: Platform, median: Seconds) -> npt.NDArray[np.float64]:
    """Return how much less than its median seconds the child of each task that gets most bytes takes, by executor.

    Parameters
    ----------
    platform : Platform
    median : float64 array, shape (n,)
        Median seconds of each task over the executors.

    Returns
    -------
    float64 array, shape (n, executors)
        0 for tasks without children.
    """
    tasks, edges = _main_edges(platform)
    child, size_B = platform.successors.indices[edges], platform.edge_bytes[edges]
    seconds = np.ascontiguousarray(platform.kind_seconds[child].T)
    found = np.zeros((platform.successors.n, platform.n_executors))
    for here, (kind, place) in enumerate(zip(platform.kind_of, platform.place_of, strict=True)):
        least = seconds[kind]
        to = platform.place_of
        ways = np.column_stack([platform.latency_s[place, to], platform.s_per_B[place, to], platform.kind_of])
        # Executors of a kind that messages reach alike are one.
        for latency_s, s_per_B, other in np.unique(np.delete(ways, here, axis=0), axis=0):
            least = np.minimum(least, latency_s + size_B * s_per_B + seconds[int(other)])
        found[tasks, here] = median[child] - least
    return found


def _main_edges(platform: Platform) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the tasks that have successors, and of each the edge of most bytes, to the lowest index."""
    sources = platform.successors.sources()
    order = np.lexsort((platform.successors.indices, -platform.edge_bytes, sources))
    tasks, first = np.unique(sources[order], return_index=True)
    return tasks.astype(np.int64), order[first]
