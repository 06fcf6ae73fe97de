"""`plan_list`, list scheduling: the task of the highest priority first; `plan_clusters`: clusters on executors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Index
from simsched.graph.columns import Floats
from simsched.native import find
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.compiled import assignment, bound, flat
from simsched.policy.planning.draft import Draft, best
from simsched.policy.planning.priorities import Priorities, positions
from simsched.policy.platform import Platform


def plan_list(
    platform: Platform,
    position: Index,
    *,
    insertion: bool,
    by_finish: bool,
    extra: npt.NDArray[np.float64] | None = None,
    pinned: Index | None = None,
) -> Assignment:
    """Return the plan of a list scheduler.

    Of the ready tasks the one of the lowest position is placed, on the executor of its lowest score: the start or the
    finish there, and `extra`; of equal scores the lowest-numbered executor.

    Parameters
    ----------
    platform : Platform
    position : int32 array, shape (n,)
        Permutation: place of each task in the list.
    insertion : bool
        Whether tasks may start in idle time before tasks that are placed.
    by_finish : bool
        Whether the score is the finish, or the start.
    extra : float64 array, shape (n, kinds), optional
        Seconds that count on each kind of core besides.
    pinned : int32 array, shape (n,), optional
        Executor that has to run each task, or -1.

    Returns
    -------
    Assignment

    Examples
    --------
    Three tasks by their indices, each where it starts first:

    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_list, positions
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 1.0], [(0, 1)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> plan = plan_list(platform, positions([0, 1, 2]), insertion=False, by_finish=False)
    >>> plan.executor.tolist(), plan.order.tolist()
    ([0, 0, 1], [2, 0, 1])
    """
    native = find()
    if native is None:
        return _plan_in_python(platform, position, insertion, by_finish, extra, pinned)
    extras = np.empty(0) if extra is None else flat(extra)
    pins = np.empty(0, np.int32) if pinned is None else pinned
    found = native.plan_list(bound(native, platform), position, insertion, by_finish, extras, pins)
    return assignment(found)


def _plan_in_python(
    platform: Platform,
    position: Index,
    insertion: bool,
    by_finish: bool,
    extra: npt.NDArray[np.float64] | None,
    pinned: Index | None,
) -> Assignment:
    draft = Draft(platform, insertion)
    for task in draft.by_position(position):
        starts = draft.starts(task, draft.arrivals(task))
        scores = starts + platform.seconds(task) if by_finish else starts
        if extra is not None:
            scores = scores + extra[task, platform.kind_of]
        pin = -1 if pinned is None else int(pinned[task])
        executor = best(scores) if pin < 0 else pin
        draft.place(task, executor, float(starts[executor]))
    return draft.assignment()


def plan_clusters(platform: Platform, cluster: Index, start: Floats | None = None) -> Assignment:
    """Return the plan of clusters, each on one executor.

    The cluster of the most seconds goes first, to the executor where all that it has is done first. Where several
    share an executor, tasks go by their b-levels, the highest of the ready ones first, also in idle times between
    others; where none do, by `start`, if it is given.

    Parameters
    ----------
    platform : Platform
    cluster : int32 array, shape (n,)
        Cluster of each task; all numbers from 0 to the greatest are used.
    start : float64 array, shape (n,), optional
        When each task starts if each cluster has an executor of its own.

    Returns
    -------
    Assignment

    References
    ----------
    Yang, Gerasoulis: PYRROS: Static Task Scheduling and Code Generation for Message Passing Multiprocessors. ICS 1992,
    Sec. 4 (merging clusters by load, ordering tasks by critical path).

    Examples
    --------
    Three clusters on two executors:

    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_clusters
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 4.0, 1.0], [(0, 1)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> plan_clusters(platform, np.array([0, 0, 1, 2], np.int32)).executor.tolist()
    [0, 0, 1, 1]
    """
    executors = _executors(platform, cluster)
    shared = len(np.unique(executors)) < len(executors)
    by_start = start is not None and not shared
    position = positions(start if start is not None and not shared else -Priorities(platform).b_level)
    pinned = executors[cluster]
    return plan_list(platform, position, insertion=not by_start, by_finish=True, pinned=pinned)


def _executors(platform: Platform, cluster: Index) -> Index:
    """Return the executor of each cluster."""
    kinds, n = platform.kind_seconds.shape[1], int(cluster.max(initial=-1)) + 1
    seconds = np.zeros((n, kinds))
    for kind in range(kinds if n else 0):
        seconds[:, kind] = np.bincount(cluster, platform.kind_seconds[:, kind], n)
    busy, executors = np.zeros(platform.n_executors), np.zeros(n, np.int32)
    for one in np.argsort(-Priorities(platform).summed(seconds), kind="stable").tolist():
        done = busy + seconds[one, platform.kind_of]
        executors[one] = best = int(done.argmin())
        busy[best] = done[best]
    return executors
