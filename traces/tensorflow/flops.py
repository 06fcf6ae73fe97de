"""Floating-point operations of TensorFlow's ops from the shapes of what they read and write, and their windows.

Counted as for ONNX, whose rules are used where an op is the same: two operations per multiply-add, one per element and
pass for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from simsched.graph.shapes import Attributes as ShapeAttributes, numel, same_padding, window_attributes
from simsched.traces.onnx import flops as onnx

Dims = Sequence[int]

#: Place of an op's images: a number of an input, or of an output after `~`.
_IMAGES = {
    **dict.fromkeys(["Conv2D", "_FusedConv2D", "DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"], 0),
    **dict.fromkeys(["Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter"], 0),
    **dict.fromkeys(["Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput"], ~0),
    **dict.fromkeys(["MaxPool", "AvgPool", "MaxPoolGrad"], 0),
    "AvgPoolGrad": ~0,
}

#: Attributes that are read here.
ATTRIBUTES = frozenset({"strides", "padding", "explicit_paddings", "dilations", "data_format", "ksize"})


def shape_attributes(
    op: str, inputs: Sequence[Dims], outputs: Sequence[Dims], params: Mapping[str, Any]
) -> ShapeAttributes:
    """Return the attributes that set the size of an op in addition to its shapes.

    Parameters
    ----------
    op : str
        `Conv2D`, `MaxPool`, ...
    inputs, outputs : sequence of sequence of int
        Shapes.
    told : mapping
        Those named in `ATTRIBUTES`, if the graph has them.

    Examples
    --------
    >>> params = {"strides": (1, 2, 2, 1), "padding": "SAME"}
    >>> shape_attributes("Conv2D", [(8, 224, 224, 3), (7, 7, 3, 64)], [(8, 112, 112, 64)], params)
    {'stride': (2,), 'padding': (2, 2, 3, 3)}
    """
    place = _IMAGES.get(op)
    strides = params.get("strides")
    if place is None or not isinstance(strides, tuple) or len(strides) != 4:
        return {}
    first = 2 if params.get("data_format") == "NCHW" else 1
    window, size = _window(op, inputs, outputs, params, first), _size(place, inputs, outputs, first)
    stride = tuple(strides[first : first + 2])
    if not window or not size or min(stride) < 1:
        return {}
    dilations = params.get("dilations")
    dilation = tuple(dilations[first : first + 2]) if isinstance(dilations, tuple) else ()
    pool = isinstance(params.get("ksize"), tuple)
    return window_attributes(
        window=window if pool or op.endswith("BackpropFilter") else (),
        stride=stride,
        padding=_padding(params, size, window, stride, dilation, first),
        dilation=dilation,
    )


def _window(
    op: str, inputs: Sequence[Dims], outputs: Sequence[Dims], params: Mapping[str, Any], first: int
) -> Dims:
    """Return height and width of the window; filters are second, generated ones first; () where unknown."""
    pool = params.get("ksize")
    if isinstance(pool, tuple):
        return pool[first : first + 2]
    filters = outputs[:1] if op.endswith("BackpropFilter") else inputs[1:2]
    return filters[0][:2] if filters and len(filters[0]) == 4 else ()


def _size(place: int, inputs: Sequence[Dims], outputs: Sequence[Dims], first: int) -> Dims:
    """Return height and width of the images; () where unknown."""
    tensors, number = (inputs, place) if place >= 0 else (outputs, ~place)
    images = tensors[number : number + 1]
    return images[0][first : first + 2] if images and len(images[0]) == 4 else ()


def _padding(
    params: Mapping[str, Any], size: Dims, window: Dims, stride: Dims, dilation: Dims, first: int
) -> tuple[int, ...]:
    """Return padding before all directions, then after; () where unknown."""
    kind, explicit = params.get("padding"), params.get("explicit_paddings")
    if kind == "VALID":
        return (0, 0, 0, 0)
    if kind == "SAME":
        wide = [(k - 1) * d + 1 for k, d in zip(window, dilation or (1, 1), strict=True)]
        before, after = zip(*map(same_padding, size, wide, stride), strict=True)
        return (*before, *after)
    if kind == "EXPLICIT" and isinstance(explicit, tuple) and len(explicit) == 8:
        ours = explicit[2 * first : 2 * first + 4]
        return (ours[0], ours[2], ours[1], ours[3])
    return ()


Attributes = Mapping[str, Any]
Count = Callable[[Sequence[Dims], Sequence[Dims], Attributes], float]


#: Ops that only move, make or look up data.
MOVES = frozenset(
    onnx.words("""
    _Arg _Retval _Send _Recv _HostSend _HostRecv NoOp Const HostConst Placeholder VarHandleOp VariableV2
    Variable ReadVariableOp AssignVariableOp Assign Identity IdentityN Enter Exit Merge Switch NextIteration
    LoopCond RefEnter
    RefExit RefMerge RefSwitch RefNextIteration ControlTrigger Reshape ExpandDims Squeeze Shape ShapeN Size Rank
    Concat ConcatV2 Split SplitV Slice StridedSlice StridedSliceGrad Pack Unpack Gather GatherV2 ResourceGather
    Transpose ConjugateTranspose Tile Pad PadV2 MirrorPad Fill ZerosLike OnesLike Range OneHot Reverse ReverseV2 Cast
    Bitcast StopGradient PreventGradient Snapshot BroadcastTo BroadcastGradientArgs InvertPermutation ConcatOffset
    TensorArrayV3 TensorArrayReadV3 TensorArrayWriteV3 TensorArrayGatherV3 TensorArrayScatterV3 TensorArraySizeV3
    TensorListReserve TensorListGetItem TensorListSetItem TensorListStack TensorListFromTensor Where ScatterNd
    GatherNd RandomUniform TruncatedNormal RandomStandardNormal IteratorGetNext StackPushV2 StackPopV2 StackV2
    _MklToTf _MklReorder""")
)
#: Operations for each element of the first output.
PER_OUTPUT = {
    **dict.fromkeys(
        onnx.words("""
        Add AddV2 Sub Mul Div RealDiv FloorDiv TruncateDiv DivNoNan Maximum Minimum Pow Mod FloorMod Neg Abs
        Sign Exp Expm1 Log Log1p Sqrt Rsqrt Square Reciprocal Inv Tanh Sigmoid Relu Relu6 LeakyRelu Elu Selu Softplus
        Softsign Sin Cos Tan Erf Floor Ceil Round Rint Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd
        LogicalOr LogicalNot Select SelectV2 BiasAdd BiasAddV1 ReluGrad Relu6Grad ClipByValue IsNan IsInf IsFinite
        AssignAddVariableOp AssignSubVariableOp AssignAdd AssignSub"""),
        1.0,
    ),
    **dict.fromkeys(onnx.words("TanhGrad SquaredDifference EluGrad SoftplusGrad RsqrtGrad SqrtGrad"), 2.0),
    "SigmoidGrad": 3.0,  # y (1 - y) dy
}
#: Operations for each element of the first input.
PER_INPUT = {
    **dict.fromkeys(onnx.words("Sum Mean Max Min Prod All Any ArgMax ArgMin Cumsum BiasAddGrad TopKV2"), 1.0),
    **dict.fromkeys(["L2Loss"], 2.0),
    **dict.fromkeys(["Softmax", "LogSoftmax"], 5.0),  # maximum, subtract, exp, sum, divide
    **dict.fromkeys(["SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"], 7.0),
    **dict.fromkeys(["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"], 7.0),
}
#: Operations for each element of the variable that an optimiser updates.
UPDATES = {
    **dict.fromkeys(["ApplyGradientDescent", "ResourceApplyGradientDescent"], 2.0),
    **dict.fromkeys(["ApplyMomentum", "ResourceApplyMomentum", "ResourceApplyKerasMomentum"], 4.0),
    **dict.fromkeys(["ApplyAdam", "ResourceApplyAdam"], 12.0),
    **dict.fromkeys(["ApplyRMSProp", "ResourceApplyRMSProp"], 8.0),
    **dict.fromkeys(["ApplyAdagrad", "ResourceApplyAdagrad", "ResourceApplyAdagradV2"], 5.0),
}


def flops(op: str, inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Attributes) -> float:
    """Return the operations of one execution; NaN for an op that is not known, or where the shapes do not suffice.

    Parameters
    ----------
    op : str
        `MatMul`, `Conv2D`, ...
    inputs, outputs : sequences of sequences of int
        Shapes of the data inputs and of the outputs.
    attributes : mapping
        `transpose_a`, `adj_x`, `ksize`, if the graph has them.

    Examples
    --------
    >>> flops("MatMul", [(3, 2), (3, 4)], [(2, 4)], {"transpose_a": True})
    48.0
    """
    tables = (PER_OUTPUT, PER_INPUT, COUNTS)
    return 0.0 if op in MOVES else onnx.counted(plain_op(op), *tables, inputs, outputs, attributes)


def plain_op(op: str) -> str:
    """Return the op that a kernel of MKL implements.

    Examples
    --------
    >>> plain_op("_MklConv2D"), plain_op("_MklNativeFusedMatMul"), plain_op("MatMul")
    ('Conv2D', '_FusedMatMul', 'MatMul')
    """
    if not op.startswith("_Mkl"):
        return op
    name = op.removeprefix("_Mkl").removeprefix("Native")
    return f"_{name}" if name.startswith("Fused") else name


def _pool(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Attributes) -> float:
    kernel = attributes.get("ksize")
    return numel(outputs[0]) * numel(kernel) if isinstance(kernel, tuple) and kernel else math.nan


def _update(each: float, inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Attributes) -> float:
    return each * max(map(numel, inputs))


#: Of filters, output channels stand last: one element of the result meets all other weights.
COUNTS: dict[str, Count] = {
    # A product of two matrices, whichever are transposed.
    "MatMul": lambda ins, outs, _: onnx.flops("Gemm", ins[:2], outs, {}),
    # And one operation an element for the bias.
    "_FusedMatMul": lambda ins, outs, _: onnx.flops("Gemm", ins[:3], outs, {}),
    **dict.fromkeys(
        ["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"],
        lambda ins, outs, of: 2.0 * numel(outs[0]) * ins[0][-2 if of.get("adj_x") else -1],
    ),
    **dict.fromkeys(
        ["Conv2D", "Conv3D", "_FusedConv2D", "_FusedConv3D"],
        lambda ins, outs, _: (2.0 * numel(ins[1][:-1]) + max(len(ins) - 2, 0)) * numel(outs[0]),
    ),
    **dict.fromkeys(
        ["Conv2DBackpropInput", "Conv3DBackpropInputV2"],
        lambda ins, outs, _: 2.0 * numel(ins[1][:-1]) * numel(ins[2]),
    ),
    **dict.fromkeys(
        ["Conv2DBackpropFilter", "Conv3DBackpropFilterV2"],
        lambda ins, outs, _: 2.0 * numel(outs[0][:-1]) * numel(ins[2]),
    ),
    # A filter is height, width, channels, multiplier: each result meets height times width.
    **dict.fromkeys(
        ["DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"],
        lambda ins, outs, _: 2.0 * numel(ins[1][:-2]) * numel(outs[0]),
    ),
    "AddN": lambda ins, outs, _: max(len(ins) - 1, 0) * numel(outs[0]),
    **dict.fromkeys(["MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D"], _pool),
    **{op: partial(_update, each) for op, each in UPDATES.items()},
}
