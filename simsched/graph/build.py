"""Building a `TaskGraph` from arrays, with every check that keeps a wrong graph out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Csr, find_cycle, from_edges, topological_order
from simsched.graph.columns import LabelColumn, TextColumn
from simsched.graph.report import ImportReport
from simsched.graph.shapes import Shape, format_shape, parse_shape
from simsched.graph.taskgraph import RecordedOn, Recording, Seconds, TaskGraph

MAX_TASKS = 2**31 - 1


def build(
    durations_s: npt.ArrayLike,
    edges: npt.ArrayLike | Iterable[Sequence[int]],
    *,
    kinds: Sequence[str] | str | None,
    names: Sequence[str] | None,
    shapes: Sequence[str | Shape] | None,
    scopes: Sequence[str] | None,
    flops: npt.ArrayLike | None,
    bytes_B: npt.ArrayLike | None,
    widths: npt.ArrayLike,
    name: str,
    recorded_on: RecordedOn | None,
    report: ImportReport | None,
    recording: Recording | None,
) -> TaskGraph:
    """Check and store; see `TaskGraph.from_edges`."""
    report = report or ImportReport("edges")
    durations = _numbers(durations_s, None, "duration", "seconds")
    n = len(durations)
    if n > MAX_TASKS:
        raise GraphError(f"{n} tasks are more than {MAX_TASKS}, the most a graph can hold")
    graph = TaskGraph(
        successors=_adjacency(n, edges, names, report),
        durations_s=durations,
        widths=_widths(widths, n),
        flops=_numbers(np.full(n, np.nan) if flops is None else flops, n, "FLOPs", "operations"),
        bytes_B=_numbers(np.full(n, np.nan) if bytes_B is None else bytes_B, n, "bytes", "bytes"),
        kinds=_labels(kinds, n, "kinds"),
        shapes=_labels(None if shapes is None else _shape_texts(shapes), n, "shapes"),
        scopes=_labels(scopes, n, "scopes"),
        names=None if names is None else TextColumn.from_strings(_of_length(names, n, "names")),
        name=name,
        recorded_on=recorded_on,
        report=report,
        recording=recording,
    )
    report.facts.setdefault("tasks", graph.n_tasks)
    report.facts.setdefault("edges", graph.n_edges)
    return graph


def _numbers(values: npt.ArrayLike, n: int | None, what: str, unit: str) -> Seconds:
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError(f"the {what} column is not a list of numbers: {error}") from None
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise GraphError(f"the {what} column has shape {array.shape}; expected ({'n' if n is None else n},)")
    bad = np.flatnonzero((array < 0) | np.isinf(array))
    if len(bad):
        raise GraphError(
            f"task {bad[0]} has {what} {array[bad[0]]} {unit}; it must be zero or more and finite, or NaN where "
            f"unknown ({len(bad)} such tasks)"
        )
    return array


def _widths(values: npt.ArrayLike, n: int) -> npt.NDArray[np.int32]:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim > 1 or (array.ndim == 1 and len(array) != n):
        raise GraphError(f"widths are whole numbers of threads, one for all or one a task; got {array.dtype} {array.shape}")
    array = np.broadcast_to(array, (n,)).astype(np.int32)
    if n and array.min() < 1:
        raise GraphError(f"task {int(array.argmin())} was recorded with {array.min()} threads; the least is 1")
    return array


def _of_length(values: Sequence[str], n: int, what: str) -> Sequence[str]:
    if len(values) != n:
        raise GraphError(f"{len(values)} {what} for {n} tasks")
    return values


def _labels(values: Sequence[str] | str | None, n: int, what: str) -> LabelColumn:
    if values is None or isinstance(values, str):
        return LabelColumn.constant(values or "", n)
    return LabelColumn.from_strings(_of_length(values, n, what))


def _shape_texts(shapes: Sequence[str | Shape]) -> list[str]:
    texts = [s if isinstance(s, str) else format_shape(s) for s in shapes]
    for text in set(texts):
        parse_shape(text)
    return texts


def _adjacency(
    n: int,
    edges: npt.ArrayLike | Iterable[Sequence[int]],
    names: Sequence[str] | None,
    report: ImportReport,
) -> Csr:
    pairs = _pairs(edges)
    sources, targets = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    outside = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= n).any(axis=1))
    if len(outside):
        a, b = pairs[outside[0]].tolist()
        raise GraphError(f"edge {outside[0]} ({a} -> {b}) leaves the graph, whose tasks are 0 to {n - 1}")
    loops = np.flatnonzero(sources == targets)
    if len(loops):
        raise GraphError(f"edge {loops[0]} is a self-loop on {_called(int(sources[loops[0]]), names)}")
    successors, merged = from_edges(n, sources, targets)
    if merged:
        report.note(f"{merged} duplicate edges were merged")
    if topological_order(successors) is None:
        raise GraphError(f"the graph has a cycle: {_cycle_story(find_cycle(successors), names)}")
    return successors


def _pairs(edges: npt.ArrayLike | Iterable[Sequence[int]]) -> npt.NDArray[np.integer]:
    try:
        array = np.asarray(edges if isinstance(edges, (np.ndarray, list, tuple)) else list(edges))  # type: ignore[arg-type]
    except ValueError as error:
        raise GraphError(f"edges are pairs of task indices; {error}") from None
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise GraphError(f"edges are an (m, 2) array of task indices; got {array.dtype} of shape {array.shape}")
    return array


def _called(task: int, names: Sequence[str] | None) -> str:
    return f"task {task}" + (f" {names[task]!r}" if names is not None else "")


def _cycle_story(cycle: list[int], names: Sequence[str] | None, most: int = 8) -> str:
    shown = [_called(t, names) for t in cycle[:most]]
    if len(cycle) > most:
        shown.append(f"... {len(cycle) - most} more")
    return " -> ".join([*shown, _called(cycle[0], names)])
