"""`plan_list`: list scheduling: the ready task of the highest priority first, on its best executor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Index
from simsched.native import find
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.compiled import assignment, bound, flat
from simsched.policy.planning.draft import Draft, best
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
