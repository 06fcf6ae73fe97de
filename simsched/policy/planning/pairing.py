"""`plan_pairs`: of all ready tasks and executors, the pair that a rule prefers, again and again."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Index
from simsched.graph.columns import Floats
from simsched.native import find
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.compiled import assignment, bound, flat
from simsched.policy.planning.draft import Draft, best
from simsched.policy.platform import Platform

#: Which ready task goes first: of the least cost, the most level less cost, the greatest least cost, the one whose
#: second-best executor costs most more than its best, or the most level less cost and that loss together.
Rule = Literal["least", "level", "greatest", "sufferage", "global"]


def plan_pairs(
    platform: Platform,
    rule: Rule,
    *,
    extra: npt.NDArray[np.float64],
    level: Floats | None = None,
    batched: bool = False,
    column_of: Index | None = None,
) -> Assignment:
    """Return the plan of a scheduler that compares ready tasks on all executors before each placement.

    A task costs, on an executor, its start after all that is placed there, and `extra`; its executor is the one of the
    least cost, the lowest-numbered of several. Of tasks that are equal by the rule, one of a higher level goes first,
    then one of a lower index.

    Parameters
    ----------
    platform : Platform
    rule : {"least", "level", "greatest", "sufferage", "global"}
    extra : float64 array, shape (n, columns)
        Seconds that each kind of core, or what `column_of` says, adds to the start.
    level : float64 array, shape (n,), optional
    batched : bool
        Whether tasks that become ready wait until all that were ready before are placed.
    column_of : int32 array, shape (executors,), optional
        Column of `extra` of each executor; its kind when not given.

    Returns
    -------
    Assignment

    Examples
    --------
    The task that can finish last goes first:

    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_pairs
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 1.0], [(0, 1)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> plan_pairs(platform, "greatest", extra=platform.kind_seconds).executor.tolist()
    [0, 0, 1]
    """
    levels = np.zeros(platform.successors.n) if level is None else level
    columns = platform.kind_of if column_of is None else column_of
    if (native := find()) is None:
        return _plan_in_python(platform, rule, extra, levels, batched, columns)
    found = native.plan_pairs(
        bound(native, platform), rule, flat(extra), np.ascontiguousarray(columns, np.int32), levels, batched
    )
    return assignment(found)


def _plan_in_python(
    platform: Platform,
    rule: Rule,
    extra: npt.NDArray[np.float64],
    levels: Floats,
    batched: bool,
    columns: Index,
) -> Assignment:
    draft = Draft(platform, insertion=False)
    arrivals: dict[int, Floats] = {}
    known: list[float] = levels.tolist()
    ready, later = [task for task, waiting in enumerate(draft.waiting) if not waiting], list[int]()
    while ready:
        for task in ready:
            if task not in arrivals:
                arrivals[task] = draft.arrivals(task)
        costs = {task: draft.starts(task, arrivals[task]) + extra[task, columns] for task in ready}
        task = max(ready, key=lambda task: (_score(rule, costs[task], known[task]), known[task], -task))
        executor = best(costs[task])
        start = draft.starts(task, arrivals[task])[executor]
        draft.place(task, executor, float(start))
        ready.remove(task)
        (later if batched else ready).extend(draft.released(task))
        if not ready:
            ready, later = later, []
    return draft.assignment()


def _score(rule: Rule, costs: Floats, level: float) -> float:
    """Return how much a task is preferred."""
    least = float(costs.min())
    loss = float(np.partition(costs, 1)[1]) - least if len(costs) > 1 else 0.0
    scores = {"least": -least, "level": level - least, "greatest": least, "sufferage": loss}
    return scores[rule] if rule in scores else (level - least) + loss
