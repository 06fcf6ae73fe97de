"""ATen operators: floating-point operations from shapes, and the arguments that set the size of a task beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.graph.shapes import Attributes, numel, window_attributes

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """The shapes of one call of an operator.

    Parameters
    ----------
    inputs : sequence of (tuple of int or None)
        Shape of each positional argument; None for other values.
    tensors : sequence of tuple of int
        Shapes of all input tensors, those in lists included.
    outputs : sequence of tuple of int
        Shapes of all output tensors; empty where they were not recorded.
    values : sequence
        The arguments that are not tensors, by position; empty where they were not recorded.
    """

    inputs: Sequence[Dims | None]
    tensors: Sequence[Dims]
    outputs: Sequence[Dims] = ()
    values: Sequence[Any] = ()


def short(name: str) -> str:
    """Return an operator's kind: its name without `aten::`; other namespaces keep theirs.

    Examples
    --------
    >>> short("aten::addmm"), short("mylib::op")
    ('addmm', 'mylib::op')
    """
    return name.removeprefix("aten::")


def flops(name: str, call: Call) -> float:
    """Return the floating-point operations of a call; NaN where they are unknown.

    A multiply-add is two. Elementwise operators and reductions count one per element of their largest tensor,
    views and allocations none.

    Parameters
    ----------
    name : str
        The operator: `aten::addmm`.
    call : Call
        Its shapes.

    Examples
    --------
    >>> flops("aten::addmm", Call([(64,), (32, 128), (128, 64)], [(64,), (32, 128), (128, 64)]))
    524288.0
    """
    base = name.rpartition("::")[2].split(".")[0]
    if base in _NO_WORK:
        return 0.0
    try:
        if base in _PRODUCTS:
            return _PRODUCTS[base](call)
    except (IndexError, ValueError):
        # An operator called with fewer or other inputs than its definition has.
        return math.nan
    if base.rstrip("_").removesuffix("_backward").strip("_") in _PER_ELEMENT:
        return max(map(numel, [*call.tensors, *call.outputs]), default=math.nan)
    return math.nan


def _product(a: int, b: int) -> Callable[[Call], float]:
    """2 m n k a batch for the arguments `a` (..., m, k) and `b` (..., k, n), whose batches are broadcast."""

    def count(call: Call) -> float:
        left, right = call.inputs[a], call.inputs[b]
        if left is None or right is None:
            return math.nan
        columns = right[-1] if len(right) > 1 else 1
        return 2.0 * numel(left[-2:]) * columns * numel(np.broadcast_shapes(left[:-2], right[:-2]))

    return count


def _linear(call: Call) -> float:
    data, weight = call.inputs[0], call.inputs[1]
    if data is None or weight is None:
        return math.nan
    return 2.0 * numel(data) * (weight[0] if len(weight) > 1 else 1)


def _convolution(call: Call) -> float:
    data, weight = call.inputs[0], call.inputs[1]
    if data is None or weight is None:
        return math.nan
    transposed = len(call.values) > 6 and call.values[6] is True
    return 2.0 * numel(data if transposed else call.outputs[0]) * numel(weight[1:])


def _convolution_backward(call: Call) -> float:
    gradient, data, weight = call.inputs[0], call.inputs[1], call.inputs[2]
    if gradient is None or data is None or weight is None:
        return math.nan
    transposed = len(call.values) > 7 and call.values[7] is True
    once = 2.0 * numel(data if transposed else gradient) * numel(weight[1:])
    mask = call.values[-1] if call.values else None
    if not (isinstance(mask, list) and len(mask) == 3):
        return 2.0 * once
    return (bool(mask[0]) + bool(mask[1])) * once + (numel(gradient) if mask[2] else 0.0)


def _attention(query_at: int, products: float) -> Callable[[Call], float]:
    """So many products of queries and keys, and of scores and values: operands from place `query_at` on."""

    def count(call: Call) -> float:
        query, key, value = call.inputs[query_at : query_at + 3]
        if query is None or key is None or value is None:
            return math.nan
        return products * numel(query[:-1]) * key[-2] * (query[-1] + value[-1])

    return count


#: Two products of the same work forward, five backward: the scores again, and four gradients.
_FORWARD, _BACKWARD = _attention(0, 2.0), _attention(1, 5.0)

_PRODUCTS: dict[str, Callable[[Call], float]] = {
    "mm": _product(0, 1), "bmm": _product(0, 1), "mv": _product(0, 1), "dot": _product(0, 1),
    "matmul": _product(0, 1), "addmm": _product(1, 2), "addmm_": _product(1, 2), "addmv": _product(1, 2),
    "baddbmm": _product(1, 2), "baddbmm_": _product(1, 2), "addbmm": _product(1, 2), "linear": _linear,
    "mkldnn_linear": _linear, "_linear_pointwise": _linear,
    "conv1d": _convolution, "conv2d": _convolution, "conv3d": _convolution, "convolution": _convolution,
    "_convolution": _convolution, "mkldnn_convolution": _convolution, "thnn_conv2d": _convolution,
    "_slow_conv2d_forward": _convolution, "_convolution_pointwise": _convolution,
    "convolution_overrideable": _convolution, "convolution_backward": _convolution_backward,
    "scaled_dot_product_attention": _FORWARD, "_scaled_dot_product_flash_attention_for_cpu": _FORWARD,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _BACKWARD,
}  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Views, allocations and queries of a tensor.
_NO_WORK = _words(
    """alias as_strided broadcast_to chunk detach detach_ diagonal empty empty_like empty_strided expand
    expand_as is_nonzero item _local_scalar_dense lift_fresh movedim narrow new_empty new_empty_strided permute
    _reshape_alias resize_ resolve_conj resolve_neg result_type select set_ slice split split_with_sizes
    squeeze squeeze_ swapaxes t t_ tensor_split transpose transpose_ T mT unbind unflatten unfold unsafe_chunk
    unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_ view view_as _unsafe_view
    _has_compatible_shallow_copy_type record_stream"""
)

#: Elementwise operators and reductions; `add_` and `tanh_backward` are found under `add` and `tanh`.
_PER_ELEMENT = _words(
    """abs adaptive_avg_pool2d add addcdiv addcmul all amax amin any argmax argmin avg_pool2d batch_norm bernoulli
    bitwise_and bitwise_not bitwise_or cat ceil clamp clamp_min clone constant_pad_nd copy cos cumsum div dropout
    elu eq erf exp fill floor fused_dropout ge gelu gt hardswish hardtanh index_select layer_norm le leaky_relu lerp
    log log1p log_softmax log_softmax_backward_data logical_and logical_not logical_or logsumexp lt masked_fill max
    max_pool2d max_pool2d_with_indices maximum mean min minimum mish mse_loss mul nan_to_num native_batch_norm
    native_dropout native_layer_norm ne neg new_ones new_zeros nll_loss nll_loss_forward normal ones ones_like pad pow
    prod rand randn reciprocal relu remainder repeat round rsqrt rsub sigmoid sign silu sin smooth_l1_loss softmax
    softmax_backward_data softplus sqrt square stack std sub sum tanh threshold to_copy to tril triu uniform
    upsample_nearest2d var var_mean where zero zeros zeros_like"""
)


_OF_CONVOLUTION = {"stride": 3, "padding": 4, "dilation": 5, "transposed": 6, "groups": 8}
_OF_CALL = {"stride": 3, "padding": 4, "dilation": 5, "groups": 6}
_OF_MKLDNN = {"padding": 3, "stride": 4, "dilation": 5, "groups": 6}
_OF_SLOW = {"stride": 4, "padding": 5}
_OF_TRANSPOSED = {"stride": 3, "padding": 4, "groups": 6, "dilation": 7}
_OF_POOL = {"window": 1, "stride": 2, "padding": 3}
_OF_POOL_GRADIENT = {"window": 2, "stride": 3, "padding": 4}

#: Positions of arguments, by operator.
_POSITIONS = {
    **dict.fromkeys(["conv1d", "conv2d"], _OF_CALL),
    **dict.fromkeys(["convolution", "_convolution", "convolution_overrideable"], _OF_CONVOLUTION),
    **dict.fromkeys(["mkldnn_convolution", "_convolution_pointwise"], _OF_MKLDNN),
    **dict.fromkeys(["thnn_conv2d", "_slow_conv2d_forward"], _OF_SLOW),
    "convolution_backward": {"stride": 4, "padding": 5, "dilation": 6, "transposed": 7, "groups": 9},
    **dict.fromkeys(["conv_transpose1d", "conv_transpose2d"], _OF_TRANSPOSED),
    **dict.fromkeys(["max_pool1d", "max_pool2d", "max_pool2d_with_indices", "avg_pool2d"], _OF_POOL),
    **dict.fromkeys(["max_pool2d_with_indices_backward", "avg_pool2d_backward"], _OF_POOL_GRADIENT),
}
_LIST = re.compile(r"\[? *([0-9]{1,9}(?: *, *[0-9]{1,9})*) *\]?")
_TRUTHS = {"True": 1, "true": 1, "False": 0, "false": 0}


def has_window(name: str) -> bool:
    """Return whether an operator has arguments that are read here.

    Examples
    --------
    >>> has_window("aten::conv2d"), has_window("aten::mm")
    (True, False)
    """
    return _operator(name) in _POSITIONS


def shape_attributes(name: str, values: Sequence[Any]) -> Attributes:
    """Return the properties of a call's size from its arguments, in addition to its shapes.

    Parameters
    ----------
    name : str
        `aten::conv2d`, ...
    values : sequence
        Its arguments by position, as numbers or as text (`[2, 2]`); empty where they were not recorded.

    Examples
    --------
    >>> shape_attributes("aten::conv2d", ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "64"])
    {'stride': (2,), 'padding': (1,), 'groups': (64,)}
    """
    places = _POSITIONS.get(_operator(name), {})
    attributes = {key: _numbers(values[place]) for key, place in places.items() if place < len(values)}
    if "window" in attributes and not attributes.get("stride"):
        # The stride of a pool is its window where none is given.
        attributes["stride"] = attributes["window"]
    return window_attributes(**attributes)


#: Touching single rows or elements of a table, whatever its size: their bytes follow from what is picked.
_PICKS = re.compile(
    "index(_select)?|_?index_put(_impl)?_|index_(add|copy)_|gather|take(_along_dim)?|scatter(_add|_reduce)?_|_?embedding(_bag)?"
    "(_forward_only)?|nll_loss(_nd|2d)?(_forward)?|split_embedding_.*"
)


def picks(name: str) -> bool:
    """Return whether an operator touches only some rows or elements of its largest tensors.

    Examples
    --------
    >>> picks("aten::embedding"), picks("aten::index_put_"), picks("aten::index_put")
    (True, True, False)
    """
    return _PICKS.fullmatch(_operator(name)) is not None


def _operator(name: str) -> str:
    return name.rpartition("::")[2].split(".")[0]


def _numbers(value: Any) -> tuple[int, ...]:
    """Return an argument's whole numbers; () if it has none."""
    if isinstance(value, str):
        if (found := _LIST.fullmatch(value.strip())) is None:
            return (_TRUTHS[value],) if value in _TRUTHS else ()
        value = [int(number) for number in found[1].split(",")]
    if isinstance(value, bool | int):
        return (int(value),)
    if isinstance(value, list) and 0 < len(value) <= 3 and all(type(number) is int for number in value):
        return tuple(value)
    return ()
