"""Cost curves from recordings of the same step on different numbers of threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.costs.fitting.interpolation import Method, WidthCurve
from simsched.costs.fitting.matching import Match, match
from simsched.costs.fitting.points import MeasuredOp, Op, Point
from simsched.costs.width_table import WidthTable
from simsched.errors import CostError
from simsched.graph import TaskGraph

if TYPE_CHECKING:
    from simsched.machine import Machine

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TraceCurves:
    """What recordings of one step on different numbers of threads say of its tasks.

    Parameters
    ----------
    widths : tuple of int
        Threads of each recording, ascending.
    task_seconds : float64 array, shape (tasks, recordings)
        Seconds of each task of the first graph; NaN where a recording does not have it.
    ops : tuple of MeasuredOp
        Medians by kind and shape, for `Calibration` or `MeasuredCurves`.
    matches : tuple of Match
        How the tasks of the other graphs were found.
    notes : tuple of str
        What was matched, and all mismatches, in sentences.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.fitting import curves_from_traces
    >>> graphs = [ss.TaskGraph.from_edges([s], kinds="MatMul", names=["a"], widths=w) for w, s in ((1, 4.0), (2, 3.0))]
    >>> found = curves_from_traces(graphs)
    >>> found.widths, [point.seconds for point in found.ops[0].points]
    ((1, 2), [4.0, 3.0])
    """

    widths: tuple[int, ...]
    task_seconds: Array
    ops: tuple[MeasuredOp, ...]
    matches: tuple[Match, ...]
    notes: tuple[str, ...]

    def of_tasks(self, method: Method = "pchip") -> TaskCurves:
        """Return the curves of the single tasks, for `CostModel(measured=...)` and the first graph alone."""
        return TaskCurves(self.widths, self.task_seconds, method)


@dataclass(frozen=True, eq=False)
class TaskCurves:
    """Measured seconds of the tasks of one graph, by index.

    Parameters
    ----------
    widths : tuple of int
        Threads of each recording, ascending.
    task_seconds : float64 array, shape (tasks, recordings)
        Tasks whose seconds are not known and above zero on every width keep their recorded ones.
    method : {"pchip", "linear"}
        How widths between measured ones are filled.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.fitting import curves_from_traces
    >>> graphs = [ss.TaskGraph.from_edges([s], kinds="MatMul", names=["a"], widths=w) for w, s in ((1, 4.0), (2, 3.0))]
    >>> costs = ss.CostModel(measured=curves_from_traces(graphs).of_tasks())
    >>> ss.simulate(graphs[0], "generic[cores=2]", "sequential", costs=costs).makespan_s
    3.0
    """

    widths: tuple[int, ...]
    task_seconds: Array
    method: Method = "pchip"

    def on(self, graph: TaskGraph, machine: Machine) -> tuple[WidthTable, tuple[str, ...]]:
        """Return the table of the graph's tasks; see `simsched.costs.width_table.MeasuredSeconds`.

        Raises
        ------
        CostError
            If the graph has another number of tasks.
        """
        if graph.n_tasks != len(self.task_seconds):
            raise CostError(
                f"{len(self.task_seconds)} tasks were measured, but {graph.name} has {graph.n_tasks}"
            )
        known = _whole(self.task_seconds)
        every = np.arange(machine.n_threads + 1)
        seconds = WidthCurve(self.widths, self.task_seconds[known], self.method)(np.maximum(every, 1))
        rows = np.where(known, np.cumsum(known) - 1, -1).astype(np.int32)
        table = WidthTable(
            rows,
            seconds,
            np.zeros(len(seconds)),
            np.full(len(seconds), self.widths[-1]),
        )
        return table, (f"{len(seconds)} of {graph.n_tasks} tasks take their own measured seconds",)

    def sampled(self, generator: np.random.Generator) -> TaskCurves:
        """Return itself: of a task that ran once on each width it is not known how far its seconds may be off."""
        return self


def curves_from_traces(graphs: Sequence[TaskGraph], widths: Sequence[int] | None = None) -> TraceCurves:
    """Return measured widths from two or more imported graphs of the same step.

    Parameters
    ----------
    graphs : sequence of TaskGraph
        The same step, recorded on different numbers of threads; the first one's tasks are those of the result.
    widths : sequence of int, optional
        Threads that each was recorded with: most formats do not say. The widest task of each graph when not given.

    Returns
    -------
    TraceCurves
        Points are medians over all tasks of a kind and shape that every recording has; their spread is half the
        interquartile range over the median, `runs` the number of tasks.

    Raises
    ------
    CostError
        If there are fewer than two graphs, two of one width, or no common task with a duration above zero.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.fitting import curves_from_traces
    >>> one, two = (
    ...     ss.TaskGraph.from_edges([seconds], kinds="MatMul", shapes="8x8;8x8", names=["a"], widths=width)
    ...     for width, seconds in ((1, 4e-6), (2, 3e-6))
    ... )
    >>> curves_from_traces([one, two]).task_seconds.tolist()
    [[4e-06, 3e-06]]
    """
    if len(graphs) < 2:
        raise CostError(
            f"{len(graphs)} graphs tell no curve; give recordings on two or more numbers of threads"
        )
    threads = [int(g.widths.max(initial=1)) for g in graphs] if widths is None else [int(w) for w in widths]
    if len(threads) != len(graphs) or min(threads) < 1 or len(set(threads)) < len(threads):
        raise CostError(
            f"{len(graphs)} recordings on {threads} threads; expected a different number for each. Where the files "
            "do not tell it, say curves_from_traces(graphs, widths=[1, 2])"
        )
    first = graphs[0]
    matches = tuple(match(first, graph) for graph in graphs[1:])
    columns = [first.durations_s, *(_taken(graph, m) for graph, m in zip(graphs[1:], matches, strict=True))]
    order = np.argsort(threads)
    seconds = np.stack([columns[i] for i in order], axis=1)
    by_width = tuple(threads[i] for i in order)
    ops, too_short = _ops(first, seconds, by_width)
    if not ops:
        raise CostError(f"the recordings of {first.name} have no task in common with a duration above zero")
    notes = [*_said(first, matches, threads[1:])]
    if too_short:
        notes.append(
            f"{too_short} kinds and shapes have no common task with a duration above zero and are left out"
        )
    return TraceCurves(by_width, seconds, ops, matches, tuple(notes))


def _taken(graph: TaskGraph, found: Match) -> Array:
    padded = np.append(graph.durations_s, np.nan)
    return np.asarray(padded[found.of])


def _ops(graph: TaskGraph, seconds: Array, widths: Sequence[int]) -> tuple[tuple[MeasuredOp, ...], int]:
    keys = graph.kinds.codes.astype(np.int64) * max(len(graph.shapes.labels), 1) + graph.shapes.codes
    whole = _whole(seconds)
    found, missing = [], 0
    for key in np.unique(keys).tolist():
        tasks = np.flatnonzero((keys == key) & whole)
        if not len(tasks):
            missing += 1
            continue
        one = int(tasks[0])
        op = Op(graph.kinds[one], graph.shapes[one], _known(graph.flops[tasks]), _known(graph.bytes_B[tasks]))
        found.append(MeasuredOp(op, tuple(_point(w, seconds[tasks, i]) for i, w in enumerate(widths))))
    return tuple(found), missing


def _whole(seconds: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isfinite(seconds).all(axis=1) & (seconds > 0).all(axis=1))


def _known(amount: Array) -> float | None:
    """Return the median amount of work; None where it is unknown."""
    known = amount[np.isfinite(amount)]
    return float(np.median(known)) if len(known) else None


def _point(width: int, seconds: Array) -> Point:
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
    sharing = "apart" if width == 1 else "shared"
    return Point(width, middle, sharing, (high - low) / 2 / middle, len(seconds))  # type: ignore[arg-type] # one of the two


def _said(first: TaskGraph, matches: Sequence[Match], threads: Sequence[int]) -> list[str]:
    notes = []
    for found, width in zip(matches, threads, strict=True):
        ways = ", ".join(f"{count} by {way}" for way, count in found.by.items() if count)
        same = "" if np.isnan(found.edges_kept) else f"; {found.edges_kept:.1%} of their edges are the same"
        matched = f"{int((found.of >= 0).sum())} of {first.n_tasks} tasks matched ({ways or 'none'})"
        notes.append(f"on {width} threads: {matched}{same}")
        notes += found.notes
    return notes
