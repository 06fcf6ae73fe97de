"""An ONNX file as the message it holds, within limits, its tensors, and the shapes that can be inferred.

Inference knows no operators but ONNX's. Fused ones of ONNX Runtime whose output is shaped like that of a standard
operator are treated as that one; for others only the model's declarations are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from simsched.errors import FormatError, MissingExtraError
from simsched.graph.budget import budget
from simsched.graph.loading import open_plain, read_bounded
from simsched.graph.report import ImportReport
from simsched.traces.shared.elements import element_of
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.wire import headers

#: Bytes of one element, under the names that ONNX and ONNX Runtime give the types; several small ones share a byte.
ITEMSIZE_B: dict[str, float] = {
    **dict.fromkeys(["int2", "uint2"], 0.25),
    **dict.fromkeys(["int4", "uint4", "float4e2m1"], 0.5),
    **dict.fromkeys(["bool", "int8", "uint8"], 1),
    **dict.fromkeys(["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"], 1),
    **dict.fromkeys(["int16", "uint16", "float16", "bfloat16"], 2),
    **dict.fromkeys(["float", "int32", "uint32"], 4),
    **dict.fromkeys(["double", "int64", "uint64", "complex64"], 8),
    "complex128": 16,
}


#: Types of elements that products may compute in, by the same names.
ELEMENT_NAMES = {
    "double": "fp64",
    "float": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    **dict.fromkeys(["int8", "uint8"], "int8"),
}

#: Most elements of all vectors that operators make, of which shapes are inferred from values: each takes onnx 1 us.
MAX_VECTORS = 1 << 20


@dataclass(frozen=True)
class Tensor:
    """Element type (`float`, `int64`) and dimensions of a tensor; None where a dimension is unknown."""

    dtype: str
    dims: tuple[int | None, ...]

    def __str__(self) -> str:
        return f"{self.dtype} {'x'.join('?' if d is None else str(d) for d in self.dims) or '()'}"


def element(op_type: str, inputs: Iterable[Tensor]) -> str:
    """Return the type of elements that an operator computes in, where it is narrower than FP32; "" for others.

    Examples
    --------
    >>> element("MatMul", [Tensor("float16", (2, 3)), Tensor("float16", (3, 4))])
    'fp16'
    """
    return element_of(op_type, ((t.dtype, len(t.dims)) for t in inputs), ELEMENT_NAMES)


def tensor_bytes(tensors: Iterable[Tensor]) -> float:
    """Return the bytes of tensors; NaN where an element's size is unknown.

    Examples
    --------
    >>> tensor_bytes([Tensor("float", (2, 3)), Tensor("int64", ())])
    32.0
    """
    return sum(math.prod(dims(t), start=float(ITEMSIZE_B.get(t.dtype, math.nan))) for t in tensors)


def dims(tensor: Tensor) -> tuple[int, ...]:
    """Return the dimensions of a tensor, all of which are known."""
    return tuple(d or 0 for d in tensor.dims)


#: The limit of a protobuf message; a larger model keeps its weights in other files, which are not read.
MAX_MODEL_B = 2**31 - 1
#: Of `ModelProto`: the numbers of its fields with their wire types.
FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}
GRAPH, OPSETS = 7, 8
MAX_IR_VERSION = 99


def read_proto(file: Path) -> Any:
    """Return the `ModelProto` of a file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is empty, too large, or none.
    MissingExtraError
        If the library `onnx` is not installed.
    """
    try:
        import onnx

        # Comes with onnx, and without types.
        message = import_module("google.protobuf.message")
    except ImportError:
        raise MissingExtraError("onnx", "formats", "reading an ONNX model") from None
    data = _content(file)
    try:
        model = onnx.load_model_from_string(data)
    except (message.DecodeError, ValueError) as error:
        raise FormatError(f"{file}: not an ONNX model ({error}); was it copied completely?") from None
    graph = model.graph
    # An empty one of these is two bytes, and a kilobyte for those that infer shapes.
    parts = (
        graph.node,
        graph.input,
        graph.output,
        graph.value_info,
        graph.initializer,
        graph.sparse_initializer,
    )
    budget().check(file, sum(map(len, parts)), "tasks")
    return model


def _content(file: Path) -> bytes:
    with open_plain(file) as stream:
        # A compressed file is no smaller than its rejected content, except for a few bytes.
        data = read_bounded(stream, MAX_MODEL_B + 1) if file.stat().st_size <= MAX_MODEL_B else None
    if data is None or len(data) > MAX_MODEL_B:
        raise FormatError(
            f"{file}: larger than {MAX_MODEL_B} bytes, the most an ONNX model can have; save it with its weights "
            "beside it: onnx.save_model(model, path, save_as_external_data=True). They are not needed here"
        )
    if not data:
        raise FormatError(f"{file}: the file is empty; expected an ONNX model")
    return data


def library_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the library raises on models that it does not support."""
    from onnx.checker import ValidationError
    from onnx.shape_inference import InferenceError

    return ValidationError, InferenceError, RuntimeError, ValueError, TypeError, IndexError, OverflowError


def bodies(node: Any) -> Iterator[Any]:
    """Yield the graphs that a node runs: branches, loop bodies."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def starts_as_model(head: bytes) -> bool:
    """Return whether bytes start as a `ModelProto`: the version first, then only its fields, up to its graph.

    Examples
    --------
    >>> starts_as_model(bytes([0x08, 10, 0x3A, 4, 0x0A, 2, 0x22, 0])), starts_as_model(b"hello")
    (True, False)
    """
    if len(head) < 3 or head[0] != 0x08 or not 0 < head[1] <= MAX_IR_VERSION:
        return False
    end, seen = 0, set()
    # Beyond the head is a long field of a model, or the end of an empty one.
    for field, wire, begin, end in headers(head):
        if FIELDS.get(field) != wire:
            return False
        seen.add(field)
        if field == GRAPH and begin < min(end, len(head)):
            # Of a graph: nodes, a name, or other messages or texts.
            return head[begin] & 7 == 2 and 1 <= head[begin] >> 3 <= 15
    return end >= len(head) - 20 and bool(seen & {GRAPH, OPSETS} or 2 in seen)


#: Constants of more bytes than this hold weights, of which inference needs the shape alone; axes and sizes are short.
MAX_CONSTANT_B = 4096
#: Names shown in messages.
MOST_NAMES = 20

CONTRIB = frozenset({"com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"})
#: Of operators outside ONNX, the standard one whose output has the same shape, and how many inputs of theirs it takes.
ALIKE = {
    **dict.fromkeys(["FusedConv", "Conv"], ("Conv", 3)),
    "FusedGemm": ("Gemm", 3),
    "MaxPool": ("MaxPool", 1),
    "AveragePool": ("AveragePool", 1),
    "GlobalAveragePool": ("GlobalAveragePool", 1),
    "GlobalMaxPool": ("GlobalMaxPool", 1),
    **dict.fromkeys(["BiasGelu", "FastGelu", "QuickGelu", "Gelu", "BiasSplitGelu"], ("Identity", 1)),
    **dict.fromkeys(["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"], ("Identity", 1)),
    **dict.fromkeys(["BiasSoftmax", "BiasDropout", "GroupNorm", "RotaryEmbedding"], ("Identity", 1)),
    **dict.fromkeys(["MultiHeadAttention", "GroupQueryAttention", "BiasAdd"], ("Identity", 1)),
    **dict.fromkeys(["ReorderInput", "ReorderOutput"], ("Identity", 1)),  # but for padded channels
    **dict.fromkeys(["QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"], ("Identity", 1)),
}
#: Attributes that the standard operators have.
STANDARD = {
    "Conv": {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"},
    "Gemm": {"alpha", "beta", "transA", "transB"},
    "MaxPool": {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"},
    "AveragePool": {
        "auto_pad",
        "ceil_mode",
        "count_include_pad",
        "dilations",
        "kernel_shape",
        "pads",
        "strides",
    },
}


def sized(file: Path, proto: Any, dims: Mapping[str, int], batch: int | None) -> None:
    """Give sizes to open dimensions of a model, in place.

    Parameters
    ----------
    dims : mapping of str to int
        By the dimension's name.
    batch : int, optional
        Size of the first dimension of every input where it is open.

    Raises
    ------
    FormatError
        If the model has no such dimension.
    """
    graph = proto.graph
    sizes, unused = dict(dims), set(dims) - set(open_dimensions(proto))
    if unused:
        known = ", ".join(shown(name) for name in open_dimensions(proto)[:MOST_NAMES]) or "none"
        raise FormatError(
            f"{file}: dims names {shown(min(unused))}, which no dimension is called; open are: {known}"
        )
    if batch is not None:
        first = [dim for dim in _first_dimensions(graph) if not dim.HasField("dim_value")]
        if not first:
            raise FormatError(
                f"{file}: batch is {batch}, but the first dimension of all inputs is fixed; export the model with a "
                "dynamic batch, or leave the option out"
            )
        sizes.update(
            {str(dim.dim_param): sizes.get(str(dim.dim_param), batch) for dim in first if dim.dim_param}
        )
        for dim in first:
            if not dim.dim_param:
                dim.dim_value = batch
    for dim in _dimensions(proto):
        if dim.dim_param in sizes:
            dim.dim_value = sizes[str(dim.dim_param)]


def open_dimensions(proto: Any) -> list[str]:
    """Return the names of the dimensions whose size the model leaves open, in the file's order."""
    return list(dict.fromkeys(str(dim.dim_param) for dim in _dimensions(proto) if dim.dim_param))


def _dimensions(proto: Any) -> Iterator[Any]:
    graph = proto.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield from value.type.tensor_type.shape.dim


def _first_dimensions(graph: Any) -> Iterator[Any]:
    constants = {str(i.name) for i in graph.initializer}
    for value in graph.input:
        if value.name not in constants and value.type.tensor_type.shape.dim:
            yield value.type.tensor_type.shape.dim[0]


def infer(proto: Any, report: ImportReport) -> Any:
    """Return a graph's value descriptions with all shapes that can be inferred; report where that failed.

    The model is changed: weights are dropped, and operators pass as others. Keep what else is needed before.
    """
    from onnx.shape_inference import infer_shapes

    _drop_weights(proto.graph)
    for node in proto.graph.node:
        _pass_as_standard(node)
    _import_standard(proto)
    try:
        plain = infer_shapes(proto).graph
        if (vectors := _vector_elements(plain)) <= MAX_VECTORS:
            return infer_shapes(proto, data_prop=True).graph
    except library_errors() as error:
        reason = shown(" ".join(str(error).split()), 160)[1:-1]
        report.note(f"Shapes could not be inferred; only those that the model declares are known: {reason}.")
        return proto.graph
    if {name for node in plain.node for name in node.output if name} - _known_shapes(plain):
        said = f"Shapes that follow from values are not inferred: its vectors have {vectors} elements in all"
        report.note(f"{said}, of at most {MAX_VECTORS}.")
    return plain


def _vector_elements(graph: Any) -> int:
    dims = [value.type.tensor_type.shape.dim for value in (*graph.value_info, *graph.output)]
    return sum(dim[0].dim_value for dim in dims if len(dim) == 1)


def _known_shapes(graph: Any) -> set[str]:
    """Return the names of the results all of whose dimensions are known; scalars have none."""
    shapes = {value.name: value.type.tensor_type for value in (*graph.value_info, *graph.output)}
    return {
        name
        for name, tensor in shapes.items()
        if tensor.HasField("shape") and all(one.HasField("dim_value") for one in tensor.shape.dim)
    }


def _drop_weights(graph: Any) -> None:
    """Remove the data of all large constants, and the names of the files with their data."""
    for tensor in graph.initializer:
        _drop(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _drop(attribute.t)
        for body in bodies(node):
            _drop_weights(body)


def _drop(tensor: Any) -> None:
    from onnx import TensorProto

    if tensor.ByteSize() > MAX_CONSTANT_B:
        kept = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        # Inference then knows that there is no data.
        kept.data_location = TensorProto.EXTERNAL
        tensor.CopyFrom(kept)


def _pass_as_standard(node: Any) -> None:
    if node.domain not in CONTRIB or node.op_type not in ALIKE:
        return
    node.op_type, inputs = ALIKE[node.op_type]
    node.domain = ""
    del node.input[inputs:]
    del node.output[1:]
    kept = [a for a in node.attribute if a.name in STANDARD.get(node.op_type, ())]
    del node.attribute[:]
    node.attribute.extend(kept)


def _import_standard(proto: Any) -> None:
    """State the version of the standard operators, if a model uses only others."""
    from onnx import defs

    if not any(o.domain in ("", "ai.onnx") for o in proto.opset_import):
        proto.opset_import.add(domain="", version=min(17, defs.onnx_opset_version()))
