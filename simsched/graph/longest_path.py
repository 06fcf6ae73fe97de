"""Longest paths through a task graph: levels, depths, the critical path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Csr, Index
from simsched.native import core

if TYPE_CHECKING:
    from simsched.graph.columns import Floats
    from simsched.graph.taskgraph import Seconds, TaskGraph


def longest_path_to_sinks(graph: TaskGraph, seconds: npt.ArrayLike) -> Seconds:
    """Return, for each task, the longest accumulated time from it to a sink, itself included.

    Parameters
    ----------
    graph : TaskGraph
    seconds : array_like of float, shape (n,)
        Seconds of each task.

    Raises
    ------
    GraphError
        If `seconds` has another length, or one is negative or NaN: its level would be unknown.
    """
    weights = _weights(graph, seconds)
    if graph.successors.forward:
        return longest_path(graph.successors, None, weights)
    return longest_path(graph.successors, np.ascontiguousarray(graph.topological_order[::-1]), weights)


def _weights(graph: TaskGraph, seconds: npt.ArrayLike) -> Seconds:
    try:
        weights = np.ascontiguousarray(seconds, np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError(f"seconds are not a list of numbers: {error}") from None
    if weights.shape != (graph.n_tasks,):
        raise GraphError(f"seconds have shape {weights.shape}; expected ({graph.n_tasks},), one per task")
    if not np.all(weights >= 0):
        task = int((~(weights >= 0)).argmax())
        problem = "no duration" if np.isnan(weights[task]) else f"duration {weights[task]} seconds"
        raise GraphError(
            f"task {task} ({graph.task_name(task)!r}) has {problem}; give seconds= for all tasks"
        )
    return weights


def depths(graph: TaskGraph) -> npt.NDArray[np.int32]:
    """Return, for each task, the number of edges on the longest path from a source to it."""
    hops = longest_path(graph.predecessors, graph.topological_order, np.ones(graph.n_tasks)).astype(np.int32)
    hops -= 1
    hops.setflags(write=False)
    return hops


def longest_path(neighbours: Csr, order: Index | None, weights: Floats) -> Floats:
    """Return `weights[i] + max(result of i's neighbours, 0 if none)` for every node i.

    In `order` every neighbour of a node comes before it; None for n - 1 to 0.

    The compiled twin and this loop do the same additions in the same order: the results are equal bit by bit.
    """
    if (native := core()) is not None:
        found: Floats = native.longest_path(neighbours.indptr, neighbours.indices, order, weights)
        return found
    result = weights.tolist()
    starts, columns = neighbours.indptr.tolist(), neighbours.indices.tolist()
    for i in reversed(range(neighbours.n)) if order is None else order.tolist():
        best = 0.0
        for j in columns[starts[i] : starts[i + 1]]:
            best = max(best, result[j])
        result[i] += best
    return np.asarray(result, np.float64)


def critical_path(graph: TaskGraph, levels: Seconds) -> list[int]:
    """Return the tasks of a longest path, first to last; ties go to the lower index."""
    if not graph.n_tasks:
        return []
    sources = np.flatnonzero(graph.predecessors.degrees() == 0)
    task = int(sources[levels[sources].argmax()])
    path, level = [task], levels.data
    # Views give Python's numbers, one by one, faster than arrays.
    starts, successors = graph.successors.indptr.data, graph.successors.indices.data
    while after := successors[starts[task] : starts[task + 1]]:
        task = max(after, key=level.__getitem__)
        path.append(task)
    return path
