"""Data objects given by users and readers, checked against the graph that gets them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Csr
from simsched.graph.checks import refuse_sizes, refuse_where, whole
from simsched.graph.data import NOBODY, DataObjects, edges_of, read_by
from simsched.graph.taskgraph import TaskGraph


def with_data(graph: TaskGraph, data: DataObjects | None) -> TaskGraph:
    """Return a graph with data objects in place of those that it had.

    Parameters
    ----------
    graph : TaskGraph
        Stays unchanged.
    data : DataObjects or None
        The objects; those of producer `NOBODY` are inputs of the graph, those without readers are outputs.

    Returns
    -------
    TaskGraph

    Raises
    ------
    GraphError
        If a size is negative or infinite, a task is not there, or a reader is no successor of the producer.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.graph import NOBODY, DataObjects, with_data
    >>> chain = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
    >>> objects = DataObjects.from_lists([4e6, 8e3, 8e3], [NOBODY, 0, 1], [[0, 1], [1], []])
    >>> with_data(chain, objects).data.size_B.sum()
    np.float64(4016000.0)
    """
    return replace(graph, data=None if data is None else checked(data, graph.successors))


def checked(data: DataObjects, successors: Csr) -> DataObjects:
    """Return a checked copy of objects for a graph with these edges.

    Raises
    ------
    GraphError
        As `with_data`.
    """
    size_B = _checked_sizes(data.size_B)
    k, n = len(size_B), successors.n
    producer = whole(data.producer, (k,), "producers")
    _refuse_outside(producer, NOBODY, n, "producer")
    indptr = whole(data.readers.indptr, (k + 1,), "starts of readers")
    readers = whole(data.readers.indices, data.readers.indices.shape, "readers")
    if indptr[0] != 0 or indptr[-1] != len(readers) or (indptr[1:] < indptr[:-1]).any():
        raise GraphError(
            f"readers of objects do not run from 0 to {len(readers)}, one row for each of {k} objects"
        )
    _refuse_outside(readers, 0, n, "reader")
    of = np.repeat(np.arange(k), np.diff(indptr))
    refuse_where(
        (of[1:] == of[:-1]) & (readers[1:] <= readers[:-1]),
        lambda i: f"readers of object {of[i]} do not ascend: {readers[i : i + 2].tolist()}",
    )
    refuse_where(
        (producer[of] >= 0) & (edges_of(producer[of], readers, successors) < 0),
        lambda i: (
            f"object {of[i]} of task {producer[of[i]]} is read by task {readers[i]}, which is no successor of it; "
            "add the edge"
        ),
    )
    return DataObjects(
        size_B, producer.astype(np.int32), Csr(indptr.astype(np.int64), readers.astype(np.int32))
    )


def with_reads(
    graph: TaskGraph,
    size_B: npt.ArrayLike,
    producer: npt.ArrayLike,
    objects: npt.ArrayLike,
    readers: npt.ArrayLike,
) -> TaskGraph:
    """Return a graph with the objects that a file tells of; reads along none of the graph's edges are left out.

    Parameters
    ----------
    graph : TaskGraph
        Returned as it is where there are no objects.
    size_B : array_like of float, shape (k,)
        Bytes of each object; NaN where unknown.
    producer : array_like of int, shape (k,)
        Task that writes each object; -1 for inputs.
    objects, readers : array_like of int, shape (r,)
        Objects and the tasks that read them.
    """
    sizes = np.array(size_B, np.float64)
    if not len(sizes):
        return graph
    of, by = np.array(objects, np.int64), np.array(readers, np.int64)
    makers = np.array(producer, np.int64)
    kept = (makers[of] < 0) | (edges_of(makers[of], by, graph.successors) >= 0)
    return with_data(
        graph, DataObjects(sizes, makers.astype(np.int32), read_by(len(sizes), of[kept], by[kept]))
    )


def _checked_sizes(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    array = np.array(values, np.float64)
    if array.ndim != 1:
        raise GraphError(f"sizes of objects have shape {array.shape}; expected one number per object")
    refuse_sizes(array, lambda i: f"object {i} has {array[i]} bytes")
    return array


def _refuse_outside(tasks: npt.NDArray[Any], least: int, n: int, what: str) -> None:
    refuse_where(
        (tasks < least) | (tasks >= n),
        lambda i: f"{what} {tasks[i]} of an object is no task; tasks are 0 to {n - 1}",
    )
