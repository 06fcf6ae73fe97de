"""Construction of a `TaskGraph` from arrays, with every check that keeps a wrong graph out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph import checks
from simsched.graph.adjacency import Csr
from simsched.graph.columns import Floats, LabelColumn, TextColumn, plain_text
from simsched.graph.data import DataObjects, of_edges, read_by, with_ends
from simsched.graph.edges import adjacency, pairs_of
from simsched.graph.recording import Origin, RecordedOn, Recording
from simsched.graph.report import ImportReport
from simsched.graph.shapes import Shape, format_shape, parse_shape
from simsched.later import later
from simsched.text import counted

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph

MAX_TASKS = 2**31 - 1


def build(
    durations_s: npt.ArrayLike,
    edges: npt.ArrayLike | Iterable[Sequence[int]] | Csr,
    *,
    kinds: Iterable[str] | str | None,
    names: Iterable[str] | None,
    shapes: Iterable[str | Shape] | str | None,
    scopes: Iterable[str] | str | None,
    flops: npt.ArrayLike | None,
    bytes_B: npt.ArrayLike | None,
    widths: npt.ArrayLike,
    name: str,
    recorded_on: Origin | None,
    report: ImportReport | None,
    recording: Recording | None,
    edge_bytes: npt.ArrayLike | None,
    edge_objects: npt.ArrayLike | None,
    input_bytes: npt.ArrayLike | None,
    output_bytes: npt.ArrayLike | None,
) -> TaskGraph:
    """Check and store; see `TaskGraph.from_edges`."""
    if report is not None and not isinstance(report, ImportReport):
        raise GraphError(f"report is {report!r:.80}; expected an ImportReport")
    report = report or ImportReport("edges")
    if edge_bytes is not None and not hasattr(edges, "__array__"):
        edges = pairs_of(edges)  # an iterator can be read only once
    durations, by_kind = checks.durations(durations_s)
    n = len(durations)
    if n > MAX_TASKS:
        raise GraphError(f"{n} tasks are more than {MAX_TASKS}, the most a graph can hold")
    texts = _names(names, n)
    successors, merged = adjacency(n, edges, lambda task: called(task, texts))
    data = _data(edges, edge_bytes, edge_objects)
    if data is not None and edge_objects is not None:
        merged = _repeated(edges, edge_objects, data)
    data = with_ends(data, _ends(input_bytes, n, "input_bytes"), _ends(output_bytes, n, "output_bytes"))
    graph = later("TaskGraph")(
        successors=successors,
        durations_s=durations,
        widths=checks.widths(widths, n),
        flops=checks.unknown(n) if flops is None else checks.numbers(flops, n, "FLOPs", "operations"),
        bytes_B=checks.unknown(n) if bytes_B is None else checks.numbers(bytes_B, n, "bytes_B", "bytes"),
        kinds=_labels(kinds, n, "kinds"),
        shapes=_labels(_shape_texts(shapes), n, "shapes"),
        scopes=_labels(scopes, n, "scopes"),
        names=texts,
        name=plain_text(name),
        recorded_on=None if recorded_on is None else RecordedOn.of(recorded_on),
        report=report,
        recording=checks.recording(recording, n),
        data=data,
        seconds_by_kind=by_kind,
    )
    _tell(report, graph, merged)
    return graph


def _data(
    edges: npt.ArrayLike | Iterable[Sequence[int]] | Csr,
    edge_bytes: npt.ArrayLike | None,
    edge_objects: npt.ArrayLike | None,
) -> DataObjects | None:
    if edge_bytes is None:
        if edge_objects is not None:
            raise GraphError("edge_objects without edge_bytes; give the bytes of each edge's object, too")
        return None
    return of_edges(edges, edge_bytes, edge_objects)


def _ends(given: npt.ArrayLike | None, n: int, what: str) -> Floats:
    """Return the bytes of what each task reads from home, or writes there; 0 for none."""
    return np.zeros(n) if given is None else checks.numbers(given, n, what, "bytes")


def _repeated(
    edges: npt.ArrayLike | Iterable[Sequence[int]] | Csr, edge_objects: npt.ArrayLike, data: DataObjects
) -> int:
    """Return how many edges are given twice with the same object, or with none."""
    pairs = pairs_of(edges)
    bare = pairs[np.flatnonzero(np.asarray(edge_objects) < 0)].astype(np.int64)
    apart = len(read_by(int(bare[:, 0].max(initial=-1)) + 1, bare[:, 0], bare[:, 1]).indices)
    return len(pairs) - len(data.readers.indices) - apart


def _tell(report: ImportReport, graph: TaskGraph, merged: int) -> None:
    tell_merged(report, merged)
    report.facts.setdefault("tasks", graph.n_tasks)
    report.facts.setdefault("edges", graph.n_edges)


def tell_merged(report: ImportReport, merged: int) -> None:
    """Note how many duplicate edges were merged, if any."""
    report.note(counted(merged, "duplicate edge was merged", "duplicate edges were merged"), when=merged)


def called(task: int, names: Sequence[str] | TextColumn | None) -> str:
    """Return a task's name in messages: `task 3`, or `task 3 'conv1'`."""
    return f"task {task}" + (f" {names[task]!r}" if names is not None else "")


def _names(values: Iterable[str] | None, n: int) -> TextColumn | None:
    if values is None:
        return None
    if isinstance(values, (str, bytes)):
        raise GraphError(f"names is one string, {values!r}; give a list with one name per task")
    checked = _of_length(values, n, "names")
    return checked if isinstance(checked, TextColumn) else TextColumn.from_strings(checked)


def _labels(values: Iterable[str] | str | None, n: int, what: str) -> LabelColumn:
    if values is None or isinstance(values, (str, bytes)):
        return LabelColumn.constant(plain_text(values), n)
    checked = _of_length(values, n, what)
    return checked if isinstance(checked, LabelColumn) else LabelColumn.from_strings(checked)


def _of_length(values: Iterable[str], n: int, what: str) -> Iterable[str]:
    try:
        sized = values if isinstance(values, Sized) else list(values)
    except TypeError:
        raise GraphError(f"{what} are {values!r}; give a list with one string per task") from None
    if len(sized) != n:
        raise GraphError(f"{len(sized)} {what} for {n} tasks; give one per task")
    return sized


def _shape_texts(shapes: Iterable[str | Shape] | str | None) -> list[str] | str | None:
    if shapes is None or isinstance(shapes, str):
        parse_shape(shapes or "")
        return shapes
    if not isinstance(shapes, Iterable):
        raise GraphError(f"shapes are {shapes!r}; give a list with the shapes of a task's inputs each")
    texts = [_shape_text(task, shape) for task, shape in enumerate(shapes)]
    for text in set(texts):
        parse_shape(text)
    return texts


def _shape_text(task: int, shape: str | Shape | None) -> str:
    if shape is None or isinstance(shape, str):
        return str(shape or "")
    try:
        return format_shape(shape)
    except TypeError:
        raise GraphError(
            f"task {task} has shape {shape!r}; give a tuple with one tuple per input, as ((64, 512), (512, 512))"
        ) from None
