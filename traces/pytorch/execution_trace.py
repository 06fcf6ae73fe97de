"""PyTorch's execution trace: the tensors of every call, by storage, and the ones written.

Schemas 1.0.1 (flat fields), 1.0.2, 1.0.3, 1.1.0 and 1.1.1 (attributes), with or without Chakra's suffix. A tensor is
written `[tensor id, storage id, offset, elements, bytes an element, device]`.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.loading import Mend
from simsched.graph.shapes import MAX_RANK, format_shape
from simsched.multimap import multimap
from simsched.traces.pytorch.aten import Call, Dims, flops, picks, shape_attributes
from simsched.traces.shared.elements import element_of
from simsched.traces.shared.json_elements import objects
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Place

MAX_DIM = 2**48
_TENSOR_TYPES = re.compile(r"Tensor\(((?:[^()]|\([^()]*\))*)\)")
_UNDEFINED = "nullptr"
#: Types of elements by their names in traces of PyTorch.
ELEMENT_NAMES = {
    "double": "fp64",
    "float": "fp32",
    "c10::BFloat16": "bf16",
    "c10::Half": "fp16",
    **dict.fromkeys(["signed char", "unsigned char", "c10::qint8", "c10::quint8"], "int8"),
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a call: its own id, that of its storage, bytes per element and in all, shape.

    The profiler records no storage of sparse and MKL-DNN tensors and of functorch's wrappers: minus the tensor's id
    replaces it, and the bytes are unknown. Storage 0 is that of undefined tensors, which all have one id.
    """

    id: int
    storage: int
    element_B: int
    size_B: int
    dims: Dims


class _Side:
    """The arguments, or the results, of a call: values with the tensors among them, by position."""

    def __init__(self, values: list[Any], by_position: list[list[Tensor]], types: list[str]) -> None:
        self.values, self._by_position, self._types = values, by_position, types
        self.tensors = [t for tensors in by_position for t in tensors if t.storage]

    @classmethod
    def of(cls, raw: dict[str, Any], side: str, place: Place) -> _Side:
        """Read one side of a node of any schema."""
        held = raw.get(f"{side}s")
        if isinstance(held, dict):
            columns = [held.get(key) for key in ("values", "shapes", "types")]
        else:
            columns = [held, raw.get(f"{side}_shapes"), raw.get(f"{side}_types")]
        values, shapes, types = (place.array(column, f"{side}s") for column in columns)
        if not len(values) == len(shapes) == len(types):
            raise place.error(f"{side}s: {len(values)} values, {len(shapes)} shapes and {len(types)} types")
        by_position = []
        for value, shape, kind in zip(values, shapes, types, strict=True):
            holds = "Tensor" in place.text(kind, f"{side}s.types")
            by_position.append(_placed(list(_tensors(value, shape, place)), kind) if holds else [])
        return cls(values, by_position, types)

    def at(self, position: int) -> list[Tensor]:
        """Return the tensors of one argument."""
        return self._by_position[position] if position < len(self._by_position) else []

    def positional(self) -> list[Dims | None]:
        """Return the shape of each argument; None for anything but a single dense tensor."""
        pairs = zip(self._by_position, self._types, strict=True)
        return [
            held[0].dims if held and kind.startswith("Tensor") and held[0].storage >= 0 else None
            for held, kind in pairs
        ]

    def operands(self) -> Iterator[tuple[str, int]]:
        """Yield the type of elements and the number of dimensions of each tensor; of lists the first one's type."""
        for held, kind in zip(self._by_position, self._types, strict=True):
            named = _TENSOR_TYPES.search(kind)
            yield from ((named[1] if named else "", len(t.dims)) for t in held)

    def dims(self) -> list[Dims]:
        """Return the shapes of all tensors."""
        return [t.dims for t in self.tensors]

    def dense_dims(self) -> list[Dims]:
        """Return the shapes of the tensors that have as many elements as their shapes say."""
        return [t.dims for t in self.tensors if t.storage > 0]


def _placed(tensors: list[Tensor], kind: str) -> list[Tensor]:
    """Return the tensors, with a storage where theirs is unknown; undefined ones (by type) have none."""
    if all(t.storage for t in tensors):
        return tensors
    types = _TENSOR_TYPES.findall(kind)
    if len(types) != len(tensors):
        types = [kind] * len(tensors)
    return [
        replace(tensor, storage=-tensor.id)
        if tensor.storage == 0 and tensor.id > 0 and _UNDEFINED not in of
        else tensor
        for tensor, of in zip(tensors, types, strict=True)
    ]


def _tensors(value: Any, shape: Any, place: Place) -> Iterator[Tensor]:
    if not isinstance(value, list):
        return
    if len(value) in (5, 6) and all(type(v) is int for v in value[:5]):
        yield _tensor(value, shape, place)
        return
    shapes = shape if isinstance(shape, list) and len(shape) == len(value) else [[]] * len(value)
    for inner, dims in zip(value, shapes, strict=True):
        yield from _tensors(inner, dims, place)


def _tensor(value: list[Any], shape: Any, place: Place) -> Tensor:
    identity, storage, _, elements, element_B = (place.integer(v, "tensor") for v in value[:5])
    if elements < 0 or element_B < 0:
        raise place.error(f"tensor {shown(value)} has a negative size")
    return Tensor(identity, storage, element_B, elements * element_B, dims_of(shape, place))


def dims_of(shape: Any, place: Place) -> Dims:
    """Return a recorded shape as a tuple.

    Raises
    ------
    FormatError
        If it is not a list of at most `MAX_RANK` whole numbers from 0.
    """
    if (
        not isinstance(shape, list)
        or len(shape) > MAX_RANK
        or not all(type(d) is int and 0 <= d < MAX_DIM for d in shape)
    ):
        raise place.error(f"shape {shown(shape)} is not a list of sizes")
    return tuple(shape)


NODES = "nodes"
#: An annotation, `torch.profiler.record_function`.
USER_SCOPE = 7
_MAKES_SPARSE = re.compile(
    r"aten::_sparse_(coo_tensor_with_dims_and_tensors|(coo|csr|csc|bsr|bsc|compressed)_tensor_unsafe)"
)
_TAKES_WHOLE, _RETURNS_PART = re.compile(r"[^(]*\(Tensor\(a\) self\b"), "-> Tensor(a)"


@dataclass(frozen=True, slots=True)
class Io:
    """The tensors of a task: inputs, outputs, and the text of its shapes with strides and the like."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    shapes: str

    def traffic(self, name: str) -> float:
        """Return the bytes that an operator reads and writes, of the distinct tensors of either side.

        Of a table of which it picks, these are as many as its largest new or second largest tensor has. NaN where a
        tensor has unknown bytes.
        """
        if any(t.storage < 0 for t in (*self.inputs, *self.outputs)):
            return math.nan
        sides = [{t.id: t for t in side} for side in (self.inputs, self.outputs)]
        most = self._picked_B(name, *sides) if picks(name) else math.inf
        return float(sum(min(t.size_B, most) for side in sides for t in side.values()))

    @staticmethod
    def _picked_B(name: str, read: Mapping[int, Tensor], written: Mapping[int, Tensor]) -> float:
        new_B = max((t.size_B for t in written.values() if t.id not in read), default=0)
        every = {**read, **written}.values()
        if name.startswith("fbgemm::"):
            # Weights and states of several tables have one dimension; rows and their gradients have two.
            return max((t.size_B for t in every if len(t.dims) > 1), default=math.inf)
        return max(new_B, *sorted((t.size_B for t in every), reverse=True)[1:2], 0)


@dataclass(frozen=True, slots=True)
class Node:
    """A call.

    Parameters
    ----------
    id, parent : int
        Its number, and that of the call around it.
    name : str
        As in the Kineto trace.
    rf_id : int
        Record function id, by which the Kineto trace names the same call; 0 for pseudo nodes.
    creates : tuple of int
        Storages of outputs that are not among its own inputs, nor parts of one.
    updates : tuple of int
        Storages it writes in place, by its schema (`Tensor(a!)`).
    elements : tuple of (int, int)
        Storage of every output, and bytes per element there.
    parts : tuple of (int, int)
        Substitute storage of a sparse tensor, and storage of its indices or values, of those it splits or makes.
    flops : float
        From its shapes; NaN where unknown.
    io : Io or None
        Its tensors, where they were asked for: those of tasks.
    tid : int
        The thread that made it, as the observer counts threads.
    scope : int
        What sort of call it is: `USER_SCOPE` is an annotation.
    """

    id: int
    parent: int
    name: str
    rf_id: int
    creates: tuple[int, ...]
    updates: tuple[int, ...]
    elements: tuple[tuple[int, int], ...]
    parts: tuple[tuple[int, int], ...]
    flops: float
    io: Io | None = None
    tid: int = 0
    scope: int = 0


@dataclass
class ExecutionTrace:
    """All calls of a file, by id and by record function id, in the order in which they ended."""

    path: Path
    nodes: dict[int, Node] = field(default_factory=dict)
    by_rf_id: dict[int, Node] = field(default_factory=dict)

    def within_tasks(self) -> dict[int, list[Node]]:
        """Return the calls within each call, by the id of the outer one, without those of tasks.

        A call is then within one task at most: walks from all tasks together see every call once. The circles of a
        damaged file, where a call is within itself, are within no task.
        """
        return multimap((node.parent, node) for node in self.nodes.values() if node.io is None)


def read_execution_trace(
    path: Path, wanted: Collection[int] | None, mend: Mend | None = None
) -> ExecutionTrace:
    """Read a file of calls.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    wanted : collection of int or None
        Record function ids of the calls whose tensors are kept; None: of all.
    mend : callable, optional
        As for `simsched.traces.shared.json_stream.stream`.

    Raises
    ------
    FormatError
        If the file is not an execution trace, a node is malformed, or an id occurs twice.
    """
    trace = ExecutionTrace(path)
    for number, value in enumerate(objects(path, NODES, mend=mend)[1]):
        place = Place(path, "node", number)
        node = node_of(place.record(value), place, wanted)
        if trace.nodes.setdefault(node.id, node) is not node:
            raise place.error(f"id {node.id} occurs twice")
        if node.rf_id and trace.by_rf_id.setdefault(node.rf_id, node) is not node:
            raise place.error(f"record function id {node.rf_id} occurs twice")
        budget().check(path, number + 1, "tasks")
    if not trace.nodes:
        raise FormatError(
            f"{path}: no nodes; execution_trace= takes the file of PyTorch's ExecutionTraceObserver"
        )
    return trace


def node_of(raw: dict[str, Any], place: Place, wanted: Collection[int] | None) -> Node:
    """Return a call of any schema, or raise `FormatError` if it is malformed.

    Parameters
    ----------
    raw : dict
        The call, with flat fields (schema 1.0.1) or attributes.
    place : Place
        Its place.
    wanted : collection of int or None
        As for `read_execution_trace`.
    """
    fields = attributes_of(raw["attrs"], place) if "attrs" in raw else raw
    name = sys.intern(place.text(raw.get("name"), "name"))
    # The oldest versions had flat fields and no such ids.
    rf_id = place.integer(fields.get("rf_id", 0 if fields is raw else None), "rf_id")
    ins = _Side.of(raw, "input", place)
    outs = _Side.of(raw, "output", place)
    sources = {t.storage for t in ins.tensors}
    schema = place.text(fields.get("op_schema", ""), "op_schema")
    updated = {t.storage for position in _in_place(schema) for t in ins.at(position)}
    parts = _parts(name, schema, ins, outs)
    sources.update(storage for _, storage in parts)
    return Node(
        id=place.integer(raw.get("id"), "id"),
        parent=place.integer(raw["ctrl_deps"] if "ctrl_deps" in raw else raw.get("parent"), "ctrl_deps"),
        name=name,
        rf_id=rf_id,
        creates=tuple(dict.fromkeys(t.storage for t in outs.tensors if t.storage not in sources)),
        updates=tuple(sorted(updated)),
        elements=tuple(dict.fromkeys((t.storage, t.element_B) for t in outs.tensors)),
        parts=parts,
        flops=flops(name, Call(ins.positional(), ins.dense_dims(), outs.dense_dims(), ins.values)),
        io=Io(tuple(ins.tensors), tuple(outs.tensors), _shape(name, ins))
        if wanted is None or rf_id in wanted
        else None,
        tid=place.integer(fields.get("tid", 0), "tid"),
        scope=place.integer(fields.get("scope", 0), "scope"),
    )


def _shape(name: str, ins: _Side) -> str:
    """Return the shapes of the inputs as text, with strides and the like."""
    shapes = ins.dims()
    attributes = shape_attributes(name, ins.values) if shapes else None
    return format_shape(shapes, attributes, element_of(name, ins.operands(), ELEMENT_NAMES) if shapes else "")


def _parts(name: str, schema: str, ins: _Side, outs: _Side) -> tuple[tuple[int, int], ...]:
    """Return the sparse tensors of a call with the storages they are made of, as far as the call shows them.

    `_values`, `_indices` and their like return a part of their input, as shown by `Tensor(a)` in their schemas; the
    innermost makers of sparse tensors put their arguments into their results.
    """
    if _MAKES_SPARSE.match(name):
        wholes, parts = outs.tensors, ins.tensors
    elif schema.endswith(_RETURNS_PART) and _TAKES_WHOLE.match(schema):
        wholes, parts = ins.tensors, outs.tensors
    else:
        return ()
    return tuple(
        (whole.storage, t.storage) for whole in wholes if whole.storage < 0 for t in parts if t.storage > 0
    )


def attributes_of(entries: object, place: Place) -> dict[str, Any]:
    """Return the values of a node's attributes by name, from the list `attrs`; raise `FormatError` if it is none."""
    found = {}
    for entry in place.array(entries, "attrs"):
        attribute = place.record(entry)
        found[place.text(attribute.get("name"), "attrs.name")] = attribute.get("value")
    return found


@lru_cache(maxsize=4096)
def _in_place(schema: str) -> tuple[int, ...]:
    """Return which arguments an operator writes, by its schema.

    Examples
    --------
    >>> _in_place("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
    (0,)
    """
    if "!" not in schema:
        return ()
    arguments, depth, start = [], 0, schema.find("(") + 1
    for i in range(start, len(schema)):
        depth += (schema[i] in "([") - (schema[i] in ")]")
        if depth < 0 or (depth == 0 and schema[i] == ","):
            arguments.append(schema[start:i].strip())
            start = i + 1
        if depth < 0:
            break
    return tuple(i for i, argument in enumerate(a for a in arguments if a != "*") if "!" in argument)


def composite_flops(node: Node, inner: dict[int, list[Node]]) -> float:
    """Return the FLOPs of a task: its own where its shapes suffice, else the sum of the calls within it.

    A task with calls that do no work alone, as views and allocations, works itself: its FLOPs are unknown.

    Parameters
    ----------
    node : Node
        The task's call.
    inner : dict of int to list of Node
        As `ExecutionTrace.within_tasks` gives them.
    """
    total, stack = 0.0, [node]
    while stack:
        top = stack.pop()
        within = inner.get(top.id, ())
        if math.isnan(top.flops) and within:
            stack += within
        else:
            total += top.flops
    return total if total or not math.isnan(node.flops) else math.nan
