"""What TensorFlow's files hold, as plain values: nodes as defined, and their executions with whole nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.graph.shapes import MAX_RANK, numel
from simsched.traces.shared.json_stream import shown
from simsched.traces.tensorflow.flops import ATTRIBUTES as WINDOWS
from simsched.traces.tensorflow.wire import DTYPES, REFERENCE

Dims = tuple[int, ...]
MAX_ELEMENTS = 2.0**62
#: The attributes of a node that anything here depends on.
ATTRIBUTES = WINDOWS | {"T", "adj_x", "adj_y", "transpose_a", "transpose_b",
                        "tensor_name", "send_device", "recv_device"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: its element type (`FLOAT`), and its dimensions; None where they are not told."""

    dtype: str
    dims: Dims | None


@dataclass(frozen=True, slots=True)
class Definition:
    """A node of a graph, or what an execution's label tells of it.

    Parameters
    ----------
    graph : int
        Number of the graph that it is of: inputs are nodes of the same one.
    name, op, device : str
        As in the file.
    inputs : tuple of str
        `x`, `x:1` (its second output), `^x` (only after it).
    attributes : mapping
        Those in `ATTRIBUTES`.
    shapes : tuple of (tuple of int or None)
        Its outputs' shapes by the attribute `_output_shapes` or `shape`; () where it has none.
    in_function : bool
        Whether its graph is that of a function.
    """

    graph: int
    name: str
    op: str
    inputs: tuple[str, ...]
    device: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    shapes: tuple[Dims | None, ...] = ()
    in_function: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a node.

    Parameters
    ----------
    place : int
        Its number in the file, from 0.
    name, device : str
        Of the node.
    label : Definition
        What the recording itself tells of the node.
    scheduled_ns, start_ns, op_ns, finish_ns : int
        When it was ready (0 where not told), when a thread took it, how long its kernel took (that of the whole
        where not told), and when it was done.
    thread : int
        Number of its thread; 0 for all in most files.
    outputs : mapping of int to Tensor
        By slot.
    """

    place: int
    name: str
    device: str
    label: Definition
    scheduled_ns: int
    start_ns: int
    op_ns: int
    finish_ns: int
    thread: int = 0
    outputs: Mapping[int, Tensor] = field(default_factory=dict)


def execution(path: Path, place: int, device: str, stats: Any) -> Execution | None:
    """Return a message `NodeExecStats` as plain values; None for one without a time.

    Raises
    ------
    FormatError
        If it has no name, or a time or a shape is impossible.
    """
    name = plain_text(stats.node_name)
    if not name:
        raise FormatError(f"{path}: record {place} of {shown(device)} has no node_name; is this RunMetadata?")
    where = f"{path}: record {place} ({shown(name)})"
    unit, factor = ("nanos", 1) if stats.all_start_nanos else ("micros", 1000)
    start = getattr(stats, f"all_start_{unit}")
    if not start:
        return None
    rel = [getattr(stats, f"{point}_rel_{unit}") for point in ("op_start", "op_end", "all_end")]
    for value in (start, *rel):
        # Its sign is its only limit: lengths are checked against each other once all are known.
        if value < 0:
            raise FormatError(f"{where}: a time of {value} {unit}; expected none below zero")
    op = max(rel[1] - rel[0], 0) if rel[1] else max(rel)
    return Execution(
        place, name, device, from_label(name, plain_text(stats.timeline_label)),
        getattr(stats, f"scheduled_{unit}") * factor, start * factor, op * factor,
        (start + max(rel)) * factor, stats.thread_id, _outputs(where, stats.output),
    )  # fmt: skip


def from_label(name: str, label: str) -> Definition:
    """Return what a timeline label tells of a node.

    Examples
    --------
    >>> from_label("add", "[cpu 1MB] add = AddV2(x:1, ^y)").inputs
    ('x:1', '^y')
    """
    op, _, inputs = label.partition(f"{name} = ")[2].partition("(")
    if not inputs.endswith(")") or " " in op:
        return Definition(-1, name, "", ())
    return Definition(-1, name, op, tuple(inputs[:-1].split(", ")) if len(inputs) > 1 else ())


def definition(path: Path, graph: int, node: Any, in_function: bool) -> Definition:
    """Return a message `NodeDef` as plain values.

    Raises
    ------
    FormatError
        If it has no name, or a shape is impossible.
    """
    name = plain_text(node.name)
    if not name:
        raise FormatError(f"{path}: a node of graph {graph} has no name; is this a GraphDef?")
    told: dict[str, Any] = {}
    shapes: tuple[Dims | None, ...] = ()
    for attribute in node.attr:
        key = plain_text(attribute.key)
        if key in ATTRIBUTES:
            told[key] = _value(attribute.value)
        elif key == "_output_shapes":
            shapes = tuple(_dims(f"{path}: node {shown(name)}", s) for s in attribute.value.list.shape)
        elif key == "shape" and not shapes and attribute.value.HasField("shape"):
            shapes = (_dims(f"{path}: node {shown(name)}", attribute.value.shape),)
    inputs = tuple(map(plain_text, node.input))
    return Definition(
        graph, name, plain_text(node.op), inputs, plain_text(node.device), told, shapes, in_function
    )


def _value(value: Any) -> Any:
    """Return an attribute's value: a number, a truth, a text, or a tuple of numbers."""
    if value.HasField("list"):
        return tuple(value.list.i)
    if value.HasField("s"):
        return plain_text(value.s)
    if value.HasField("type"):
        return dtype(value.type)
    return value.i if value.HasField("i") else value.b


def dtype(number: int) -> str:
    """Return the name of an element type; that of what it refers to for a reference.

    Examples
    --------
    >>> dtype(1), dtype(101), dtype(12345)
    ('FLOAT', 'FLOAT', '')
    """
    number -= REFERENCE if number > REFERENCE else 0
    return DTYPES[number] if number < len(DTYPES) else ""


def _outputs(where: str, outputs: Iterable[Any]) -> dict[int, Tensor]:
    told: dict[int, Tensor] = {}
    for output in outputs:
        tensor = output.tensor_description
        dims = _dims(where, tensor.shape) if tensor.HasField("shape") else None
        told[output.slot] = Tensor(dtype(tensor.dtype), dims)
    return told


def _dims(where: str, shape: Any) -> Dims | None:
    """Return dimensions; None where one is not known."""
    if len(shape.dim) > MAX_RANK:
        raise FormatError(f"{where}: a shape of {len(shape.dim)} dimensions; expected at most {MAX_RANK}")
    dims = tuple(d.size for d in shape.dim)
    if shape.unknown_rank or any(d < 0 for d in dims):
        return None
    if numel(dims) > MAX_ELEMENTS:
        raise FormatError(f"{where}: shape {shown(list(dims))}; expected at most 2**62 elements")
    return dims
