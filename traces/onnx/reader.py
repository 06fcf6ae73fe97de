"""ONNX models alone: their graph, without times.

A task's cost follows from its operations and bytes, which follow from the shapes of its tensors.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, plain_name
from simsched.text import counted
from simsched.traces.onnx.model import Model, declared, edges, inlined, plain_model, tensors
from simsched.traces.onnx.proto import (
    Tensor,
    infer,
    open_dimensions,
    read_proto,
    sized,
    starts_as_model,
    tensor_bytes,
)
from simsched.traces.onnx.rows import Row, rows_of
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import whole_number

#: Example of sizes of dimensions, as text: `batch:8+seq:128`.
_SIZE = re.compile(r"(.+):([0-9]{1,9})")
MAX_SIZE = 10**9
#: Open dimensions and operators named in a report.
MOST_NAMES = 10


def _read(
    path: Path, *, dims: Mapping[str, int] | str | None = None, batch: int | str | None = None
) -> TaskGraph:
    """Return the graph of a model.

    Parameters
    ----------
    path : Path
        The model, plain or gzipped. Files with its weights are not needed and never opened.
    dims : mapping of str to int, or str, optional
        Sizes of dimensions that the model leaves open, by name: `{"batch": 8}` or `"batch:8+seq:128"`.
    batch : int or str, optional
        Size of the first dimension of every input that leaves it open.

    Raises
    ------
    FormatError
        If it is not a model, breaks ONNX's rules, or has no such dimension.
    GraphError
        If a number is impossible.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import onnx
    >>> import simsched as ss
    >>> model = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["" : 17]>
    ... net (float[2, 3] x) => (float[2, 3] z) { y = Relu(x)  z = Exp(y) }''')
    >>> with TemporaryDirectory() as folder:
    ...     onnx.save(model, f"{folder}/net.onnx")
    ...     graph = ss.load(f"{folder}/net.onnx")
    >>> graph.report.format, graph.kinds.to_list(), graph.flops.tolist(), graph.n_edges
    ('onnx', ['Relu', 'Exp'], [6.0, 6.0], 1)
    """
    report = ImportReport(path.name, "onnx")
    proto = read_proto(path)
    try:
        proto = inlined(path, proto, report)
        sized(path, proto, _sizes(path, dims), None if batch is None else _size(path, "batch", batch))
        model = plain_model(path, proto)
        _describe_proto(proto, model, report)
        inferred = infer(proto, report)
        model = replace(model, declared=dict(declared(inferred)))
        known = {**model.declared, **model.initialisers}
        kept = rows_of(path, model.nodes, inferred, known)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: a name in the model is not UTF-8 text: {error}") from None
    return _graph(path, model, known, kept, report)


ONNX = Reader(
    title="ONNX model (.onnx), without times: costs follow from operations and bytes",
    dependencies="tensors",
    times="none: from cost curves",
    options={
        "dims": "sizes of dimensions that the model leaves open, as batch:8+seq:128",
        "batch": "size of the first dimension of every input that leaves it open",
    },
    recognises=starts_as_model,
    read=_read,
)


def _sizes(path: Path, given: object) -> dict[str, int]:
    if given is None:
        return {}
    if isinstance(given, str):
        parts = [_SIZE.fullmatch(part) for part in given.split("+")]
        pairs = [(m[1], m[2]) for m in parts if m]
        if len(pairs) != len(parts):
            raise FormatError(
                f"{path}: dims is {shown(given)}, expected name:size+name:size, as batch:8+seq:128"
            )
        given = dict(pairs)
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise FormatError(f"{path}: dims is {shown(given)}, expected sizes by name, as batch:8+seq:128")
    return {name: _size(path, f"dims of {shown(name)}", size) for name, size in given.items()}


def _size(path: Path, option: str, given: object) -> int:
    return whole_number(path, option, given, range(1, MAX_SIZE + 1), f"a whole number of 1 to {MAX_SIZE}")


def _graph(
    path: Path, model: Model, known: Mapping[str, Tensor], kept: Sequence[Row | None], report: ImportReport
) -> TaskGraph:
    rows = [row for row in kept if row is not None]
    if not rows:
        raise FormatError(f"{path}: the model has no nodes but constants: there is nothing to run")
    index = {place: i for i, place in enumerate(place for place, row in enumerate(kept) if row is not None)}
    flop = [row.flops for row in rows]
    _describe(report, rows, flop)
    graph = TaskGraph.from_edges(
        [math.nan] * len(rows),
        [(index[a], index[b]) for a, b in edges(model, kept)],
        kinds=[row.node.op_type for row in rows],
        names=[row.node.name or f"{row.node.op_type}_{i}" for i, row in enumerate(rows)],
        shapes=[row.shape for row in rows],
        scopes=[row.node.scope for row in rows],
        flops=flop,
        bytes_B=[row.bytes_B for row in rows],
        name=plain_name(path, ".onnx"),
        report=report,
    )
    return tensors([row.node for row in rows], known).on(graph)


def _describe_proto(proto: Any, model: Model, report: ImportReport) -> None:
    facts = report.facts
    facts.update(
        opset=max((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), default="none"),
        nodes=len(model.nodes),
        constants=sum(node.op_type == "Constant" for node in model.nodes),
        weights_B=float(tensor_bytes(model.initialisers.values())),
    )
    if names := open_dimensions(proto):
        facts["open_dimensions"] = ", ".join(shown(n)[1:-1] for n in names[:MOST_NAMES])


def _advice(open_: str) -> str:
    """Return what to write for the dimensions that are still open."""
    first = open_.partition(", ")[0]
    return f"; still open: {open_}; give sizes, as dims={first}:8"


def _describe(report: ImportReport, rows: Sequence[Row], flop: Sequence[float]) -> None:
    facts = report.facts
    unsized = sum(math.isnan(row.bytes_B) for row in rows)
    facts.update(
        tasks_without_shapes=unsized,
        tasks_without_flops=sum(map(math.isnan, flop)),
        flops=math.fsum(f for f in flop if f < math.inf),
    )
    report.note("The model records no times: simulate() takes them from the machine's cost curves.")
    if unsized:
        advice = _advice(str(facts["open_dimensions"])) if "open_dimensions" in facts else ""
        facts["durations_why"] = f"not all shapes are known{advice}"
        tasks = counted(unsized, "task")
        report.note(f"Of {tasks} not all shapes are known, so that what they cost is not known{advice}.")
    inside = Counter((row.node.op_type, row.inside.turns < 1, row.inside.whole) for row in rows if row.inside)
    if inside:
        names = ", ".join(
            f"{n} {shown(kind)[1:-1]}{' (one turn, as the model does not say how many)' * once}"
            f"{' (some of it is unknown and left out)' * (not whole)}"
            for (kind, once, whole), n in sorted(inside.items())
        )
        report.doubt(
            f"What runs graphs of its own is one task each, with all that is in it, or in its dearest branch: {names}."
        )
    strange = Counter(
        row.node.op_type for row, f in zip(rows, flop, strict=True)
        if math.isnan(f) and not row.unsized and not row.node.has_body
    )  # fmt: skip
    if strange:
        names = ", ".join(f"{n} {shown(kind)[1:-1]}" for kind, n in strange.most_common(MOST_NAMES))
        report.doubt(f"Operations are not known of: {names}. Their bytes are all they cost.")
