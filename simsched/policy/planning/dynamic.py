"""`plan_dynamic`: DPS: tasks by their level less their t-level, as far as tasks are placed."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from simsched.native import find
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.compiled import assignment, bound
from simsched.policy.planning.draft import Draft, best
from simsched.policy.planning.priorities import Priorities
from simsched.policy.platform import Platform


def plan_dynamic(platform: Platform) -> Assignment:
    """Return the plan by dynamic priorities (`dps`).

    Parameters
    ----------
    platform : Platform

    Returns
    -------
    Assignment

    Examples
    --------
    The longest path first, then the task that is ready and not the one after the first:

    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_dynamic
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 1.0], [(0, 1)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> plan_dynamic(platform).executor.tolist()
    [0, 0, 1]
    """
    priorities = Priorities(platform)
    if (native := find()) is not None:
        found = native.plan_dynamic(bound(native, platform), priorities.b_level, priorities.messages)
        return assignment(found)
    return _plan_in_python(platform, priorities.b_level.tolist(), priorities.messages.tolist())


def _plan_in_python(platform: Platform, level: list[float], messages: list[float]) -> Assignment:
    draft, p = Draft(platform, insertion=True), platform.n_executors
    ready = [(-level[task], task) for task, waiting in enumerate(draft.waiting) if not waiting]
    heapify(ready)
    after = np.zeros(len(level)).tolist()
    while ready:
        _, task = heappop(ready)
        starts = draft.starts(task, draft.arrivals(task))
        executor = best(starts + platform.seconds(task))
        draft.place(task, executor, float(starts[executor]))
        paths = (
            after[before] + p * platform.message_s(edge, draft.executor[before], executor)
            for before, edge in draft.inputs[task]
        )
        after[task] = max(paths, default=0.0) + p * float(platform.seconds(task)[executor])
        for other in draft.released(task):
            top = max(after[before] + messages[edge] for before, edge in draft.inputs[other])
            heappush(ready, (top - level[other], other))
    return draft.assignment()
