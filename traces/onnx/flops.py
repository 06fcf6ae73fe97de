"""Floating-point operations of ONNX operators, from the shapes of their inputs and outputs.

One multiply-add is two operations. Everything else is counted as one operation per element and pass, whatever
its instruction costs (an exponential counts like an addition): matrix products and convolutions are exact,
the rest distinguishes "almost nothing" from "something".

A blocked (NCHWc) convolution keeps the weight's shape, with channels padded to whole blocks; the padding is
really computed, so it is counted.

References
----------
"ONNX Operators", https://onnx.ai/onnx/operators/.

"Contrib Operator Schemas", ONNX Runtime, docs/ContribOperators.md: those of `com.microsoft` and
`com.microsoft.nchwc`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simsched.graph.shapes import MAX_RANK, Attributes, numel, same_padding, window_attributes

Dims = Sequence[int]
Values = Mapping[str, int | str | tuple[int, ...]]

#: Operators with windows; the place of their filters among the inputs, -1 where the attributes give their size.
_WINDOWS = {
    **dict.fromkeys(["Conv", "FusedConv", "NhwcConv", "NhwcFusedConv", "ConvInteger", "ConvTranspose"], 1),
    "QLinearConv": 3,
    **dict.fromkeys(["MaxPool", "AveragePool", "LpPool", "QLinearAveragePool", "NhwcMaxPool"], -1),
}
_HEADS = ("num_heads", "q_num_heads")

#: Attributes that are read here.
WINDOW_ATTRIBUTES = frozenset({"strides", "pads", "dilations", "group", "auto_pad", "kernel_shape", *_HEADS})


def shape_attributes(op_type: str, inputs: Sequence[Dims], attributes: Values) -> Attributes:
    """Return the attributes that set the size of an operator in addition to its shapes.

    Parameters
    ----------
    op_type : str
        `Conv`, `MaxPool`, ...
    inputs : sequence of sequence of int
        Shapes.
    attributes : mapping
        Those named in `WINDOW_ATTRIBUTES`, where the model tells them.

    Examples
    --------
    >>> shape_attributes("Conv", [(1, 3, 224, 224), (64, 3, 7, 7)], {"strides": (2, 2), "auto_pad": "SAME_UPPER"})
    {'stride': (2,), 'padding': (2, 2, 3, 3)}
    """
    if op_type not in _WINDOWS:
        heads = next((attributes[name] for name in _HEADS if name in attributes), None)
        return window_attributes(heads=(heads,)) if isinstance(heads, int) else {}
    place = _WINDOWS[op_type]
    filters = tuple(inputs[place][2:]) if 0 <= place < len(inputs) else ()
    window = filters or _numbers(attributes, "kernel_shape")
    if not inputs or not window or len(inputs[0]) != len(window) + 2:
        return {}
    stride = _numbers(attributes, "strides") or (1,) * len(window)
    group = attributes.get("group", 1)
    return window_attributes(
        window=() if filters else window,
        stride=stride,
        padding=_padding(op_type, inputs[0], window, stride, attributes),
        dilation=_numbers(attributes, "dilations"),
        groups=(group,) if isinstance(group, int) else (),
    )


def _numbers(attributes: Values, name: str) -> tuple[int, ...]:
    found = attributes.get(name, ())
    return found if isinstance(found, tuple) else ()


def _padding(op_type: str, image: Dims, window: Dims, stride: Dims, attributes: Values) -> tuple[int, ...]:
    """Return padding before all directions, then after."""
    automatic = attributes.get("auto_pad")
    if automatic not in ("SAME_UPPER", "SAME_LOWER"):
        return _numbers(attributes, "pads") or (0,) * 2 * len(window)
    pixels = image[1:-1] if op_type.startswith("Nhwc") else image[2:]
    if len(stride) != len(window) or min(stride) < 1:
        return ()
    before, after = zip(*map(same_padding, pixels, window, stride), strict=True)
    return (*before, *after) if automatic == "SAME_UPPER" else (*after, *before)


Count = Callable[[Sequence[Dims], Sequence[Dims], Values], float]

#: Attributes that a count below depends on.
ATTRIBUTES = frozenset({"K", "N", "activation", "equation", "kernel_shape", "size", "transBatchA"})


def words(text: str) -> list[str]:
    """Return the words of a table."""
    return text.split()


MOVES = frozenset(
    words(""" Bernoulli BitCast Cast CastLike CenterCropPad Compress Concat ConcatFromSequence Constant
    ConstantOfShape DepthToSpace Dropout Expand EyeLike Flatten Gather GatherElements GatherND Identity MaxUnpool
    MemcpyFromHost MemcpyToHost Multinomial NonZero OneHot Optional OptionalGetElement OptionalHasElement Pad
    RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range ReorderInput ReorderOutput Reshape
    ReverseSequence Scatter ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty SequenceErase
    SequenceInsert SequenceLength Shape Size Slice SpaceToDepth Split SplitToSequence Squeeze TensorScatter Tile
    Transpose Trilu Unsqueeze Where
    """)
)

_ELEMENTWISE = words("""
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow
    Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp FastGelu Floor Gelu Greater GreaterOrEqual GridSample HammingWindow
    HannWindow HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or
    PRelu Pow QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid QuickGelu Reciprocal Relu Resize Round Selu Shrink
    Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Upsample Xor
    """)
_REDUCTIONS = words("""
    ArgMax ArgMin Col2Im CumProd CumSum GlobalAveragePool GlobalMaxPool Hardmax QLinearGlobalAveragePool ReduceMax
    ReduceMean ReduceMin ReduceProd ReduceSum TopK
    """)

#: Operations for each element of the output.
PER_OUTPUT = {
    **dict.fromkeys(_ELEMENTWISE, 1.0),
    "BiasGelu": 2.0,  # add, activate
    "EmbedLayerNormalization": 9.0,  # two additions, and as below
    "RotaryEmbedding": 3.0,  # two products and their sum
    "SwiGLU": 3.0,  # sigmoid, two products
    "BatchNormalization": 2.0,  # scale, shift
    "DequantizeLinear": 2.0,
    "QuantizeLinear": 2.0,
}

#: Operations for each element of the first input.
PER_INPUT = {
    **dict.fromkeys(_REDUCTIONS, 1.0),
    **dict.fromkeys(["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"], 2.0),
    "GlobalLpPool": 2.0,
    "LpNormalization": 3.0,  # power, sum, divide
    "MeanVarianceNormalization": 5.0,  # sum, subtract, square, sum, divide
    "DynamicQuantizeLinear": 4.0,  # minimum, maximum, scale, shift
    # maximum, subtract, exp, sum, divide
    **dict.fromkeys(["Softmax", "LogSoftmax", "QLinearSoftmax", "SoftmaxCrossEntropyLoss"], 5.0),
    **dict.fromkeys(["RMSNormalization", "SimplifiedLayerNormalization"], 4.0),  # square, sum, divide, scale
    "SkipSimplifiedLayerNormalization": 5.0,  # and the residual
    # sum, subtract, square, sum, divide, scale, shift
    **dict.fromkeys(["LayerNormalization", "InstanceNormalization", "GroupNormalization", "GroupNorm"], 7.0),
    **dict.fromkeys(["SkipLayerNormalization", "SkipGroupNorm"], 8.0),  # and the residual
}


def flops(op_type: str, inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    """Return the operations of one call of an operator.

    Parameters
    ----------
    op_type : str
        `MatMul`, `Conv`, ...
    inputs, outputs : sequences of sequences of int
        Shapes; of the outputs at least the first.
    attributes : mapping
        Those named in `ATTRIBUTES`, if the model has them.

    Returns
    -------
    float
        Operations; NaN for an unknown operator, or where the shapes do not suffice.

    Examples
    --------
    >>> flops("MatMul", [(2, 3), (3, 4)], [(2, 4)], {})
    48.0
    """
    tables = (PER_OUTPUT, PER_INPUT, COUNTS)
    return 0.0 if op_type in MOVES else counted(op_type, *tables, inputs, outputs, attributes)


def counted(
    op_type: str,
    per_output: Mapping[str, float],
    per_input: Mapping[str, float],
    counts: Mapping[str, Callable[..., float]],
    *call: Any,
) -> float:
    """Return the operations of a call (inputs, outputs, attributes) by tables of operators; NaN as for `flops`.

    Parameters
    ----------
    op_type : str
    per_output, per_input : mapping of str to float
        Operations for each element of the first output, or input.
    counts : mapping of str to callable
        Functions of the call, of other operators.
    *call
        Inputs, outputs and attributes.
    """
    inputs, outputs, _ = call
    try:
        if op_type in per_output:
            return per_output[op_type] * numel(outputs[0])
        if op_type in per_input:
            return per_input[op_type] * numel(inputs[0])
        return counts[op_type](*call) if op_type in counts else math.nan
    except (IndexError, ValueError, ZeroDivisionError):
        # An operator called with fewer or other inputs than its definition has.
        return math.nan


def _gemm(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    """2 M N K and M N for the addend; K follows from A's size, so that the transposes do not matter."""
    rows, columns = outputs[0]
    if not rows:
        return 0.0
    inner = numel(inputs[0]) / rows
    return 2.0 * rows * columns * inner + (float(rows) * columns if len(inputs) > 2 else 0.0)


def _fused_matmul(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    """2 M N K a batch, K again from A's last two dimensions, which either transpose only swaps."""
    if attributes.get("transBatchA"):
        return math.nan
    rows, result = outputs[0][-2], numel(outputs[0])
    return 2.0 * result * numel(inputs[0][-2:]) / rows if result else 0.0


def _matmul_nbits(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    inner = attributes.get("K", inputs[0][-1])
    return 2.0 * numel(outputs[0]) * float(inner) if isinstance(inner, int) else math.nan


def _conv(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    """Twice the output times the weight of one output channel; bias, addend and activation once an output."""
    extras = max(len(inputs) - 2, 0) + ("activation" in attributes)
    return _convolved(inputs[0], inputs[1], outputs[0]) + extras * numel(outputs[0])


def _convolved(image: Dims, weight: Dims, output: Dims) -> float:
    # A shorter shape in the weight's place is the bias: the profile leaves out weights packed at load time.
    return 2.0 * numel(output) * numel(weight[1:]) if len(weight) == len(image) else math.nan


def _recurrent(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    """Both matrix products of every step, and one operation for each gate's element.

    X is (steps, batch, inputs), W (directions, gates x hidden, inputs) and R (directions, gates x hidden,
    hidden).
    """
    (steps, batch, _), weight, recurrence = inputs[:3]
    if len(weight) != 3 or len(recurrence) != 3:
        return math.nan
    gates = numel(recurrence) / max(min(recurrence[1:]), 1)
    return float(steps) * batch * (2.0 * (numel(weight) + numel(recurrence)) + gates)


def _pool(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    kernel = attributes.get("kernel_shape")
    return numel(outputs[0]) * numel(kernel) if isinstance(kernel, tuple) else math.nan


def _local_response(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    size = attributes.get("size")
    return 2.0 * numel(outputs[0]) * size if isinstance(size, int) else math.nan


def _attention(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    """Projection where the second input is its weight, scores and weighted sum; masks are not looked at.

    The keys are those of the second output, if there is one: those given, after those of earlier calls.
    """
    query, second = inputs[0], inputs[1]
    if len(second) == 2:
        batch, steps, _ = query
        keys = outputs[1][-2] if len(outputs) > 1 else steps
        return 2.0 * batch * steps * numel(second) + 4.0 * batch * steps * keys * outputs[0][-1]
    keys = outputs[1][-2] if len(outputs) > 1 else second[-2]
    return 2.0 * keys * (numel(query) + numel(outputs[0]))


#: Labels for the dimensions of an ellipsis: letters that no equation has, the last for the last dimension.
_ELLIPSIS = "".join(map(chr, range(0xE000, 0xE000 + MAX_RANK)))


def _einsum(inputs: Sequence[Dims], outputs: Sequence[Dims], attributes: Values) -> float:
    """One multiplication an operand and one addition, for every value of all labels."""
    terms = str(attributes.get("equation", "")).replace(" ", "").split("->")[0].split(",")
    extents: dict[str, int] = {}
    for term, dims in zip(terms, inputs, strict=True):
        hidden = len(dims) - len(term.replace("...", ""))
        labels = term.replace("...", _ELLIPSIS[MAX_RANK - hidden :])
        for label, extent in zip(labels, dims, strict=True):
            extents[label] = max(extents.get(label, 1), extent)
    return len(terms) * numel(list(extents.values()))


COUNTS: dict[str, Count] = {
    **dict.fromkeys(["Gemm", "FusedGemm"], _gemm),
    "QGemm": lambda ins, outs, attributes: _gemm(ins[:1], outs, attributes),
    **dict.fromkeys(
        ["MatMul", "MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"],
        lambda ins, outs, _: 2.0 * numel(outs[0]) * ins[0][-1],
    ),
    **dict.fromkeys(["FusedMatMul", "TransposeMatMul"], _fused_matmul),
    **dict.fromkeys(["MatMulNBits", "MatMulBnb4"], _matmul_nbits),
    **dict.fromkeys(["Conv", "FusedConv", "NhwcConv", "NhwcFusedConv"], _conv),
    "QLinearConv": lambda ins, outs, _: _convolved(ins[0], ins[3], outs[0]),
    **dict.fromkeys(["ConvInteger", "DeformConv"], lambda ins, outs, _: _convolved(ins[0], ins[1], outs[0])),
    # Every input element meets the weight of its channel; the bias once an output.
    "ConvTranspose": lambda ins, outs, _: (
        _convolved(ins[0], ins[1], ins[0]) + (numel(outs[0]) if len(ins) > 2 else 0.0)
    ),
    **dict.fromkeys(["LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"], _recurrent),
    **dict.fromkeys(["MaxPool", "AveragePool", "LpPool", "QLinearAveragePool", "NhwcMaxPool"], _pool),
    "LRN": _local_response,
    **dict.fromkeys(["Attention", "GroupQueryAttention", "MultiHeadAttention", "QAttention"], _attention),
    # A row of a matrix of 2 x 3 or 3 x 4 times each point gives each coordinate.
    "AffineGrid": lambda ins, outs, _: 2.0 * numel(outs[0]) * (outs[0][-1] + 1),
    # Elimination: two thirds of the cube.
    "Det": lambda ins, outs, _: numel(ins[0]) * ins[0][-1] * 2 / 3,
    # Every target picks one element, and adds it.
    "NegativeLogLikelihoodLoss": lambda ins, outs, _: 2.0 * numel(ins[1]),
    "Einsum": _einsum,
}
