"""`Priorities`: levels of tasks, by which planners order them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Index, place_in
from simsched.graph.columns import Floats
from simsched.graph.taskgraph import Seconds
from simsched.native import find
from simsched.notes import Note, Weight
from simsched.policy.bound import summed
from simsched.policy.layout import Layout
from simsched.policy.planning.compiled import bound, order_of
from simsched.policy.platform import Platform
from simsched.policy.problem import Problem
from simsched.policy.rank_policy import RankPolicy


@dataclass(frozen=True)
class Priorities:
    """Levels of the tasks of a platform, each `n_executors` times as large as the mean that papers print.

    Means are sums over executors that were divided, and division rounds: equal ranks would differ in the last bit, and
    the tie would go to either. Sums of whole numbers are exact, and order tasks alike.

    Parameters
    ----------
    platform : Platform

    Examples
    --------
    A chain of two tasks on two different executors, and 5 seconds between them:

    >>> from simsched.graph.adjacency import Csr
    >>> from simsched.policy.platform import Platform
    >>> apart = 1.0 - np.eye(2)
    >>> platform = Platform(
    ...     successors=Csr(np.array([0, 1, 1]), np.array([1], np.int32)),
    ...     kind_seconds=np.array([[2.0, 4.0], [3.0, 1.0]]), kind_of=np.array([0, 1], np.int32),
    ...     place_of=np.array([0, 1], np.int32), edge_bytes=np.array([5.0]), latency_s=0 * apart, s_per_B=apart,
    ... )
    >>> ranks = Priorities(platform)
    >>> (ranks.b_level / 2).tolist(), (ranks.static_level / 2).tolist(), (ranks.t_level / 2).tolist()
    ([10.0, 2.0], [5.0, 2.0], [0.0, 8.0])
    """

    platform: Platform

    @classmethod
    def of(cls, policy: RankPolicy, problem: Problem) -> Priorities:
        """Return the levels on the executors that a policy has for a problem."""
        layout = problem.layout or Layout(problem.machine.n_threads, 1)
        return cls(problem.platform(policy.executors(problem.machine, layout)))

    @cached_property
    def seconds(self) -> Seconds:
        """Sum of each task's seconds over the executors, shape (n,)."""
        return self.summed(self.platform.kind_seconds)

    def summed(self, by_kind: npt.NDArray[np.float64]) -> Floats:
        """Return the sum over the executors of seconds on each kind of core, shape (n,); see `bound.summed`."""
        return summed(by_kind, self._counts)

    @cached_property
    def messages(self) -> Seconds:
        """Seconds of each edge's bytes, averaged as `seconds` are, shape (m,); 0 where there is one executor."""
        return self.platform.messages_s(self.platform.n_executors - 1 or 1)

    @cached_property
    def b_level(self) -> Floats:
        """Longest path from each task to a sink, the task and messages included: the upward rank of HEFT."""
        return _upward(self.platform, self.seconds, self.messages)

    @cached_property
    def static_level(self) -> Floats:
        """Longest path from each task to a sink, the task included, messages not."""
        return _upward(self.platform, self.seconds, np.zeros_like(self.messages))

    @cached_property
    def t_level(self) -> Floats:
        """Longest path from a source to each task, the task excluded, messages included: the downward rank."""
        return _downward(self.platform, self.seconds, self.messages)

    @cached_property
    def static_t_level(self) -> Floats:
        """Longest path from a source to each task, the task and messages excluded."""
        return _downward(self.platform, self.seconds, np.zeros_like(self.messages))

    def level_of(self, seconds: Seconds, messages: Seconds | None = None) -> Floats:
        """Return the longest paths to a sink by seconds of one's own, and of messages; without these by default."""
        return _upward(self.platform, seconds, np.zeros_like(self.messages) if messages is None else messages)

    @cached_property
    def optimistic_costs(self) -> npt.NDArray[np.float64]:
        """Least seconds from the end of each task on each kind of core to the end of the graph, shape (n, kinds)."""
        return optimistic_costs(self.platform)

    @cached_property
    def _counts(self) -> list[int]:
        """Executors of each kind."""
        platform = self.platform
        counts: list[int] = np.bincount(platform.kind_of, minlength=platform.kind_seconds.shape[1]).tolist()
        return counts


def recorded_priorities(problem: Problem) -> Floats | None:
    """Return the priorities of tasks that a recording has, the highest first; None without any.

    Examples
    --------
    >>> import simsched as ss
    >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0]), ss.machine("generic[cores=2]")
    >>> recorded_priorities(Problem(graph, machine, ss.CostModel().on(graph, machine))) is None
    True
    """
    run = problem.graph.recording
    return None if run is None or run.priorities is None else np.asarray(run.priorities, np.float64)


def priorities_note(problem: Problem, instead: str) -> str:
    """Return the note on whose priorities order the tasks: the recording's, or what there is instead.

    Examples
    --------
    >>> import simsched as ss
    >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0]), ss.machine("generic[cores=2]")
    >>> priorities_note(Problem(graph, machine, ss.CostModel().on(graph, machine)), "levels")
    'no priorities recorded: those of tasks are levels'
    """
    if recorded_priorities(problem) is not None:
        return "priorities of tasks are the recorded ones"
    return Note(f"no priorities recorded: those of tasks are {instead}", Weight.ASSUMPTION)


def positions(*keys: npt.ArrayLike) -> Index:
    """Return the place of each task in ascending order of the first key, then of the next; last of the index.

    Examples
    --------
    >>> positions([3.0, 1.0, 3.0], [0.0, 5.0, -1.0]).tolist()
    [2, 0, 1]
    """
    return place_in(np.lexsort([np.asarray(key) for key in reversed(keys)]))


def _upward(platform: Platform, seconds: Seconds, messages: Seconds) -> Floats:
    """Return `seconds[i] + max(messages[e] + result of the successor by e, 0 if none)` for every task i."""
    graph, order = platform.successors, order_of(platform)
    if (native := find()) is not None:
        return np.asarray(native.upward_levels(bound(native, platform), seconds, messages))
    result, weights = seconds.tolist(), messages.tolist()
    starts, targets = graph.indptr.tolist(), graph.indices.tolist()
    for i in reversed(order.tolist()):
        edges = range(starts[i], starts[i + 1])
        result[i] += max((weights[e] + result[targets[e]] for e in edges), default=0.0)
    return np.asarray(result, np.float64)


def _downward(platform: Platform, seconds: Seconds, messages: Seconds) -> Floats:
    """Return the greatest `result[i] + seconds[i] + messages[e]` of the edges e to every task, 0 if none."""
    graph, order = platform.successors, order_of(platform)
    if (native := find()) is not None:
        return np.asarray(native.downward_levels(bound(native, platform), seconds, messages))
    own, weights = seconds.tolist(), messages.tolist()
    result = [0.0] * graph.n
    starts, targets = graph.indptr.tolist(), graph.indices.tolist()
    for i in order.tolist():
        end = result[i] + own[i]
        for e in range(starts[i], starts[i + 1]):
            result[targets[e]] = max(result[targets[e]], end + weights[e])
    return np.asarray(result, np.float64)


def optimistic_costs(platform: Platform) -> npt.NDArray[np.float64]:
    """Return PEFT's table (Eq. 5): by kind of core, since executors of one kind have equal rows.

    The successor runs on the same executor, or on the best one after a mean message.
    """
    graph, seconds, order = platform.successors, platform.kind_seconds, order_of(platform)
    if (native := find()) is not None:
        found = native.optimistic_costs(bound(native, platform), platform.mean_message_s)
        return np.asarray(found).reshape(-1, seconds.shape[1])
    used = np.unique(platform.kind_of)
    table = np.zeros_like(seconds)
    for i in order[::-1].tolist():
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = graph.indices[e]
            own = table[j] + seconds[j]
            best = own[used].min() + platform.mean_message_s[e]
            table[i] = np.maximum(table[i], np.minimum(own, best))
    return table
