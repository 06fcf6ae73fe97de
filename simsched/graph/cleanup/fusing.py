"""Fusing tasks into neighbours, where that adds no dependency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.graph.adjacency import Csr
from simsched.graph.cleanup.cleanup import Cleanup
from simsched.graph.cleanup.groups import Groups, merged
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import positive


@dataclass(frozen=True)
class FuseChains(Cleanup):
    """Make one task of tasks that can only run one after another: each the only successor of its only predecessor.

    Tasks recorded on different numbers of threads stay separate.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 4.0], [(0, 1)])
    >>> graph.cleaned("fuse-chains").durations_s.tolist()
    [3.0, 4.0]
    """

    name: ClassVar[str] = "fuse-chains"

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph of chains; critical path and work stay unchanged."""
        only = _only(graph.predecessors)
        alone = graph.successors.degrees() == 1
        linked = (only >= 0) & alone[only] & (graph.widths == graph.widths[only])
        groups = np.arange(graph.n_tasks, dtype=np.int64)
        for task in graph.topological_order.tolist():
            if linked[task]:
                groups[task] = groups[only[task]]
        return merged(graph, groups, self.noted(graph, _count(graph, groups)))


@dataclass(frozen=True)
class FuseSmall(Cleanup):
    """Fuse tiny tasks into what they alone wait for, else into what alone waits for them.

    A task that joins its only predecessor makes the others that wait for that one wait for the task, too: the price of
    fewer tasks, bounded by `below_s` for each. Tasks with several of both stay.

    Parameters
    ----------
    below_s : float
        Seconds; tasks that take less are tiny.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1e-07, 2.0, 3.0], [(0, 1), (0, 2), (1, 3)])
    >>> graph.cleaned("fuse-small[below_s=1e-06]").n_tasks
    3
    """

    name: ClassVar[str] = "fuse-small"
    below_s: float = positive(1e-6)

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph with tiny tasks merged into others."""
        tiny = graph.durations_s < self.below_s
        groups = np.arange(graph.n_tasks, dtype=np.int64)
        order = graph.topological_order.tolist()
        # A group that is all one waits for cannot be reached from it: joining closes no cycle.
        _join(groups, tiny, order, graph.predecessors)
        left = tiny & (np.bincount(groups, minlength=graph.n_tasks)[groups] == 1)
        _join(groups, left, order[::-1], graph.successors)
        return merged(graph, groups, self.noted(graph, _count(graph, groups)))


def _join(
    groups: Groups, joining: np.ndarray[tuple[int], np.dtype[np.bool_]], order: list[int], beside: Csr
) -> None:
    for task in order:
        if joining[task]:
            near = {int(groups[other]) for other in beside.neighbours(task).tolist()}
            if len(near) == 1:
                groups[task] = near.pop()


def _only(neighbours: Csr) -> Groups:
    """Return the only neighbour of each node, -1 where there is none or more than one."""
    only = np.full(neighbours.n, -1, np.int64)
    alone = np.flatnonzero(neighbours.degrees() == 1)
    only[alone] = neighbours.indices[neighbours.indptr[alone]]
    return only


def _count(graph: TaskGraph, groups: Groups) -> str:
    return f"{graph.n_tasks} tasks became {len(np.unique(groups))}"
