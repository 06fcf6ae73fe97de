"""`Bound`: which tasks can run on which kinds of cores, where some cannot run on all (docs/semantics.md, rule 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simsched.costs.possible import never_on
from simsched.errors import LayoutError, PolicyError
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr, Index
from simsched.graph.columns import Floats
from simsched.machine import Machine
from simsched.policy.layout import Layout
from simsched.policy.policy import Policy
from simsched.policy.problem import Problem
from simsched.policy.rank_policy import RankPolicy


@dataclass(frozen=True, eq=False)
class Bound:
    """Groups of tasks that can run on the same kinds of cores, of a graph in which some cannot run on all.

    Parameters
    ----------
    group_of : int32 array, shape (n,)
        Group of each task.
    runs_on : bool array, shape (groups, kinds)
        Whether the tasks of each group can run on each kind.

    Examples
    --------
    >>> from math import inf
    >>> import simsched as ss
    >>> machine = ss.machine("generic[cores=2,kinds=each]")
    >>> bound = Bound.on(ss.TaskGraph.from_edges([[1.0, inf], [2.0, 1.0]]), machine)
    >>> bound.group_of.tolist(), bound.runs_on.tolist(), bound.stranded([(1,)]), bound.leaves_a_choice
    ([0, 1], [[True, False], [True, True]], 0, True)
    """

    group_of: Index
    runs_on: npt.NDArray[np.bool_]

    @classmethod
    def on(cls, graph: TaskGraph, machine: Machine) -> Bound | None:
        """Return the groups of a graph's tasks on a machine; None where all can run on all kinds of its cores."""
        if (never := never_on(graph, machine)) is None:
            return None
        rows = np.packbits(~never, axis=1)
        alike = rows[:, 0] if rows.shape[1] == 1 else np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        _, first, group_of = np.unique(alike, return_index=True, return_inverse=True)
        return cls(group_of.astype(np.int32), ~never[first])

    @property
    def leaves_a_choice(self) -> bool:
        """Whether a task can run on several kinds."""
        return bool((self.runs_on.sum(axis=1) > 1).any())

    def stranded(self, teams: Iterable[Sequence[int]]) -> int | None:
        """Return the first task that none of some teams can run, given by their kinds of cores; None where none is."""
        able = np.zeros(len(self.runs_on), np.bool_)
        for kinds in teams:
            able |= self.runs_on[:, list(kinds)].all(axis=1)
        return None if able.all() else int((~able)[self.group_of].argmax())


def kinds_of_teams(machine: Machine, teams: Csr) -> list[tuple[int, ...]]:
    """Return the kinds of cores of each team of hardware threads."""
    kinds = machine.kind_of[teams.indices % machine.n_cores].tolist()
    ends = teams.indptr.tolist()
    return [tuple(sorted({*kinds[begin:end]})) for begin, end in pairwise(ends)]


def called(graph: TaskGraph, task: int) -> str:
    """Return what messages call a task: its index, and its name if it has one."""
    name = graph.task_name(task)
    return name if name == f"task {task}" else f"task {task} ({name})"


def serves(policy: Policy, graph: TaskGraph, machine: Machine, layout: Layout) -> bool:
    """Return whether a layout of a policy has an executor for each task of a graph; others than fixed ones decide."""
    if not isinstance(policy, RankPolicy) or (bound := Bound.on(graph, machine)) is None:
        return True
    return bound.stranded({*kinds_of_teams(machine, policy.executors(machine, layout))}) is None


def require_executors(graph: TaskGraph, machine: Machine, layout: object, teams: Csr) -> None:
    """Check that each task of a graph can run on one of some teams of hardware threads.

    Raises
    ------
    LayoutError
        If one cannot.
    """
    if (bound := Bound.on(graph, machine)) is None or (kinds := machine.kinds) is None:
        return
    if (task := bound.stranded({*kinds_of_teams(machine, teams)})) is None:
        return
    able = np.flatnonzero(bound.runs_on[bound.group_of[task]])
    names = " or ".join(kinds.names[kind] for kind in able)
    there = np.isin(machine.kind_of, able)
    more = "+d in a layout gives it d devices" if (there & machine.is_device).any() else "take more executors"
    more = more if there.any() else f"{machine} has none"
    raise LayoutError(
        f"the layout {layout} has no executor for {called(graph, task)}, which runs on cores of kind "
        f"{names} only: {more}"
    )


def can_run(policy: Policy, graph: TaskGraph, machine: Machine) -> bool:
    """Return whether a policy can run all tasks of a graph on a machine, in one of its layouts."""
    if Bound.on(graph, machine) is None:
        return True
    if not isinstance(policy, RankPolicy):
        return not policy.any_core
    return any(serves(policy, graph, machine, layout) for layout in policy.layouts(machine))


def require_bound(policy: Policy, problem: Problem) -> None:
    """Check that tasks can run on all kinds of cores, for a policy that takes them to.

    Raises
    ------
    PolicyError
        If one cannot.
    """
    if policy.any_core and (bound := Bound.on(problem.graph, problem.machine)) is not None:
        some: npt.NDArray[np.bool_] = np.logical_not(bound.runs_on.all(axis=1))
        task = int(some[bound.group_of].argmax())
        raise PolicyError(
            f"policy {policy} lets each task run on any core, and {called(problem.graph, task)} cannot "
            "run on all kinds of them: take one with executors or workers, as fifo, critical-path, heft, dmda or lws"
        )


def summed(by_kind: Floats, counts: Iterable[int]) -> Floats:
    """Return the sum of each task's seconds over executors, of which there are so many of each kind, shape (n,).

    Those that cannot run a task count as its mean over the others.
    """
    total, able, n = np.zeros(len(by_kind)), np.zeros(len(by_kind)), 0
    for kind, executors in enumerate(counts):
        never = np.isinf(by_kind[:, kind])
        total += executors * np.where(never, 0.0, by_kind[:, kind])
        able += np.where(never, 0, executors)
        n += executors
    return np.where(able < n, total * (n / np.maximum(able, 1.0)), total)
