"""Contents of TensorFlow's files as plain values: nodes as defined, and their executions while they are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.graph.shapes import MAX_RANK, numel
from simsched.multimap import multimap
from simsched.traces.shared.json_stream import shown
from simsched.traces.tensorflow.flops import ATTRIBUTES as WINDOWS
from simsched.traces.tensorflow.messages import DTYPES, REFERENCE

Dims = tuple[int, ...]
MAX_ELEMENTS = 2.0**62
#: The attributes of a node used here.
ATTRIBUTES = WINDOWS | {"T", "adj_x", "adj_y", "transpose_a", "transpose_b",
                        "tensor_name", "send_device", "recv_device"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: its element type (`FLOAT`), and its dimensions; None where they are unknown."""

    dtype: str
    dims: Dims | None


@dataclass(frozen=True, slots=True)
class Definition:
    """A node of a graph, or of an execution's label.

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
        The recording's own data of the node.
    scheduled_ns, start_ns, op_ns, finish_ns : int
        When it was ready (0 where unknown), when a thread took it, how long its kernel took (that of the whole
        where unknown), and when it was done.
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
    if not (name := plain_text(stats.node_name)):
        raise FormatError(f"{path}: record {place} of {shown(device)} has no node_name; is this RunMetadata?")
    where = f"{path}: record {place} ({shown(name)})"
    unit, factor = ("nanos", 1) if stats.all_start_nanos else ("micros", 1000)
    if not (start := getattr(stats, f"all_start_{unit}")):
        return None
    rel = [getattr(stats, f"{point}_rel_{unit}") for point in ("op_start", "op_end", "all_end")]
    for value in (start, *rel):
        # Only its sign is checked here: lengths are compared once all are known.
        if value < 0:
            raise FormatError(f"{where}: a time of {value} {unit}; expected none below zero")
    op = max(rel[1] - rel[0], 0) if rel[1] else max(rel)
    return Execution(
        place, name, device, _from_label(name, plain_text(stats.timeline_label)),
        getattr(stats, f"scheduled_{unit}") * factor, start * factor, op * factor,
        (start + max(rel)) * factor, stats.thread_id, _outputs(where, stats.output),
    )  # fmt: skip


def _from_label(name: str, label: str) -> Definition:
    """Return the node in a timeline label.

    Examples
    --------
    >>> _from_label("add", "[cpu 1MB] add = AddV2(x:1, ^y)").inputs
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
    if not (name := plain_text(node.name)):
        raise FormatError(f"{path}: a node of graph {graph} has no name; is this a GraphDef?")
    kept: dict[str, Any] = {}
    shapes: tuple[Dims | None, ...] = ()
    for attribute in node.attr:
        key = plain_text(attribute.key)
        if key in ATTRIBUTES:
            kept[key] = _value(attribute.value)
        elif key == "_output_shapes":
            shapes = tuple(_dims(f"{path}: node {shown(name)}", s) for s in attribute.value.list.shape)
        elif key == "shape" and not shapes and attribute.value.HasField("shape"):
            shapes = (_dims(f"{path}: node {shown(name)}", attribute.value.shape),)
    inputs = tuple(map(plain_text, node.input))
    return Definition(
        graph, name, plain_text(node.op), inputs, plain_text(node.device), kept, shapes, in_function
    )


def _value(value: Any) -> Any:
    """Return an attribute's value: a number, a bool, a text, or a tuple of numbers."""
    if value.HasField("list"):
        return tuple(value.list.i)
    if value.HasField("s"):
        return plain_text(value.s)
    if value.HasField("type"):
        return dtype(value.type)
    return value.i if value.HasField("i") else value.b


def dtype(number: int) -> str:
    """Return the name of an element type; for a reference, that of its target.

    Examples
    --------
    >>> dtype(1), dtype(101), dtype(12345)
    ('FLOAT', 'FLOAT', '')
    """
    number -= REFERENCE if number > REFERENCE else 0
    return DTYPES[number] if number < len(DTYPES) else ""


def _outputs(where: str, outputs: Iterable[Any]) -> dict[int, Tensor]:
    kept: dict[int, Tensor] = {}
    for output in outputs:
        tensor = output.tensor_description
        dims = _dims(where, tensor.shape) if tensor.HasField("shape") else None
        kept[output.slot] = Tensor(dtype(tensor.dtype), dims)
    return kept


def _dims(where: str, shape: Any) -> Dims | None:
    """Return dimensions; None where one is unknown."""
    if len(shape.dim) > MAX_RANK:
        raise FormatError(f"{where}: a shape of {len(shape.dim)} dimensions; expected at most {MAX_RANK}")
    dims = tuple(d.size for d in shape.dim)
    if shape.unknown_rank or any(d < 0 for d in dims):
        return None
    if numel(dims) > MAX_ELEMENTS:
        raise FormatError(f"{where}: shape {shown(list(dims))}; expected at most 2**62 elements")
    return dims


#: Nodes that did not run can join each of their inputs with each of their readers.
MAX_STEPS = 8_000_000


@dataclass
class Joined:
    """Tasks by start, their nodes and edges, and findings of the import.

    Parameters
    ----------
    tasks : list of Execution
        By start, finish and place in the file.
    nodes : list of Definition
        The node of each task.
    matched : int
        Tasks whose node is in a graph; those of the others come from the recording's labels.
    edges : set of (int, int)
        Before, after: indices of tasks.
    control : int
        How many edges only carry order, no data.
    repeated : int
        Nodes that ran more than once.
    ambiguous : int
        Tasks whose name is in several graphs.
    unpaired : int
        Inputs of an execution of which no execution was early enough.
    starts_ns : list of int
        When each task really began: a receive waits for its send, a call for its function.
    waits : int
        How many receives were shortened so.
    calls : int
        How many calls of functions were, to nothing.
    """

    tasks: list[Execution]
    nodes: list[Definition]
    matched: int
    edges: set[tuple[int, int]] = field(default_factory=set)
    control: int = 0
    repeated: int = 0
    ambiguous: int = 0
    unpaired: int = 0
    starts_ns: list[int] = field(default_factory=list)
    waits: int = 0
    calls: int = 0


_STREAM = re.compile(r"/stream:(\w+)")
#: Of a kernel's label `details @@node:Op#...`.
_ANNOTATION = re.compile(r"@@([^#]*)#?")


def split(executions: Iterable[Execution]) -> tuple[list[Execution], list[Execution], int]:
    """Return ops, kernels, and the number of dropped records: the copies in `stream:all` and `memcpy`.

    Where there is no numbered stream, `stream:all` is not a copy.
    """
    ops, streams, others = [], [], []
    for execution in executions:
        match = _STREAM.search(execution.device)
        if match is None and "/memcpy" not in execution.device:
            ops.append(execution)
        elif match is not None and match[1] != "all":
            streams.append(execution)
        else:
            others.append(execution)
    kernels = streams or [e for e in others if _STREAM.search(e.device)]
    return ops, [_as_kernel(e) for e in kernels], len(others) + len(streams) - len(kernels)


def _launcher(kernel: Execution) -> tuple[str, str]:
    """Return name and op of the node that started a kernel, "" where it is unknown."""
    match = _ANNOTATION.search(kernel.label.name)
    name, _, op = (match[1] if match else kernel.name).partition(":")
    return name, op


def _as_kernel(execution: Execution) -> Execution:
    _, op = _launcher(execution)
    label = replace(execution.label, name=execution.name, op=op or execution.label.op or "kernel", inputs=())
    return replace(execution, label=label)


def add_kernels(run: Joined, kernels: Sequence[Execution]) -> int:
    """Add kernels as tasks, each after the op that started it and the one before it on its stream.

    Returns
    -------
    int
        How many kernels have no such op.
    """
    first = len(run.tasks)
    ops = multimap((execution.name, task) for task, execution in enumerate(run.tasks))
    on_stream: dict[str, list[int]] = {}
    unowned = 0
    for i, kernel in enumerate(sorted(kernels, key=lambda e: (e.start_ns, e.finish_ns, e.place)), first):
        run.tasks.append(kernel)
        run.nodes.append(kernel.label)
        run.starts_ns.append(kernel.start_ns)
        on_stream.setdefault(kernel.device, []).append(i)
        started = [
            op for op in ops.get(_launcher(kernel)[0], ()) if run.tasks[op].start_ns <= kernel.start_ns
        ]
        if started:
            run.edges.add((started[-1], i))
        unowned += not started
    for tasks in on_stream.values():
        run.edges.update(pairwise(tasks))
    return unowned
