"""Data objects: what tasks write and other tasks read, with their sizes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Csr, Index, pointers
from simsched.graph.checks import refuse_sizes, refuse_where, whole
from simsched.graph.columns import Floats, ReadOnly
from simsched.graph.edges import pairs_of
from simsched.parameters import is_number, is_whole

#: Producer of objects that no task writes: the graph's inputs.
NOBODY = -1
#: The largest index of a task.
LAST_TASK = 2**31 - 1


@dataclass(frozen=True, eq=False)
class DataObjects(ReadOnly):
    """Objects that tasks hand to each other: each is written by one task, or is an input, and read by any number.

    Parameters
    ----------
    size_B : float64 array, shape (k,)
        Bytes of each object; NaN where unknown.
    producer : int32 array, shape (k,)
        Task that writes each object; -1 for inputs of the graph.
    readers : Csr
        Tasks that read each object, ascending, k rows; each is a successor of the producer.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 1), (0, 2)], edge_bytes=[8e6, 8e6], edge_objects=[0, 0])
    >>> graph.data.n, graph.data.size_B.tolist(), graph.data.readers.neighbours(0).tolist()
    (1, [8000000.0], [1, 2])
    """

    size_B: Floats
    producer: Index
    readers: Csr

    @classmethod
    def from_lists(
        cls, size_B: Sequence[float], producer: Sequence[int], readers: Sequence[Sequence[int]]
    ) -> DataObjects:
        """Return objects from their sizes, their producers (`NOBODY` for inputs) and the readers of each.

        They are checked further when a graph gets them; see `with_data`.

        Raises
        ------
        GraphError
            If a size is no number, or a task no whole number.

        Examples
        --------
        >>> from simsched.graph import NOBODY, DataObjects
        >>> weights_and_sum = DataObjects.from_lists([4e6, 8.0], [NOBODY, 1], [[0, 1], []])
        >>> weights_and_sum.readers.neighbours(0).tolist(), weights_and_sum.readers.neighbours(1).tolist()
        ([0, 1], [])
        """
        try:
            objects = np.repeat(np.arange(len(readers)), [len(tasks) for tasks in readers])
            tasks = np.fromiter((task for one in readers for task in one), np.int64, len(objects))
            return cls(
                np.array(size_B, np.float64),
                np.array(array("i", producer), np.int32),  # NumPy 1 takes what has more bits
                read_by(len(readers), objects, tasks),
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise GraphError(_wrong(size_B, producer, readers) or f"objects are malformed: {error}") from None

    @property
    def n(self) -> int:
        """Number of objects."""
        return len(self.size_B)

    def inputs(self, n_tasks: int) -> Csr:
        """Return the objects that each task reads, ascending, `n_tasks` rows."""
        return self.readers.transposed(n_tasks)

    def edge_bytes(self, successors: Csr) -> Floats:
        """Return the bytes that each edge of `successors` carries, shape (m,); 0 where none are known."""
        of = self.readers.sources()
        found = edges_of(self.producer[of], self.readers.indices, successors)
        sizes = np.nan_to_num(self.size_B[of[found >= 0]])
        return np.bincount(found[found >= 0], sizes, minlength=len(successors.indices)).astype(np.float64)


def of_edges(
    edges: npt.ArrayLike | Iterable[Sequence[int]] | Csr,
    edge_bytes: npt.ArrayLike,
    edge_objects: npt.ArrayLike | None,
) -> DataObjects:
    """Return the objects that edges carry.

    Parameters
    ----------
    edges : (m, 2) array or iterable of pairs
        Task indices (before, after), checked already.
    edge_bytes : array_like of float, shape (m,)
        Bytes that each edge carries; NaN where unknown.
    edge_objects : array_like of int, shape (m,), or None
        Number of the object that each edge carries, -1 where it carries none; None where each edge carries an object
        of its own.

    Raises
    ------
    GraphError
        If there are more or fewer than edges, a size is negative or infinite, or one object has two producers or two
        sizes.
    """
    pairs = pairs_of(edges).astype(np.int64)
    bytes_B = _sizes(edge_bytes, len(pairs))
    place = np.arange(len(pairs))
    given = (
        place if edge_objects is None else whole(edge_objects, (len(pairs),), "edge_objects").astype(np.int64)
    )
    if (given < 0).any():
        place = np.flatnonzero(given >= 0)
        pairs, bytes_B, given = pairs[place], bytes_B[place], given[place]
    _, first, number = np.unique(given, return_index=True, return_inverse=True)
    producer, size_B = pairs[first, 0], bytes_B[first]
    same = (producer[number] == pairs[:, 0]) & (
        (size_B[number] == bytes_B) | (np.isnan(size_B[number]) & np.isnan(bytes_B))
    )
    refuse_where(
        ~same,
        lambda edge: (
            f"edge {place[edge]} carries object {given[edge]} of task {pairs[edge, 0]}, {bytes_B[edge]:g} bytes, and "
            f"edge {place[first[number[edge]]]} that of task {producer[number[edge]]}, {size_B[number[edge]]:g} bytes; "
            "an object has one producer and one size"
        ),
    )
    return DataObjects(size_B, producer.astype(np.int32), read_by(len(first), number, pairs[:, 1]))


def with_ends(data: DataObjects | None, inputs_B: Floats, outputs_B: Floats) -> DataObjects | None:
    """Return objects, and after them those that single tasks read from home, then those that they write there.

    Parameters
    ----------
    data : DataObjects or None
        Objects between tasks.
    inputs_B, outputs_B : float64 arrays, shape (n,)
        Bytes of each task's input and output; 0 for none, NaN where unknown.

    Examples
    --------
    >>> import numpy as np
    >>> data = with_ends(None, np.array([8.0, 0.0]), np.array([0.0, 4.0]))
    >>> data.size_B.tolist(), data.producer.tolist(), data.readers.indices.tolist()
    ([8.0, 4.0], [-1, 1], [0])
    """
    readers, writers = np.flatnonzero(inputs_B != 0), np.flatnonzero(outputs_B != 0)
    if not len(readers) and not len(writers):
        return data
    if data is None:
        data = DataObjects.from_lists([], [], [])
    counts = np.concatenate([data.readers.degrees(), np.ones(len(readers), int), np.zeros(len(writers), int)])
    return DataObjects(
        np.concatenate([data.size_B, inputs_B[readers], outputs_B[writers]]),
        np.concatenate([data.producer, np.full(len(readers), NOBODY), writers]).astype(np.int32),
        Csr(np.r_[0, np.cumsum(counts)], np.concatenate([data.readers.indices, readers]).astype(np.int32)),
    )


def read_by(k: int, objects: npt.NDArray[np.int64], readers: npt.NDArray[Any]) -> Csr:
    """Return the readers of `k` objects.

    Parameters
    ----------
    k : int
        Number of objects.
    objects, readers : int arrays, shape (r,)
        Objects and tasks that read them, in any order, a pair as often as it likes.
    """
    n = np.int64(readers.max(initial=0) + 1)
    keys = objects * n + readers
    # Sorting is ten times as fast as `numpy.unique`, which hashes, and most readers come in order.
    if not np.all(keys[1:] > keys[:-1]):
        keys.sort()
        keys = keys[np.append(True, keys[1:] > keys[:-1])]
    rows, tasks = np.divmod(keys, n)
    return Csr(pointers(rows, k), tasks.astype(np.int32))


def edges_of(
    producers: npt.NDArray[Any], readers: npt.NDArray[Any], successors: Csr
) -> npt.NDArray[np.int64]:
    """Return the edge from each producer to its reader, as an index of `successors`, shape (r,); -1 for no edge.

    Parameters
    ----------
    producers, readers : int arrays, shape (r,)
        Tasks; -1 for no producer.
    successors : Csr
        The graph's edges.
    """
    n, m = np.int64(successors.n), len(successors.indices)
    keys = successors.sources().astype(np.int64) * n + successors.indices
    wanted = producers.astype(np.int64) * n + readers
    found = np.searchsorted(keys, wanted)
    there = (found < m) & (producers >= 0)
    there[there] = keys[found[there]] == wanted[there]
    return np.where(there, found, -1)


def _wrong(size_B: Any, producer: Any, readers: Any) -> str:
    """Return what is wrong with the first wrong entry of lists of objects, "" where each is right by itself."""
    for name, given in (("size_B", size_B), ("producer", producer), ("readers", readers)):
        if not isinstance(given, Iterable):
            return f"{name} is {given!r:.60}; expected a list, one entry per object"
    for i, (size, task, tasks) in enumerate(zip(size_B, producer, readers, strict=False)):
        if not is_number(size):
            return f"object {i} has {size!r:.60} bytes; expected a number"
        if not is_whole(task, NOBODY, LAST_TASK):
            known = f"the index of a task, or NOBODY ({NOBODY}) for an input"
            return f"object {i} is written by {task!r:.60}; expected {known}"
        if not isinstance(tasks, Iterable) or not all(is_whole(one, 0, LAST_TASK) for one in tasks):
            return f"object {i} is read by {tasks!r:.60}; expected a list of indices of tasks"
    return ""


def _sizes(values: npt.ArrayLike, m: int) -> Floats:
    try:
        sizes = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"edge_bytes are not a list of numbers: {error}") from None
    if sizes.shape == ():
        sizes = np.full(m, sizes)
    if sizes.shape != (m,):
        raise GraphError(f"edge_bytes have shape {sizes.shape}; expected ({m},), one number per edge")
    refuse_sizes(sizes, lambda edge: f"edge {edge} carries {sizes[edge]} bytes")
    return sizes
