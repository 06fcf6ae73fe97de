"""Data objects as columns of a table of edges, and back: bytes and number of the object that each edge carries."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.errors import LostObjectsWarning
from simsched.graph.columns import Floats
from simsched.graph.data import edges_of
from simsched.parameters import is_whole
from simsched.text import counted

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph

#: Columns of edges, and attributes of edges in files.
COLUMNS = ("bytes_B", "object")
#: Columns of tasks, and attributes of nodes: bytes that a task reads from home, and writes there.
ENDS = ("input_bytes", "output_bytes")


@dataclass(frozen=True)
class EdgeRows:
    """The edges of a graph, each once for each object that it carries, and once where it carries none.

    Parameters
    ----------
    before, after : int32 arrays, shape (r,)
        Tasks, ascending.
    bytes_B : float64 array, shape (r,), or None
        Bytes of the object; NaN where unknown, or there is none. None of a graph without data.
    object : int64 array, shape (r,), or None
        Its number; -1 where there is none.
    """

    before: npt.NDArray[np.int32]
    after: npt.NDArray[np.int32]
    bytes_B: Floats | None = None
    object: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, graph: TaskGraph) -> EdgeRows:
        """Return the edges of a graph; objects that are on no edge are not among them (`ends_of`)."""
        sources, targets, data = graph.successors.sources(), graph.successors.indices, graph.data
        if data is None:
            return cls(sources, targets)
        of = data.readers.sources()
        edge = edges_of(data.producer[of], data.readers.indices, graph.successors)
        of, edge = of[edge >= 0], edge[edge >= 0]
        bare = np.flatnonzero(np.bincount(edge, minlength=len(targets)) == 0)
        edges = np.concatenate([edge, bare])
        objects = np.concatenate([of, np.full(len(bare), -1)]).astype(np.int64)
        order = np.lexsort((objects, edges))
        edges, objects = edges[order], objects[order]
        return cls(sources[edges], targets[edges], np.append(data.size_B, np.nan)[objects], objects)


def ends_of(graph: TaskGraph) -> tuple[dict[str, Floats], int]:
    """Return the columns `ENDS` that a graph has, 0 where a task has none, and how many objects are in no column.

    A column has one object of each task, the first. Inputs of several tasks, inputs that no task reads, and objects
    on no edge whose bytes are unknown or zero are in none.

    Examples
    --------
    >>> import simsched as ss
    >>> columns, lost = ends_of(ss.TaskGraph.from_edges([1.0, 1.0], input_bytes=[8.0, float("nan")]))
    >>> columns["input_bytes"].tolist(), lost
    ([8.0, 0.0], 1)
    """
    if (data := graph.data) is None:
        return {}, 0
    inputs, degrees = data.producer < 0, data.readers.degrees()
    first_reader = np.append(data.readers.indices, -1)[data.readers.indptr[:-1]]
    lost = int((inputs | (degrees == 0)).sum())
    columns = {}
    for name, which, task in (
        ("input_bytes", inputs & (degrees == 1), first_reader),
        ("output_bytes", ~inputs & (degrees == 0), data.producer),
    ):
        held = np.flatnonzero(which & (data.size_B > 0))
        tasks, first = np.unique(task[held], return_index=True)
        if len(tasks):
            columns[name] = np.zeros(graph.n_tasks)
            columns[name][tasks] = data.size_B[held[first]]
            lost -= len(tasks)
    return columns, lost


def tell_lost(graph: TaskGraph) -> None:
    """Warn of the objects of a graph that a table of its tasks and edges does not have."""
    if lost := ends_of(graph)[1]:
        warnings.warn(
            f"not written: {counted(lost, 'data object')} on no edge (inputs of several tasks, further ones of a task, "
            "those of unknown or no bytes); .simsched keeps everything, .wfformat.json all objects",
            LostObjectsWarning,
            stacklevel=2,
        )


def numbered(labels: Sequence[Any], own: Sequence[bool]) -> npt.NDArray[np.int64]:
    """Return the numbers of objects with these labels: whole numbers as they are, others by first appearance.

    Parameters
    ----------
    labels : sequence, length r
        None, or a negative number, where there is none.
    own : sequence of bool, length r
        Whether to give an object of its own to an edge without a label.

    Examples
    --------
    >>> numbered([7, None, 7, None], [False, True, False, False]).tolist()
    [7, 8, 7, -1]
    >>> numbered(["x", "y", "x"], [True] * 3).tolist()
    [0, 1, 0]
    """
    there = [label for label in labels if label is not None]
    table: dict[Any, int]
    if all(is_whole(label) and label < 2**62 for label in there):
        table = {label: max(int(label), -1) for label in there}
    else:
        table = {label: number for number, label in enumerate(dict.fromkeys(there))}
    found = np.array([-1 if label is None else table[label] for label in labels], np.int64)
    alone = np.flatnonzero([label is None and mine for label, mine in zip(labels, own, strict=True)])
    found[alone] = found.max(initial=-1) + 1 + np.arange(len(alone))
    return found
