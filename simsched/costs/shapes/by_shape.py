"""Seconds by kind and shape: the kernel model for the tasks of a graph, by width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import isnan
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simsched.costs.kernels.library import Parameters, parameters
from simsched.costs.kernels.team import Work, widths_s
from simsched.costs.shapes.kinds import Read, is_double, kernel_of, work_of
from simsched.costs.shapes.parts import Part
from simsched.costs.width_table import WidthTable
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Mask
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine
from simsched.notes import Note, Weight
from simsched.text import counted

#: Regions evaluated in one step, so that no array grows beyond some megabytes.
AT_ONCE = 1 << 20
#: Numbers of a table, at most: 512 MiB. Shapes beyond keep the formula.
MOST = 1 << 26
#: Operations or bytes of a task, at most: larger ones are no real ops, and no sum of them overflows.
LARGEST = 1e30
#: Mean bytes of an element below which most have 2 or 1.
SMALL_B = 3.0


@dataclass(frozen=True, eq=False)
class ShapeCosts:
    """Seconds, traffic and pieces of a graph's tasks by the kernel model.

    Parameters
    ----------
    table : WidthTable
        Seconds by width of the tasks whose kind and shape are known.
    traffic_B : float64 array, shape (n,)
        Bytes that each moves, as a triad names them; NaN for other tasks.
    pieces : float64 array, shape (n,)
        Pieces of each task, likewise.
    notes : tuple of str
        Assumptions, and unreadable tasks.
    """

    table: WidthTable
    traffic_B: Seconds
    pieces: Seconds
    notes: tuple[str, ...]

    def over(self, pieces: Seconds, traffic_B: Seconds) -> tuple[Seconds, Seconds]:
        """Return pieces and bytes of every task: the given ones where the kernel model has none."""
        here = self.table.covers
        return np.where(here, self.pieces, pieces), np.where(here, self.traffic_B, traffic_B)


def by_shape(
    graph: TaskGraph, machine: Machine, params: Parameters, wanted: Mask, planner: Planner | None = None
) -> ShapeCosts:
    """Return the kernel model's seconds of some of a graph's tasks.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
        With the runtime profile in use.
    params : Parameters
        Those of the library that runs them.
    wanted : bool array, shape (n,)
        Tasks without better seconds.
    planner : Planner, optional
        Source of the seconds of parts of ops in place of the kernel model.
    """
    asked, ops, row_of = _ops(graph, wanted)
    memory = machine.memory
    reads = [_read(*op, params.library.name) for op in ops]
    kept, seconds = _table(reads, machine, planner)
    traffic_B, pieces = (np.full(len(ops) + 1, np.nan) for _ in range(2))
    for i, read in kept:
        works = max(read.ways, key=_most_pieces)
        moving_B = sum(memory.moving_B(work.named_B, work.moved_B) for work in works)
        traffic_B[i] = moving_B / memory.moved_over_named
        pieces[i] = _most_pieces(works)
    place = np.full(len(ops) + 1, -1, np.int32)
    place[[i for i, _ in kept]] = np.arange(len(kept))
    op_of = np.full(graph.n_tasks, len(ops))
    op_of[asked] = row_of
    table = WidthTable(place[op_of], seconds, np.zeros(len(kept)))
    return ShapeCosts(
        table,
        traffic_B[op_of],
        pieces[op_of],
        tuple(_said(reads, np.bincount(row_of, minlength=len(ops)), len(kept))),
    )


Op = tuple[str, str, float | None, float | None]


def _ops(graph: TaskGraph, wanted: Mask) -> tuple[npt.NDArray[np.intp], list[Op], npt.NDArray[np.intp]]:
    """Return the tasks with known kernels and shapes, their distinct ops, and the op of each task."""
    kinds, shapes = graph.kinds, graph.shapes
    timed = np.array([kernel_of(kind) is not None for kind in kinds.labels], np.bool_)
    shaped = np.array([bool(text) for text in shapes.labels], np.bool_)
    tasks = np.flatnonzero(wanted & timed[kinds.codes] & shaped[shapes.codes])
    # Two streams that differ in operations only are one op, unless these tell inference from training.
    kernels = [kernel_of(kind) for kind in kinds.labels]
    rules = np.array([getattr(kernel, "rule", "") for kernel in kernels])[kinds.codes[tasks]]
    walks = np.array([not getattr(kernel, "inference_flops", 0.0) for kernel in kernels])[kinds.codes[tasks]]
    flops = np.where(walks & np.isin(rules, ("stream", "gather", "update")), np.nan, graph.flops[tasks])
    columns = (kinds.codes[tasks], shapes.codes[tasks], flops, graph.bytes_B[tasks])
    keys = _numbered(columns[0].astype(np.int64) * max(len(shapes.labels), 1) + columns[1])
    for amounts in columns[2:]:
        keys = _divided(keys, amounts)
    firsts = _firsts(keys)
    ops = [
        (kinds.labels[kind], shapes.labels[shape], _known(flops), _known(size_B))
        for kind, shape, flops, size_B in zip(*(column[firsts].tolist() for column in columns), strict=True)
    ]
    return tasks, ops, keys


def _numbered(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Return keys as the numbers 0, 1, ... of their order."""
    if not len(keys) or (most := int(keys.max())) > 8 * len(keys):
        return np.unique(keys, return_inverse=True)[1]
    there = np.zeros(most + 1, np.intp)
    there[keys] = 1
    return (np.cumsum(there) - 1)[keys]


def _firsts(keys: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the first place of each of the keys 0, 1, ..."""
    firsts = np.zeros(int(keys.max(initial=-1)) + 1, np.intp)
    # Of several values for one place, the last stays.
    firsts[keys[::-1]] = np.arange(len(keys))[::-1]
    return firsts


def _divided(keys: npt.NDArray[np.intp], amounts: Seconds) -> npt.NDArray[np.intp]:
    """Return the keys of groups, split where amounts differ."""
    first = amounts[_firsts(keys)][keys]
    if ((first == amounts) | (np.isnan(first) & np.isnan(amounts))).all():
        return keys
    values, codes = np.unique(amounts, return_inverse=True)
    return _numbered(keys.astype(np.int64) * len(values) + codes)


def _known(value: float) -> float | None:
    return None if isnan(value) else value


@lru_cache(maxsize=1 << 16)
def _read(kind: str, shape: str, flops: float | None, bytes_B: float | None, library: str) -> Read | None:
    """Return the work of an op; None where the shapes do not fit its kind or belong to no real op."""
    nan = float("nan")
    known = (nan if flops is None else flops, nan if bytes_B is None else bytes_B)
    try:
        read = work_of(kind, shape, *known, parameters(library))
    except OverflowError:
        return None
    if read is None:
        return None
    works = chain.from_iterable(read.ways)
    return read if all(max(work[:4]) < LARGEST and work.pieces >= 1 for work in works) else None


def _most_pieces(works: Sequence[Work]) -> float:
    return max(float(work.pieces) for work in works)


def _table(
    reads: Sequence[Read | None], machine: Machine, planner: Planner | None
) -> tuple[list[tuple[int, Read]], Seconds]:
    """Return the ops that have a row, with their places, and the rows: the quickest way, no slower than one thread."""
    columns = machine.n_threads + 1
    kept = [(i, read) for i, read in enumerate(reads) if read is not None][: MOST // columns]
    rows = np.empty((len(kept), columns))
    each = max(AT_ONCE // columns, 1)
    for first in range(0, len(kept), each):
        rows[first : first + each] = _quickest([read.ways for _, read in kept[first : first + each]], machine)
    if planner is not None:
        for row, (_, read) in enumerate(kept):
            rows[row] = _planned(read, rows[row], planner, machine)
    return kept, np.minimum(rows, rows[:, 1:2])


class Planner(Protocol):
    """A machine file's table whose package computes the seconds of parts of ops, as for local memories."""

    def widths_s(self, part: Part, machine: Machine) -> Seconds:
        """Return the seconds of a part on teams of 0, 1, ... threads, or raise `CostError`."""


def planner_of(machine: Machine) -> Planner | None:
    """Return the table of a machine whose package computes seconds of parts of ops; None if it has none."""
    return next((table for table in machine.tables.values() if hasattr(table, "widths_s")), None)


def _planned(read: Read, otherwise: Seconds, planner: Planner, machine: Machine) -> Seconds:
    """Return an op's planned seconds; without a plan, those of the kernel model."""
    try:
        planned = [planner.widths_s(part, machine) for part in read.parts]
    except CostError:
        return otherwise
    found: Seconds = np.sum(planned, axis=0) * read.more
    return found


def _quickest(ops: Sequence[Sequence[Sequence[Work]]], machine: Machine) -> Seconds:
    ways = [works for op in ops for works in op]
    seconds = widths_s([work for works in ways for work in works], machine)
    # A way is a sequence of regions; one of an op's ways is used.
    seconds = np.add.reduceat(seconds, np.cumsum([0, *map(len, ways)])[:-1])
    return np.minimum.reduceat(seconds, np.cumsum([0, *map(len, ops)])[:-1])


def _said(reads: Sequence[Read | None], counts: npt.NDArray[np.intp], kept: int) -> list[str]:
    """Return, in sentences, the assumptions and their numbers of tasks, and the number unreadable."""
    guesses: Counter[str] = Counter()
    unread = small = wide = 0
    for read, count in zip(reads, counts.tolist(), strict=True):
        if read is None:
            unread += count
            continue
        guesses[read.guessed] += count
        small += count * (read.element_B < SMALL_B)
        wide += count * is_double(read.element_B)
    said = [f"{count} {what}" for what, count in guesses.items() if what]
    if unread:
        said.append(
            f"cost curves for {counted(unread, 'task')} whose shapes are not those of their kind and FLOPs"
        )
    if wide:
        said.append(f"half the FLOP rates of FP32 for {counted(wide, 'task')} of elements of 8 bytes")
    doubts = []
    if small:
        what = "whose bytes are those of elements of 2 or 1 bytes: chips with units for these are faster"
        doubts.append(f"FLOP rates of FP32 for {counted(small, 'task')} {what}")
    if beyond := int(counts[[i for i, read in enumerate(reads) if read is not None][kept:]].sum()):
        doubts.append(f"cost curves for {counted(beyond, 'task')} of too many shapes")
    return [
        *(Note(what, Weight.ASSUMPTION) for what in said),
        *(Note(what, Weight.DOUBT) for what in doubts),
    ]
