"""An ONNX model as plain values: its nodes, with functions put in the place of their calls, and their dependencies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.report import ImportReport
from simsched.graph.shapes import MAX_RANK
from simsched.text import one_line
from simsched.traces.onnx.flops import ATTRIBUTES, WINDOW_ATTRIBUTES, Values
from simsched.traces.onnx.proto import Tensor, bodies, library_errors, read_proto, tensor_bytes
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.objects import Objects

#: Most levels of calls: each may double the graph, and the library recurses.
MAX_LEVELS = 64
MAX_INLINED_B = 64 * 1024 * 1024
MAX_GROWTH = 16

Key = tuple[str, str, str]


def inlined(file: Path, proto: Any, report: ImportReport) -> Any:
    """Return a model without functions of its own, except those for another version of the operators.

    Raises
    ------
    FormatError
        If they call each other in a circle, too deep, or so often that the model would not fit in memory.
    """
    if not proto.functions:
        return proto
    from onnx.inliner import inline_local_functions

    calls = _Calls(file, {_key(f.domain, f.name, f.overload): f for f in proto.functions})
    size_B = proto.graph.ByteSize() + calls.within(proto.graph, ())[0]
    if size_B > max(MAX_INLINED_B, MAX_GROWTH * proto.ByteSize()):
        raise FormatError(
            f"{file}: the model's functions call each other so often that it would take {size_B} bytes without them"
        )
    report.facts["functions"] = len(proto.functions)
    try:
        return inline_local_functions(proto)
    except library_errors() as error:
        said = shown(" ".join(str(error).split()))[1:-1]
        report.note(f"The model's functions are single tasks, since they cannot be put in place: {said}.")
        return proto


@dataclass
class _Calls:
    """Bytes that calls of functions stand for, and levels of further calls."""

    file: Path
    functions: dict[Key, Any]
    known: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def within(self, graph: Any, callers: tuple[Key, ...]) -> tuple[int, int]:
        """Return the bytes that the calls in a graph or function add to it, and their levels."""
        calls = [self._of(key, callers) for key in _called(graph, self.functions)]
        return sum(size_B for size_B, _ in calls), max((levels for _, levels in calls), default=0)

    def _of(self, key: Key, callers: tuple[Key, ...]) -> tuple[int, int]:
        if key in callers:
            raise self._refused(key, "in a circle")
        if key not in self.known and len(callers) < MAX_LEVELS:
            size_B, levels = self.within(self.functions[key], (*callers, key))
            self.known[key] = self.functions[key].ByteSize() + size_B, levels + 1
        if len(callers) + self.known.get(key, (0, 1))[1] > MAX_LEVELS:
            raise self._refused(key, f"more than {MAX_LEVELS} deep")
        return self.known[key]

    def _refused(self, key: Key, how: str) -> FormatError:
        return FormatError(f"{self.file}: function {shown(key[1])} of the model is called {how}; refused")


def _called(graph: Any, functions: dict[Key, Any]) -> Iterator[Key]:
    for node in graph.node:
        key = _key(node.domain, node.op_type, node.overload)
        if key in functions:
            yield key
        for body in bodies(node):
            yield from _called(body, functions)


def _key(domain: str, name: str, overload: str) -> Key:
    return "" if domain == "ai.onnx" else str(domain), str(name), str(overload)


def edges(model: Model, kept: Sequence[object]) -> dict[tuple[int, int], str]:
    """Return the dependencies between the kept nodes, each with one tensor that carries it.

    Parameters
    ----------
    model : Model
    kept : sequence
        None for each node that is left out: it passes its own dependencies on to its readers.

    Raises
    ------
    FormatError
        If that makes more than the budget of the load allows.
    """
    found: dict[tuple[int, int], str] = {}
    sources: dict[str, frozenset[int]] = {}
    passed_on = 0
    for i, node in enumerate(model.nodes):
        reads = [name for name in (*node.inputs, *node.captured) if name in sources]
        # Nodes left out pass the same set on repeatedly: each set counts once.
        distinct = {id(sources[name]): name for name in reversed(reads)}.values()
        if kept[i] is not None:
            made_by = frozenset([i])
            found.update(((before, i), name) for name in distinct for before in sources[name])
        else:
            sets = [sources[name] for name in distinct]
            made_by = sets[0] if len(sets) == 1 else frozenset().union(*sets)
            passed_on += len(made_by)
        budget().check(model.file, len(found) + passed_on, "edges")
        sources.update((name, made_by) for name in node.outputs)
    return found


#: A dimension beyond this is not a size.
MAX_DIMENSION = 2**48
#: Longer metadata than this is not a path of modules.
MAX_METADATA = 10_000

NAME_SCOPES = "pkg.torch.onnx.name_scopes"
NAMESPACE = "namespace"


@dataclass(frozen=True)
class Node:
    """One node of the model's outermost graph.

    Parameters
    ----------
    name : str
        Its name; "" where it has none.
    op_type : str
        `MatMul`, `Conv`, ...
    inputs, outputs : tuples of str
        Names of its tensors, without the optional ones left out.
    captured : tuple of str
        Tensors of the outermost graph that only its bodies read.
    attributes : mapping
        Those that FLOPs and windows depend on.
    scope : str
        Module it comes from (`encoder/layer1`); "" where unknown.
    has_body : bool
        Whether it runs its own graph (`If`, `Loop`, `Scan`).
    """

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    captured: tuple[str, ...]
    attributes: Values
    scope: str
    has_body: bool


@dataclass(frozen=True)
class Model:
    """A model's outermost graph.

    Parameters
    ----------
    file : Path
        Where it was read from.
    nodes : tuple of Node
        In the file's order, which is a topological one.
    initialisers : mapping of str to Tensor
        Constants: weights and the like.
    declared : mapping of str to Tensor
        The model's declarations of its inputs, outputs and intermediate tensors.
    body_names : frozenset of str
        Names of nodes inside bodies.
    """

    file: Path
    nodes: tuple[Node, ...]
    initialisers: Mapping[str, Tensor]
    declared: Mapping[str, Tensor]
    body_names: frozenset[str]


def read_model(file: Path) -> Model:
    """Read an ONNX model, plain or gzipped, without its external data.

    Raises
    ------
    FormatError
        If it is not an ONNX model, or its nodes are not in topological order, as ONNX demands.
    MissingExtraError
        If the library `onnx` is not installed.
    """
    return plain_model(file, read_proto(file))


def plain_model(file: Path, proto: Any) -> Model:
    """Return a parsed model as plain values; raise `FormatError` as `read_model` does."""
    try:
        model = Model(
            file=file,
            nodes=tuple(plain_node(node) for node in proto.graph.node),
            initialisers=dict(initialisers(file, proto.graph)),
            declared=dict(declared(proto.graph)),
            body_names=frozenset(_body_names(proto.graph)),
        )
    except UnicodeDecodeError as error:
        raise FormatError(f"{file}: a name in the model is not UTF-8 text: {error}") from None
    if not model.nodes:
        raise FormatError(f"{file}: the model has no nodes; is this an ONNX model?")
    _check_order(model, {str(i.name) for i in proto.graph.input})
    return model


def plain_node(proto: Any) -> Node:
    """Return a node as plain values."""
    inputs = tuple(str(name) for name in proto.input if name)
    inside = list(bodies(proto))
    captured = sorted({name for body in inside for name in _free(body)} - set(inputs))
    return Node(
        name=plain_text(proto.name),
        op_type=plain_text(proto.op_type),
        inputs=inputs,
        outputs=tuple(str(name) for name in proto.output if name),
        captured=tuple(captured),
        attributes={
            a.name: _attribute(a) for a in proto.attribute if a.name in ATTRIBUTES | WINDOW_ATTRIBUTES
        },
        scope=_scope(proto),
        has_body=bool(inside),
    )


def _attribute(proto: Any) -> int | str | tuple[int, ...]:
    if proto.ints:
        return tuple(int(i) for i in proto.ints)
    return proto.s.decode("utf-8", "replace") if proto.s else int(proto.i)


def _free(body: Any) -> set[str]:
    """Return the tensors that a body reads and does not make; they come from the graph around it."""
    made = {str(i.name) for i in (*body.input, *body.initializer)}
    made |= {str(s.values.name) for s in body.sparse_initializer}
    read = {str(o.name) for o in body.output}
    for node in body.node:
        read.update(map(str, node.input))
        made.update(map(str, node.output))
        for inner in bodies(node):
            read |= _free(inner)
    return read - made - {""}


def _body_names(graph: Any) -> Iterator[str]:
    for node in graph.node:
        for body in bodies(node):
            yield from (plain_text(inner.name) for inner in body.node)
            yield from _body_names(body)


def initialisers(file: Path, graph: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield a graph's constants; raise `FormatError` where a shape is impossible."""
    weights = [(i.name, i.data_type, i.dims) for i in graph.initializer]
    weights += [(s.values.name, s.values.data_type, s.dims) for s in graph.sparse_initializer]
    for name, code, dims in weights:
        if len(dims) > MAX_RANK:
            raise FormatError(
                f"{file}: initialiser {str(name)[:80]!r} has {len(dims)} dimensions, expected at most {MAX_RANK}"
            )
        if any(d < 0 for d in dims) or math.prod(dims) > 2**62:
            raise FormatError(f"{file}: initialiser {str(name)[:80]!r} has the shape {list(dims)[:8]}")
        yield str(name), Tensor(_dtype(code), tuple(int(d) for d in dims))


def declared(graph: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield a graph's declarations of its tensors; open dimensions, or absurd ones, are None."""
    for value in (*graph.value_info, *graph.input, *graph.output):
        tensor = value.type.tensor_type
        if (
            value.type.HasField("tensor_type")
            and tensor.HasField("shape")
            and len(tensor.shape.dim) <= MAX_RANK
        ):
            dims = (int(d.dim_value) if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
            known = tuple(d if 0 <= d <= MAX_DIMENSION else None for d in dims)
            yield str(value.name), Tensor(_dtype(tensor.elem_type), known)


def _dtype(code: int) -> str:
    from onnx import TensorProto

    names = TensorProto.DataType
    return str(names.Name(code)).lower() if code in names.values() else ""


def _scope(node: Any) -> str:
    """Return the module that a node comes from, as exporters write it in metadata or in the name's path."""
    metadata = {str(p.key): str(p.value) for p in node.metadata_props if len(p.value) <= MAX_METADATA}
    if NAME_SCOPES in metadata:
        path = _last_module(metadata[NAME_SCOPES])
    elif NAMESPACE in metadata:
        # "model: Net/model.layer1: Linear/linear: aten.linear": the path of each level before its class.
        levels = [level.split(":")[0].strip() for level in metadata[NAMESPACE].split("/")]
        path = levels[-2] if len(levels) > 1 else ""
    elif str(node.name).startswith("/") or str(node.name).count("/") > 1:
        # Exporters name nodes by the path of their module: PyTorch's "/encoder/layer.0/MatMul", TensorFlow's
        # "model/dense/MatMul". One slash alone may be that of a fusion: "node_select/GatherSliceToSplitFusion".
        return plain_text("/".join(str(node.name).removeprefix("/").split("/")[:-1]))
    else:
        path = ""
    return plain_text("/".join(filter(None, path.split("."))))


def _last_module(literal: str) -> str:
    """Return the innermost module of a list like `['', 'layer1', 'layer1.conv', 'conv2d']`.

    The last entry is the node itself.
    """
    scopes = re.findall(r"""['"]([^'"]*)['"]""", literal)
    return scopes[-2] if len(scopes) > 1 else ""


def _check_order(model: Model, inputs: set[str]) -> None:
    made = inputs | set(model.initialisers)
    for place, node in enumerate(model.nodes):
        what = f"{model.file}: node {place} ({one_line(node.op_type, 40)} {node.name[:80]!r})"
        for name in (*node.inputs, *node.captured):
            if name not in made:
                raise FormatError(f"{what} reads tensor {name[:80]!r}, which no node before it makes")
        for name in node.outputs:
            if name in made:
                raise FormatError(f"{what} makes tensor {name[:80]!r} for the second time")
            made.add(name)


def tensors(nodes: Sequence[Node], known: Mapping[str, Tensor]) -> Objects:
    """Return the tensors that nodes read and write; those that none of them writes are inputs.

    Parameters
    ----------
    nodes : sequence of Node
        In the order of the graph's tasks.
    known : mapping of str to Tensor
        Element types and shapes, as far as they are known.
    """
    found, number = Objects(), dict[str, int]()
    for task, node in enumerate(nodes):
        for name in dict.fromkeys((*node.inputs, *node.captured)):
            if name not in number:
                number[name] = found.add(_size_B(known.get(name)))
            found.read(number[name], task)
        for name in node.outputs:
            number[name] = found.add(_size_B(known.get(name)), task)
    return found


def _size_B(tensor: Tensor | None) -> float:
    if tensor is None or None in tensor.dims:
        return math.nan
    return float(tensor_bytes([tensor]))
