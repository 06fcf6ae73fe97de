"""`plan_lookahead`: list scheduling where the executor is the one on which the task's children finish first."""

from __future__ import annotations

from simsched.graph.adjacency import Index
from simsched.graph.columns import Floats
from simsched.native import find
from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.compiled import assignment, bound
from simsched.policy.planning.draft import Draft, best
from simsched.policy.platform import Platform


def plan_lookahead(platform: Platform, position: Index) -> Assignment:
    """Return the plan: tasks by position, each placed for trial on every executor, and its children after it.

    The children are placed by position, too, each where it finishes first, with what is known of its inputs; the
    executor of the earliest end of all of them is taken, of the task itself where it has no children.

    Parameters
    ----------
    platform : Platform
    position : int32 array, shape (n,)
        Permutation: place of each task in the list; of those that are ready, the lowest goes first.

    Returns
    -------
    Assignment

    Examples
    --------
    Three tasks by their indices:

    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_lookahead, positions
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 1.0], [(0, 1)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> plan_lookahead(platform, positions([0, 1, 2])).executor.tolist()
    [0, 0, 1]
    """
    native = find()
    if native is not None:
        return assignment(native.plan_lookahead(bound(native, platform), position))
    draft = Draft(platform, insertion=True)
    for task in draft.by_position(position):
        starts = draft.starts(task, draft.arrivals(task))
        executor = best(_ends(draft, task, starts, position))
        draft.place(task, executor, float(starts[executor]))
    return draft.assignment()


def _ends(draft: Draft, task: int, starts: Floats, position: Index) -> Floats:
    """Return when the children end, by the executor of their parent."""
    children = sorted(draft.platform.successors.neighbours(task).tolist(), key=lambda child: position[child])
    ends = starts + draft.platform.seconds(task)
    for executor in range(len(ends)) if children else ():
        draft.place(task, executor, float(starts[executor]))
        ends[executor] = max(_placed(draft, child) for child in children)
        for child in reversed(children):
            draft.withdraw(child)
        draft.withdraw(task)
    return ends


def _placed(draft: Draft, task: int) -> float:
    """Place a task where it finishes first, and return when that is."""
    starts = draft.starts(task, draft.arrivals(task))
    executor = best(starts + draft.platform.seconds(task))
    draft.place(task, executor, float(starts[executor]))
    return draft.finish[task]
