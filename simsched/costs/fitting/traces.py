"""Cost curves from recordings of the same step on different numbers of threads, whose tasks are matched.

Tasks are distinguished by kind, shape, name and scope, then by those of all that comes before and after them. Of tasks
equal in all of these, as many on both sides, the first match. Where a recording has a task more or fewer,
everything after and before it looks different: the rest is matched by neighbours, then by its own properties.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.costs.fitting.interpolation import Method, WidthCurve
from simsched.costs.fitting.points import MeasuredOp, Op, Point, Sharing
from simsched.costs.width_table import WidthTable
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.text import counted

Signature = npt.NDArray[np.int64]
#: Numbers that differ from run to run: at the end of a name, after `#`.
_RUNNING = re.compile(r"#[0-9]+$")


@dataclass(frozen=True, eq=False)
class Match:
    """Tasks of one graph and the matching tasks of another.

    Parameters
    ----------
    of : int64 array, shape (n,)
        Task of the other graph for each of the one; -1 where it has none.
    by : mapping of str to int
        How many were matched by "structure", "neighbours" and "label".
    notes : tuple of str
        Mismatches, in sentences.
    edges_kept : float
        Share of the edges between matched tasks that the other graph has, too; NaN where there are none.
    """

    of: Signature
    by: dict[str, int]
    notes: tuple[str, ...]
    edges_kept: float


class _Codes:
    """Numbers for values, the same for equal values of both graphs."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def __call__(self, thing: Hashable) -> int:
        return self._known.setdefault(thing, len(self._known))


def match(one: TaskGraph, other: TaskGraph) -> Match:
    """Match the tasks of two graphs; O((n + m) log n)."""
    codes = _Codes()
    of, taken = np.full(one.n_tasks, -1, np.int64), np.zeros(other.n_tasks, np.bool_)
    by: dict[str, int] = {}
    places = [_places(graph) for graph in (one, other)]
    labels = [_labels(graph, codes, with_names=True) for graph in (one, other)]
    plain = [_labels(graph, codes, with_names=False) for graph in (one, other)]
    rounds: list[tuple[str, Callable[[int], Signature]]] = [
        ("structure", lambda i: _structure((one, other)[i], labels[i], codes)),
        ("structure", lambda i: _structure((one, other)[i], plain[i], codes)),
        ("neighbours", lambda i: _neighbours((one, other)[i], labels[i], codes)),
        ("label", lambda i: labels[i]),
        ("label", lambda i: plain[i]),
    ]
    for name, signature in rounds:
        left = [np.flatnonzero(of < 0), np.flatnonzero(~taken)]
        if not min(map(len, left)):
            break
        found = _paired([signature(i) for i in (0, 1)], left, places)
        of[found[0]] = found[1]
        taken[found[1]] = True
        by[name] = by.get(name, 0) + len(found[0])
    return Match(of, by, _notes(one, other, of, taken), _edges_kept(one, other, of))


def _places(graph: TaskGraph) -> Signature:
    """Return the position of each task in the order of execution, else in topological order."""
    key = graph.recording.start_s if graph.recording is not None else None
    order = graph.topological_order if key is None else np.argsort(key, kind="stable")
    place = np.empty(graph.n_tasks, np.int64)
    place[order] = np.arange(graph.n_tasks)
    return place


def _labels(graph: TaskGraph, codes: _Codes, *, with_names: bool) -> Signature:
    names: Sequence[str] = [""] * graph.n_tasks
    if with_names and graph.names is not None:
        names = [_RUNNING.sub("", name) for name in graph.names.to_list()]
    columns = (graph.kinds.to_list(), graph.shapes.to_list(), graph.scopes.to_list(), names)
    return np.array([codes(row) for row in zip(*columns, strict=True)], np.int64)


def _structure(graph: TaskGraph, labels: Signature, codes: _Codes) -> Signature:
    """Return signatures of each task with all tasks before it, and with all tasks after it."""
    order = graph.topological_order
    before = _along(order, graph.predecessors.neighbours, labels, codes)
    after = _along(order[::-1], graph.successors.neighbours, labels, codes)
    return np.array(
        [codes(("both", *pair)) for pair in zip(before.tolist(), after.tolist(), strict=True)], np.int64
    )


def _along(
    order: npt.NDArray[np.int32],
    next_to: Callable[[int], npt.NDArray[np.int32]],
    labels: Signature,
    codes: _Codes,
) -> Signature:
    found = np.zeros(len(labels), np.int64)
    for task in order.tolist():
        near = tuple(sorted(found[next_to(task)].tolist()))
        found[task] = codes(("along", int(labels[task]), near))
    return found


def _neighbours(graph: TaskGraph, labels: Signature, codes: _Codes) -> Signature:
    rows = (
        tuple(
            tuple(sorted(labels[side.neighbours(task)].tolist()))
            for side in (graph.predecessors, graph.successors)
        )
        for task in range(graph.n_tasks)
    )
    return np.array([codes(("near", int(labels[task]), *row)) for task, row in enumerate(rows)], np.int64)


def _paired(
    signatures: list[Signature], left: list[Signature], places: list[Signature]
) -> tuple[Signature, Signature]:
    """Return tasks of both sides whose signatures are equally frequent on both, each side in its order."""
    ordered = []
    for signature, tasks, place in zip(signatures, left, places, strict=True):
        mine = tasks[np.lexsort((place[tasks], signature[tasks]))]
        ordered.append((mine, *np.unique(signature[mine], return_counts=True)))
    (a, keys_a, count_a), (b, keys_b, count_b) = ordered
    both, in_a, in_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    same = both[count_a[in_a] == count_b[in_b]]
    return a[np.isin(signatures[0][a], same)], b[np.isin(signatures[1][b], same)]


def _notes(one: TaskGraph, other: TaskGraph, of: Signature, taken: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    notes = []
    for graph, alone in ((one, np.flatnonzero(of < 0)), (other, np.flatnonzero(~taken))):
        if len(alone):
            kinds, counts = np.unique(graph.kinds.codes[alone], return_counts=True)
            said = ", ".join(f"{count} {graph.kinds.labels[kind] or 'of no kind'}" for kind, count in zip(
                kinds.tolist(), counts.tolist(), strict=True))  # fmt: skip
            notes.append(f"{len(alone)} of {graph.n_tasks} tasks of {graph.name} have no counterpart: {said}")
    return tuple(notes)


def _edges_kept(one: TaskGraph, other: TaskGraph, of: Signature) -> float:
    sources = np.repeat(np.arange(one.n_tasks), np.diff(one.successors.indptr))
    a, b = of[sources], of[one.successors.indices]
    known = (a >= 0) & (b >= 0)
    if not known.any():
        return float("nan")
    theirs = np.repeat(np.arange(other.n_tasks), np.diff(other.successors.indptr)) * other.n_tasks
    return float(np.isin(a[known] * other.n_tasks + b[known], theirs + other.successors.indices).mean())


Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TraceCurves:
    """Seconds of a step's tasks in recordings on different numbers of threads.

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
        Matches and all mismatches, in sentences.

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
        Interpolation between measured widths.

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
        """Return itself: the error of a task that ran once on each width is unknown."""
        return self


def curves_from_traces(graphs: Sequence[TaskGraph], widths: Sequence[int] | None = None) -> TraceCurves:
    """Return measured widths from two or more imported graphs of the same step.

    Parameters
    ----------
    graphs : sequence of TaskGraph
        The same step, recorded on different numbers of threads; the first one's tasks are those of the result.
    widths : sequence of int, optional
        Threads that each was recorded with: most formats lack it. The widest task of each graph when not given.

    Returns
    -------
    TraceCurves
        Points are medians over all tasks of a kind and shape present in every recording; their spread is half the
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
        raise CostError(f"a curve needs recordings on two or more numbers of threads; got {len(graphs)}")
    threads = [int(g.widths.max(initial=1)) for g in graphs] if widths is None else [int(w) for w in widths]
    if len(threads) != len(graphs) or min(threads) < 1 or len(set(threads)) < len(threads):
        raise CostError(
            f"{len(graphs)} recordings on {threads} threads; expected a different number for each. Where the files "
            "do not state it: curves_from_traces(graphs, widths=[1, 2])"
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
            f"{counted(too_short, 'kind and shape', 'kinds and shapes')} left out: no common task of some duration"
        )
    return TraceCurves(by_width, seconds, ops, matches, tuple(notes))


def _taken(graph: TaskGraph, found: Match) -> Array:
    return np.asarray(np.append(graph.durations_s, np.nan)[found.of])


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
    sharing: Sharing = "apart" if width == 1 else "shared"
    return Point(width, middle, sharing, (high - low) / 2 / middle, len(seconds))


def _said(first: TaskGraph, matches: Sequence[Match], threads: Sequence[int]) -> list[str]:
    notes = []
    for found, width in zip(matches, threads, strict=True):
        ways = ", ".join(f"{count} by {way}" for way, count in found.by.items() if count)
        same = "" if np.isnan(found.edges_kept) else f"; {found.edges_kept:.1%} of their edges are the same"
        matched = f"{int((found.of >= 0).sum())} of {first.n_tasks} tasks matched ({ways or 'none'})"
        notes.append(f"on {width} threads: {matched}{same}")
        notes += found.notes
    return notes
