"""What each task read and wrote: shapes, bytes and operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simsched.graph.shapes import format_shape, numel
from simsched.traces.tensorflow.flops import flops, plain_op
from simsched.traces.tensorflow.join import base_name, slot_of
from simsched.traces.tensorflow.records import Definition, Dims, Tensor
from simsched.traces.tensorflow.run import Joined
from simsched.traces.tensorflow.windows import shape_attributes

#: Bytes of one element; a resource is a handle to what other ops read.
ITEMSIZE_B = {
    **dict.fromkeys(["UINT8", "INT8", "BOOL", "QINT8", "QUINT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN"], 1.0),
    **dict.fromkeys(["FLOAT8_E4M3FNUZ", "FLOAT8_E4M3B11FNUZ", "FLOAT8_E5M2FNUZ"], 1.0),
    **dict.fromkeys(["INT16", "UINT16", "HALF", "BFLOAT16", "QINT16", "QUINT16"], 2.0),
    **dict.fromkeys(["FLOAT", "INT32", "UINT32", "QINT32"], 4.0),
    **dict.fromkeys(["DOUBLE", "INT64", "UINT64", "COMPLEX64"], 8.0),
    "COMPLEX128": 16.0,
    "RESOURCE": 0.0,
}


@dataclass(frozen=True)
class Size:
    """Shapes of a task's inputs and strides as text, its operations and bytes; "" and NaN where not known."""

    shape: str
    flops: float
    bytes_B: float


UNKNOWN = Size("", math.nan, math.nan)


#: The tensors that each node made, by graph and name, then by slot.
Made = dict[tuple[int, str], dict[int, Tensor]]


def sizes(run: Joined) -> list[Size]:
    """Return the size of every task, from the outputs that executions recorded and the attributes of nodes."""
    made: Made = {}
    for task, node in zip(run.tasks, run.nodes, strict=True):
        outputs = made.setdefault((node.graph, node.name), {})
        outputs.update(task.outputs)
        told = str(node.attributes.get("T", ""))
        for slot, dims in enumerate(node.shapes):
            outputs.setdefault(slot, Tensor(told, dims))
    return [_size(made, node) for node in run.nodes]


def _size(made: Made, node: Definition) -> Size:
    reads = [name for name in node.inputs if not name.startswith("^")]
    inputs = [made.get((node.graph, base_name(name)), {}).get(slot_of(name)) for name in reads]
    outputs = [tensor for _, tensor in sorted(made[node.graph, node.name].items())]
    if any(t is None or t.dims is None for t in inputs):
        return UNKNOWN
    shapes = [t.dims for t in inputs if t is not None and t.dims is not None]
    results: list[Dims] = [t.dims for t in outputs if t.dims is not None]
    work = flops(node.op, shapes, results, node.attributes)
    known = len(results) == len(outputs)
    size_B = _bytes([t for t in inputs if t is not None] + outputs) if known else math.nan
    attributes = shape_attributes(plain_op(node.op), shapes, results, node.attributes)
    return Size(format_shape(shapes, attributes), work, size_B)


def _bytes(tensors: Sequence[Tensor]) -> float:
    return sum((ITEMSIZE_B.get(t.dtype, math.nan) * numel(t.dims or ()) for t in tensors), 0.0)
