"""Graphs made of graphs: tasks that run as one merged, and copies side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Csr
from simsched.graph.columns import Floats, LabelColumn
from simsched.graph.recording import Seconds
from simsched.graph.taskgraph import TaskGraph

if TYPE_CHECKING:
    from collections.abc import Sequence


def merged(
    graph: TaskGraph, groups: npt.ArrayLike, kinds: Sequence[str], seconds: Seconds, bytes_B: Floats
) -> TaskGraph:
    """Return a graph in which the tasks of a group are one, that runs them one after another on one thread.

    Parameters
    ----------
    graph : TaskGraph
    groups : array_like of int, shape (n,)
        Group of each task, 0 to the number of groups less 1.
    kinds : sequence of str
        Kind of each group's task.
    seconds : float64 array, shape (n,)
        What each task takes on one thread.
    bytes_B : float64 array, shape (n,)
        What each task moves to and from memory.

    Raises
    ------
    GraphError
        If a group has no kind, or waits for another one that waits for it.

    Examples
    --------
    >>> chain = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 1), (1, 2)])
    >>> merged(chain, [0, 0, 1], ["pair", "rest"], chain.durations_s, chain.bytes_B).durations_s.tolist()
    [3.0, 3.0]
    """
    group = np.asarray(groups, np.int64)
    if group.shape != (graph.n_tasks,) or group.min(initial=0) < 0 or group.max(initial=-1) >= len(kinds):
        raise GraphError(
            f"groups of {graph.n_tasks} tasks are numbers from 0 to {len(kinds) - 1}, one a task"
        )
    edges = np.stack([group[graph.successors.sources()], group[graph.successors.indices]], axis=1)

    def added(amounts: Floats) -> Floats:
        return np.bincount(group, weights=amounts, minlength=len(kinds)).astype(np.float64)

    return TaskGraph.from_edges(
        added(seconds),
        np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0),
        kinds=kinds,
        flops=added(graph.flops),
        bytes_B=added(bytes_B),
        name=graph.name,
    )


def copies(graph: TaskGraph, count: int) -> TaskGraph:
    """Return some copies of a graph that do not know each other, one after another; tasks have no names.

    Raises
    ------
    GraphError
        If there are none.

    Examples
    --------
    >>> copies(TaskGraph.from_edges([1.0, 2.0], [(0, 1)]), 3)
    <TaskGraph 'graph, 3 times': 6 tasks, 3 edges>
    """
    if count < 1:
        raise GraphError(f"{count} copies of {graph.name}; the least is 1")
    if count == 1:
        return graph
    own, n = graph.successors, graph.n_tasks
    starts = (own.indptr[:-1] + len(own.indices) * np.arange(count)[:, None]).ravel()
    indices = (own.indices + n * np.arange(count)[:, None]).ravel().astype(np.int32)

    def repeated(labels: LabelColumn) -> LabelColumn:
        return LabelColumn(np.tile(labels.codes, count), labels.labels)

    return replace(
        graph,
        successors=Csr(np.append(starts, len(indices)).astype(np.int64), indices),
        durations_s=np.tile(graph.durations_s, count),
        widths=np.tile(graph.widths, count),
        flops=np.tile(graph.flops, count),
        bytes_B=np.tile(graph.bytes_B, count),
        kinds=repeated(graph.kinds),
        shapes=repeated(graph.shapes),
        scopes=repeated(graph.scopes),
        names=None,
        name=f"{graph.name}, {count} times",
        recording=None,
    )
