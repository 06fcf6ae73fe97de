"""Shapes of all tensors of a model: sizes given to its open dimensions, then ONNX's own inference.

Inference knows no operators but ONNX's. Fused ones of ONNX Runtime whose output is shaped like that of a standard
operator pass as that one; of others only what the model declares is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.report import ImportReport
from simsched.traces.onnx.proto import bodies, library_errors
from simsched.traces.shared.json_stream import shown

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
        Of the first dimension of every input where it is open.

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
    """Return a graph's value descriptions with all shapes that can be inferred; tell where that failed.

    The model is changed: weights are dropped, and operators pass as others. Keep what else is needed before.
    """
    from onnx.shape_inference import infer_shapes

    drop_weights(proto.graph)
    for node in proto.graph.node:
        _pass_as_standard(node)
    _import_standard(proto)
    try:
        return infer_shapes(proto, data_prop=True).graph
    except library_errors() as error:
        reason = shown(" ".join(str(error).split()), 160)[1:-1]
        report.note(f"Shapes could not be inferred; only those that the model declares are known: {reason}.")
        return proto.graph


def drop_weights(graph: Any) -> None:
    """Take the data of all large constants away, and what tells in which file they lie."""
    for tensor in graph.initializer:
        _drop(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _drop(attribute.t)
        for body in bodies(node):
            drop_weights(body)


def _drop(tensor: Any) -> None:
    from onnx import TensorProto

    if tensor.ByteSize() > MAX_CONSTANT_B:
        kept = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        # Inference then knows that there is nothing to look at.
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
    """Say which version of the standard operators is meant, where a model uses none but others."""
    from onnx import defs

    if not any(o.domain in ("", "ai.onnx") for o in proto.opset_import):
        proto.opset_import.add(domain="", version=min(17, defs.onnx_opset_version()))
