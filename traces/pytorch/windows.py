"""Arguments of PyTorch's operators that set the size of a task beside its shapes: strides and the like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simsched.graph.shapes import Attributes, window_attributes

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
    """Return what the arguments of a call say of its size beside the shapes of its tensors.

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
    told = {key: _numbers(values[place]) for key, place in places.items() if place < len(values)}
    if "window" in told and not told.get("stride"):
        # The stride of a pool is its window where none is given.
        told["stride"] = told["window"]
    return window_attributes(**told)


def _operator(name: str) -> str:
    return name.rpartition("::")[2].split(".")[0]


def _numbers(value: Any) -> tuple[int, ...]:
    """Return an argument's whole numbers; () for what has none."""
    if isinstance(value, str):
        found = _LIST.fullmatch(value.strip())
        if found is None:
            return (_TRUTHS[value],) if value in _TRUTHS else ()
        value = [int(number) for number in found[1].split(",")]
    if isinstance(value, bool | int):
        return (int(value),)
    if isinstance(value, list) and 0 < len(value) <= 3 and all(type(number) is int for number in value):
        return tuple(value)
    return ()
