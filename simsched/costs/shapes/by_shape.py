"""Seconds by kind and shape: the kernel model for the tasks of a graph, by width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simsched.costs.kernels.library import Parameters
from simsched.costs.kernels.team import Work, widths_s
from simsched.costs.shapes.elements import Rates, said_of
from simsched.costs.shapes.kinds import Read
from simsched.costs.shapes.ops import ops_of, read_op
from simsched.costs.shapes.parts import Part, Walk
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
    graph: TaskGraph,
    machine: Machine,
    params: Parameters,
    wanted: Mask,
    planner: Planner | None = None,
    doubt: float = 0.0,
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
    doubt : float
        As in `Rates`.
    """
    asked, ops, row_of = ops_of(graph, wanted)
    memory, rates = machine.memory, Rates(machine.element_flops, doubt)
    reads = [read_op(*op, params.library.name) for op in ops]
    kept, seconds = _table(reads, machine, rates, planner)
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
        tuple(_said(reads, np.bincount(row_of, minlength=len(ops)), len(kept), machine)),
    )


def _most_pieces(works: Sequence[Work]) -> float:
    return max(float(work.pieces) for work in works)


def _table(
    reads: Sequence[Read | None], machine: Machine, rates: Rates, planner: Planner | None
) -> tuple[list[tuple[int, Read]], Seconds]:
    """Return the ops that have a row, with their places, and the rows: the quickest way, no slower than one thread."""
    columns = machine.n_threads + 1
    kept = [(i, read) for i, read in enumerate(reads) if read is not None][: MOST // columns]
    rows = np.empty((len(kept), columns))
    each = max(AT_ONCE // columns, 1)
    for first in range(0, len(kept), each):
        some = [_at_rate(read, rates) for _, read in kept[first : first + each]]
        rows[first : first + each] = _quickest(some, machine)
    if planner is not None:
        for row, (_, read) in enumerate(kept):
            rows[row] = _planned(read, rows[row], planner, machine)
    return kept, np.minimum(rows, rows[:, 1:2])


def _at_rate(read: Read, rates: Rates) -> list[list[Work]]:
    """Return the ways of doing an op, with fewer operations in products of elements that cores compute faster."""
    rate = rates.of(read.element, read.assumed)
    if rate == 1:
        return read.ways
    products = [not isinstance(part, Walk) for part in read.parts]
    return [
        [
            work._replace(flops=work.flops / rate) if one else work
            for work, one in zip(works, products, strict=True)
        ]
        for works in read.ways
    ]


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


def _said(
    reads: Sequence[Read | None], counts: npt.NDArray[np.intp], kept: int, machine: Machine
) -> list[str]:
    """Return, in sentences, the assumptions and their numbers of tasks, and the number unreadable."""
    guesses: Counter[str] = Counter()
    elements: Counter[tuple[str, bool]] = Counter()
    unread = 0
    for read, count in zip(reads, counts.tolist(), strict=True):
        if read is None:
            unread += count
            continue
        guesses[read.guessed] += count
        elements[read.element, read.assumed] += count
    said = [f"{count} {what}" for what, count in guesses.items() if what]
    if unread:
        said.append(
            f"cost curves for {counted(unread, 'task')} whose shapes are not those of their kind and FLOPs"
        )
    doubts = []
    if beyond := int(counts[[i for i, read in enumerate(reads) if read is not None][kept:]].sum()):
        doubts.append(f"cost curves for {counted(beyond, 'task')} of too many shapes")
    return [
        *(Note(what, Weight.ASSUMPTION) for what in said),
        *said_of(elements, machine),
        *(Note(what, Weight.DOUBT) for what in doubts),
    ]
