"""What the nodes of a graph cost: operations and bytes by shape, also of the graphs that they run themselves."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simsched.graph.shapes import format_shape
from simsched.traces.onnx.flops import flops, shape_attributes
from simsched.traces.onnx.model import Node, declared, initialisers, plain_node
from simsched.traces.onnx.proto import Tensor, bodies, dims, element, tensor_bytes

#: Ops that rename memory, and move none.
VIEWS = frozenset(
    {"Flatten", "Identity", "Optional", "OptionalGetElement", "Reshape", "Squeeze", "Unsqueeze"}
)
#: Lists of tensors: their items are not copied.
VIEWS |= {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert"}
#: Describing a tensor without reading it.
DESCRIBE = frozenset({"OptionalHasElement", "SequenceLength", "Shape", "Size"})
#: Reading as much of their first input as they write, whatever its size: rows of a table, parts of a tensor.
PICK = frozenset({"Gather", "GatherElements", "GatherND", "GatherBlockQuantized", "Slice"})


def moved_bytes(op_type: str, inputs: Sequence[Tensor] | None, outputs: Sequence[Tensor] | None) -> float:
    """Return the bytes of one call of an operator: its inputs and outputs once each, unless it is known to move less.

    Parameters
    ----------
    op_type : str
        `MatMul`, `Conv`, ...
    inputs, outputs : sequences of Tensor, or None
        With all dimensions known; None where one is not.

    Returns
    -------
    float
        Bytes; NaN where that takes a shape that is not known, or the size of an element, as of a string.

    Examples
    --------
    >>> moved_bytes("Add", [Tensor("float", (8,)), Tensor("float", (1,))], [Tensor("float", (8,))])
    68.0
    >>> moved_bytes("Gather", [Tensor("float", (1000, 8)), Tensor("int64", (2,))], [Tensor("float", (2, 8))])
    144.0
    """
    if op_type in VIEWS:
        return 0.0
    if outputs is None:
        return math.nan
    written_B = tensor_bytes(outputs)
    if op_type in DESCRIBE:
        return float(written_B)
    if inputs is None:
        return math.nan
    if op_type in PICK:
        return float(2 * written_B + tensor_bytes(inputs[1:]))
    return float(written_B + tensor_bytes(inputs))


class Inside(NamedTuple):
    """Operations and bytes of the graphs that a node runs.

    Of branches the dearest counts, of a loop all turns, or one where the model does not say how many.

    Parameters
    ----------
    flops, bytes_B : float
        Of what is known in them; NaN where nothing is.
    turns : int
        0 where unknown.
    whole : bool
        Whether operations and bytes of all that is in them are known.
    """

    flops: float
    bytes_B: float
    turns: int
    whole: bool


@dataclass(frozen=True)
class Row:
    """A node, its tensors (None where a shape is unknown), and what it runs itself."""

    node: Node
    inputs: tuple[Tensor, ...] | None
    outputs: tuple[Tensor, ...] | None
    inside: Inside | None = None

    @property
    def shape(self) -> str:
        """Shapes of the inputs as text, with strides and the like; "" where one is unknown."""
        read = [tuple(map(int, dims(tensor))) for tensor in self.inputs or ()]
        kind, own = self.node.op_type, self.node.attributes
        return format_shape(read, shape_attributes(kind, read, own), element(kind, self.inputs or ()))

    @property
    def flops(self) -> float:
        """Operations; NaN where operator or shapes are unknown."""
        if self.inside:
            return self.inside.flops
        read, written = (tuple(map(dims, tensors or ())) for tensors in (self.inputs, self.outputs))
        return flops(self.node.op_type, read, written, self.node.attributes)

    @property
    def bytes_B(self) -> float:
        """Bytes moved; NaN where shapes are unknown."""
        if self.inside and not math.isnan(self.inside.bytes_B):
            return self.inside.bytes_B
        return moved_bytes(self.node.op_type, self.inputs, self.outputs)

    @property
    def unsized(self) -> bool:
        """Whether the shape of an input or output is unknown."""
        return self.inputs is None or self.outputs is None


#: A loop that is told to run more often than this ends by its condition.
MOST_TURNS = 2**31


def rows_of(file: Path, nodes: Sequence[Node], graph: Any, known: Mapping[str, Tensor]) -> list[Row | None]:
    """Return the row of each node of a model's outermost graph; None for constants.

    Parameters
    ----------
    file : Path
        Named in errors.
    nodes : sequence of Node
    graph : GraphProto
        The same nodes, in whose bodies shapes are inferred.
    known : mapping of str to Tensor

    Raises
    ------
    FormatError
        If a constant within a body has an impossible shape.
    """
    within = _Graph(file, dict(known), dict(_counts(graph)))
    inside = [within.inside(node) for node in graph.node]
    return [
        None if node.op_type == "Constant" else _row(node, known, its)
        for node, its in zip(nodes, inside, strict=True)
    ]


@dataclass(frozen=True)
class _Graph:
    """What is known around a node: tensors, and constants that are whole numbers."""

    file: Path
    known: MutableMapping[str, Tensor]
    counts: MutableMapping[str, int]

    def inside(self, node: Any) -> Inside | None:
        """Return the work of the graphs that a node runs; None where it runs none."""
        works = [self._body(body) for body in bodies(node)]
        if not works:
            return None
        turns = self._turns(node)
        flop, moved_B, whole = zip(*works, strict=True)
        return Inside(
            # Of both the largest that is known.
            max(turns, 1) * float(np.fmax.reduce(flop)),
            max(turns, 1) * float(np.fmax.reduce(moved_B)),
            turns,
            all(whole),
        )

    def _body(self, body: Any) -> tuple[float, float, bool]:
        own = {**dict(declared(body)), **dict(initialisers(self.file, body))}
        here = _Graph(self.file, ChainMap(own, self.known), ChainMap(dict(_counts(body)), self.counts))
        rows = [
            _row(plain_node(node), here.known, here.inside(node))
            for node in body.node
            if node.op_type != "Constant"
        ]
        flop, moved_B = [row.flops for row in rows], [row.bytes_B for row in rows]
        whole = not any(map(math.isnan, [*flop, *moved_B])) and all(
            row.inside is None or row.inside.whole for row in rows
        )
        return _of_known(flop), _of_known(moved_B), whole

    def _turns(self, node: Any) -> int:
        """Return how often a node runs its graph; 0 where the model does not say."""
        if node.op_type == "Loop":
            turns = self.counts.get(str(node.input[0]), 0) if node.input else 0
            return turns if 0 < turns < MOST_TURNS else 0
        if node.op_type == "Scan":
            scanned = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
            first = self.known.get(str(node.input[-scanned])) if 0 < scanned <= len(node.input) else None
            axis = next((a.ints[0] for a in node.attribute if a.name == "scan_input_axes" and a.ints), 0)
            return (first.dims[axis] or 0) if first and -len(first.dims) <= axis < len(first.dims) else 0
        return 1


def _of_known(values: Sequence[float]) -> float:
    """Return the sum of the known values; NaN where there are values and none is known."""
    known = [value for value in values if not math.isnan(value)]
    return float(sum(known)) if known or not values else math.nan


def _counts(graph: Any) -> Iterator[tuple[str, int]]:
    """Yield the constants of a graph that are one 64-bit integer."""
    tensors = [(str(one.name), one) for one in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            yield from ((str(node.output[0]), int(a.i)) for a in node.attribute if a.name == "value_int")
            tensors += [(str(node.output[0]), a.t) for a in node.attribute if a.name == "value"]
    for name, tensor in tensors:
        # 7 is INT64.
        if tensor.data_type == 7 and len(tensor.int64_data) == 1:
            yield name, int(tensor.int64_data[0])
        elif tensor.data_type == 7 and len(tensor.raw_data) == 8:
            yield name, int.from_bytes(tensor.raw_data, "little", signed=True)


def _row(node: Node, known: Mapping[str, Tensor], inside: Inside | None) -> Row:
    # Inference does not cover all optional outputs, such as Dropout's mask.
    produced = [name for i, name in enumerate(node.outputs) if i == 0 or name in known]
    return Row(node, _known(node.inputs, known), _known(produced, known), inside)


def _known(names: Sequence[str], known: Mapping[str, Tensor]) -> tuple[Tensor, ...] | None:
    tensors = [known.get(name) for name in names]
    return (
        tuple(t for t in tensors if t is not None) if all(t and None not in t.dims for t in tensors) else None
    )
