"""List scheduling: by priority, with lookahead, as tasks become ready; and clusters of tasks on executors."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from simsched.errors import PolicyError
from simsched.graph.adjacency import Index
from simsched.graph.columns import Floats
from simsched.native import find
from simsched.policy.planned_policy import Assignment, PlannedPolicy
from simsched.policy.planning.compiled import assignment, bound, flat
from simsched.policy.planning.draft import Draft, best
from simsched.policy.planning.priorities import Priorities, positions
from simsched.policy.platform import Platform
from simsched.policy.policy import Discipline
from simsched.policy.problem import Problem


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
        Executor that has to run each task, or -1; also where that one cannot run it.

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
    if (native := find()) is None:
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
        executor = best(scores) if pin < 0 or starts[pin] == inf else pin
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
    if (never := np.isinf(platform.kind_seconds)).any():
        # Tasks of a cluster that run on other kinds of cores are a cluster of their own.
        parts = np.unique(np.column_stack([cluster, never]), axis=0, return_inverse=True)[1]
        cluster = parts.ravel().astype(np.int32)
    executors = _executors(platform, cluster)
    shared = len(np.unique(executors)) < len(executors)
    by_start = start is not None and not shared
    position = positions(start if start is not None and not shared else -Priorities(platform).b_level)
    return plan_list(platform, position, insertion=not by_start, by_finish=True, pinned=executors[cluster])


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


@dataclass(frozen=True, kw_only=True)
class OnlineList(PlannedPolicy):
    """A list scheduler that can also place tasks when they become ready: subclass it and write `order` and `plan`.

    Parameters
    ----------
    online : bool
        Whether tasks are placed when they become ready (docs/semantics.md, rule 13), by `pushing`.

    Examples
    --------
    At 1 both readers go to the core that has their data, and that runs nothing:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=1.0)
    >>> machine = "generic[cores=2,link_Bps=1.0,data=sent]"
    >>> [ss.simulate(graph, machine, policy, "2x1").makespan_s for policy in ("mcp", "mcp[online=true]")]
    [4.0, 5.0]
    """

    online: bool = False

    @property
    def discipline(self) -> Discipline:
        """Order of the plan, or of queues that tasks join when they become ready."""
        return "pushed" if self.online else "planned"

    def order(self, priorities: Priorities) -> Floats:
        """Return a number for each task: the lowest goes first."""
        raise PolicyError(f"policy {self} has no order(); write one that returns a number for each task")

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the order of tasks that become ready together."""
        return self.order(Priorities.of(self, problem))


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
    if (native := find()) is not None:
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
    for executor in np.flatnonzero(ends < inf).tolist() if children else ():
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
