"""Data objects, and seconds by kind of core, of graphs made of other graphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Csr, Mask
from simsched.graph.columns import Floats
from simsched.graph.data import NOBODY, DataObjects, read_by
from simsched.graph.report import ImportReport
from simsched.graph.taskgraph import TaskGraph
from simsched.text import counted

Places = npt.NDArray[np.int64]
#: In place of a producer: several tasks feed the dropped one, so that nobody else has its objects.
_LOST = -2


def seconds_of(graph: TaskGraph) -> Floats:
    """Return the seconds that `TaskGraph.from_edges` takes: one column, or one for each kind of core."""
    return graph.durations_s if graph.seconds_by_kind is None else graph.seconds_by_kind


def of_kept(graph: TaskGraph, dropped: Mask, index: Places, report: ImportReport) -> DataObjects | None:
    """Return the objects of a graph without some of its tasks.

    An object of a dropped task that reads of one other task is that task's; where it reads of none, the object is an
    input of the graph. What only dropped tasks read, and passed on, is left out.

    Parameters
    ----------
    graph : TaskGraph
    dropped : bool array, shape (n,)
        Tasks that are left out.
    index : int64 array, shape (n,)
        New index of each task that is kept.
    report : ImportReport
        Told of objects that are lost because their dropped producer has several sources.
    """
    if (data := graph.data) is None:
        return None
    of, by = data.readers.sources(), data.readers.indices
    stays = ~dropped[by]
    needed = np.bincount(of[stays], minlength=data.n) > 0
    owner = _owners(graph, data, dropped)
    written = data.producer >= 0
    makers = np.full(data.n, NOBODY, np.int64)
    makers[written] = owner[data.producer[written]]
    lost = needed & (makers == _LOST)
    report.note(
        "lost, as several tasks feed the tasks that wrote them and are left out: "
        + counted(int(lost.sum()), "data object"),
        when=lost.any(),
    )
    passed_on = _passed_on(graph, data, dropped, needed & ~lost)
    unread = written & ~needed
    unread[unread] = ~dropped[data.producer[unread]]
    kept = (needed & ~lost) | (unread & ~passed_on) | (~written & (data.readers.degrees() == 0))
    makers[makers >= 0] = index[makers[makers >= 0]]
    return _numbered(data, kept, makers, of[stays].astype(np.int64), index[by[stays]])


def _owners(graph: TaskGraph, data: DataObjects, dropped: Mask) -> Places:
    """Return the task that has the objects of each task: itself, or where it is dropped the one that it reads of."""
    reads = data.inputs(graph.n_tasks)
    owner = np.arange(graph.n_tasks, dtype=np.int64)
    order = graph.topological_order
    for task in order[dropped[order]].tolist():
        objects = reads.neighbours(task)
        before = data.producer[objects] if len(objects) else graph.predecessors.neighbours(task)
        sources = {int(owner[i]) for i in before[before >= 0].tolist()} - {NOBODY}
        owner[task] = (sources.pop() if sources else NOBODY) if len(sources) < 2 else _LOST
    return owner


def _passed_on(graph: TaskGraph, data: DataObjects, dropped: Mask, needed: Mask) -> Mask:
    """Return which objects a dropped task passed on: it writes one that is needed, or passed on in its turn."""
    written = np.flatnonzero(data.producer >= 0)
    by_producer = read_by(graph.n_tasks, *(data.producer[written].astype(np.int64), written))
    passed, passes = np.zeros(data.n, bool), np.zeros(graph.n_tasks, bool)
    order = graph.topological_order[::-1]
    for task in order[(dropped | (by_producer.degrees() > 0))[order]].tolist():
        for one in by_producer.neighbours(task).tolist():
            passed[one] = passes[data.readers.neighbours(one)].any()
        objects = by_producer.neighbours(task)
        passes[task] = dropped[task] and (needed[objects] | passed[objects]).any()
    return passed


def of_groups(data: DataObjects | None, group: Places) -> DataObjects | None:
    """Return the objects of a graph whose tasks are groups; those that only pass within a group vanish.

    Parameters
    ----------
    data : DataObjects or None
    group : int64 array, shape (n,)
        Group of each task.
    """
    if data is None:
        return None
    written = data.producer >= 0
    makers = np.where(written, group[data.producer] if len(group) else NOBODY, NOBODY)
    of = data.readers.sources()
    by = group[data.readers.indices]
    crossing = by != makers[of]
    read = np.bincount(of[crossing], minlength=data.n) > 0
    kept = read | (data.readers.degrees() == 0)
    return _numbered(data, kept, makers, of[crossing], by[crossing])


def repeated(data: DataObjects | None, size: int, times: int) -> DataObjects | None:
    """Return the objects of so many copies of a graph, `size` tasks apart; each copy has objects of its own."""
    if data is None:
        return None
    copies = np.repeat(np.arange(times), data.n)
    producer = np.tile(data.producer, times).astype(np.int64)
    producer[producer >= 0] += size * copies[producer >= 0]
    reads, shift = len(data.readers.indices), np.arange(times)[:, None]
    indptr = np.append(0, (data.readers.indptr[1:] + reads * shift).reshape(-1)).astype(np.int64)
    indices = (data.readers.indices + size * shift).reshape(-1).astype(np.int32)
    return DataObjects(np.tile(data.size_B, times), producer.astype(np.int32), Csr(indptr, indices))


def _numbered(data: DataObjects, kept: Mask, makers: Places, of: Places, by: Places) -> DataObjects:
    """Return some objects, numbered anew, with their producers and readers."""
    number = np.cumsum(kept) - 1
    there = kept[of]
    readers = read_by(int(kept.sum()), number[of[there]], by[there])
    return DataObjects(data.size_B[kept], makers[kept].astype(np.int32), readers)
