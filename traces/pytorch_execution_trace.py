"""PyTorch's execution trace: for every call its tensors, by storage, and what it wrote.

Schemas 1.0.1 (flat fields), 1.0.2, 1.0.3, 1.1.0 and 1.1.1 (attributes), with or without Chakra's suffix. A tensor is
written `[tensor id, storage id, offset, elements, bytes an element, device]`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.shapes import format_shape
from simsched.traces.aten import Call, Dims, flops
from simsched.traces.pytorch_json import Place, shown, stream

NODES = "nodes.item"
MAX_RANK = 64
MAX_DIM = 2**48


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a call: its own id, that of the storage it lies in, its size and shape."""

    id: int
    storage: int
    size_B: int
    dims: Dims


@dataclass(frozen=True, slots=True)
class Io:
    """The tensors of a task: what goes in, what comes out, and the text of the input shapes."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    shapes: str

    @property
    def size_B(self) -> float:
        """Bytes read and written: of the distinct inputs and of the distinct outputs."""
        sides = ({t.id: t.size_B for t in side} for side in (self.inputs, self.outputs))
        return float(sum(sum(side.values()) for side in sides))


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
        Storages of outputs that are not among its own inputs.
    updates : tuple of int
        Storages it writes in place, by its schema (`Tensor(a!)`).
    flops : float
        From its shapes; NaN where unknown.
    io : Io or None
        Its tensors, where they were asked for.
    """

    id: int
    parent: int
    name: str
    rf_id: int
    creates: tuple[int, ...]
    updates: tuple[int, ...]
    flops: float
    io: Io | None = None


@dataclass
class ExecutionTrace:
    """All calls of a file, by id and by record function id, in the order in which they ended."""

    path: Path
    nodes: dict[int, Node] = field(default_factory=dict)
    by_rf_id: dict[int, Node] = field(default_factory=dict)

    def children(self) -> dict[int, list[Node]]:
        """Return the calls within each call, by the id of the outer one."""
        inner: dict[int, list[Node]] = {}
        for node in self.nodes.values():
            inner.setdefault(node.parent, []).append(node)
        return inner


def read_execution_trace(path: Path, wanted: Collection[int]) -> ExecutionTrace:
    """Read a file of calls; tensors are kept for the record function ids in `wanted` alone.

    Raises
    ------
    FormatError
        If the file is no execution trace, a node is malformed, or an id stands twice.
    """
    trace = ExecutionTrace(path)
    for number, (_, value) in enumerate(stream(path, NODES)):
        place = Place(path, "node", number)
        node = _node(place.record(value), place, wanted)
        if trace.nodes.setdefault(node.id, node) is not node:
            raise place.error(f"id {node.id} stands twice")
        if node.rf_id and trace.by_rf_id.setdefault(node.rf_id, node) is not node:
            raise place.error(f"record function id {node.rf_id} stands twice")
    if not trace.nodes:
        raise FormatError(f"{path}: no nodes; execution_trace= takes the file of PyTorch's ExecutionTraceObserver")
    return trace


def _node(raw: dict[str, Any], place: Place, wanted: Collection[int]) -> Node:
    fields = _attributes(raw, place)
    name = place.text(raw.get("name"), "name")
    rf_id = place.integer(fields.get("rf_id"), "rf_id")
    ins = _Side.of(raw, "input", place)
    outs = _Side.of(raw, "output", place)
    sources = {t.storage for t in ins.tensors}
    written = _in_place(place.text(fields.get("op_schema", ""), "op_schema"))
    updated = {t.storage for position in written for t in ins.at(position)}
    return Node(
        id=place.integer(raw.get("id"), "id"),
        parent=place.integer(raw["ctrl_deps"] if "ctrl_deps" in raw else raw.get("parent"), "ctrl_deps"),
        name=name,
        rf_id=rf_id,
        creates=tuple(dict.fromkeys(t.storage for t in outs.tensors if t.storage not in sources)),
        updates=tuple(sorted(updated)),
        flops=flops(name, Call(ins.positional(), ins.dims(), outs.dims(), ins.values)),
        io=Io(tuple(ins.tensors), tuple(outs.tensors), format_shape(ins.dims())) if rf_id in wanted else None,
    )


def _attributes(raw: dict[str, Any], place: Place) -> dict[str, Any]:
    if "attrs" not in raw:
        return raw
    found = {}
    for entry in place.array(raw["attrs"], "attrs"):
        attribute = place.record(entry)
        found[place.text(attribute.get("name"), "attrs.name")] = attribute.get("value")
    return found


class _Side:
    """The arguments, or the results, of a call: values with the tensors among them, by position."""

    def __init__(self, values: list[Any], by_position: list[list[Tensor]], is_list: list[bool]) -> None:
        self.values, self._by_position, self._is_list = values, by_position, is_list
        # A tensor that could not be recorded lies in storage 0.
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
        by_position, is_list = [], []
        for value, shape, kind in zip(values, shapes, types, strict=True):
            holds = "Tensor" in place.text(kind, f"{side}s.types")
            by_position.append(list(_tensors(value, shape, place)) if holds else [])
            is_list.append(not kind.startswith("Tensor"))
        return cls(values, by_position, is_list)

    def at(self, position: int) -> list[Tensor]:
        """Return the tensors of one argument."""
        return self._by_position[position] if position < len(self._by_position) else []

    def positional(self) -> list[Dims | None]:
        """Return the shape of each argument; None for what is no single tensor."""
        pairs = zip(self._by_position, self._is_list, strict=True)
        return [held[0].dims if held and not many else None for held, many in pairs]

    def dims(self) -> list[Dims]:
        """Return the shapes of all tensors."""
        return [t.dims for t in self.tensors]


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
    return Tensor(identity, storage, elements * element_B, dims_of(shape, place))


def dims_of(shape: Any, place: Place) -> Dims:
    """Return a recorded shape as a tuple.

    Raises
    ------
    FormatError
        If it is not a list of at most 64 whole numbers from 0.
    """
    if (
        not isinstance(shape, list)
        or len(shape) > MAX_RANK
        or not all(type(d) is int and 0 <= d < MAX_DIM for d in shape)
    ):
        raise place.error(f"shape {shown(shape)} is not a list of sizes")
    return tuple(shape)


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
    """Return the FLOPs of a call: its own where its shapes tell, else the sum of the calls within it."""
    total, stack, seen = 0.0, [node], {node.id}
    while stack:
        top = stack.pop()
        within = inner.get(top.id, ())
        if not math.isnan(top.flops) or not within:
            total += top.flops
            continue
        # A damaged file may name a call as the parent of its own parent.
        stack += [child for child in within if child.id not in seen]
        seen.update(child.id for child in within)
    return total
