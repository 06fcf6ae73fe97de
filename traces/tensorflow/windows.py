"""Attributes of TensorFlow's ops that set the size of a task beside the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simsched.graph.shapes import Attributes, same_padding, window_attributes

Dims = Sequence[int]

#: Where an op has its images: a number of an input, or of an output after `~`.
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
    op: str, inputs: Sequence[Dims], outputs: Sequence[Dims], told: Mapping[str, Any]
) -> Attributes:
    """Return what sets the size of an op beside the shapes of its inputs.

    Parameters
    ----------
    op : str
        `Conv2D`, `MaxPool`, ...
    inputs, outputs : sequence of sequence of int
        Shapes.
    told : mapping
        Those named in `ATTRIBUTES`, where the graph tells them.

    Examples
    --------
    >>> told = {"strides": (1, 2, 2, 1), "padding": "SAME"}
    >>> shape_attributes("Conv2D", [(8, 224, 224, 3), (7, 7, 3, 64)], [(8, 112, 112, 64)], told)
    {'stride': (2,), 'padding': (2, 2, 3, 3)}
    """
    place = _IMAGES.get(op)
    strides = told.get("strides")
    if place is None or not isinstance(strides, tuple) or len(strides) != 4:
        return {}
    first = 2 if told.get("data_format") == "NCHW" else 1
    window, size = _window(op, inputs, outputs, told, first), _size(place, inputs, outputs, first)
    stride = tuple(strides[first : first + 2])
    if not window or not size or min(stride) < 1:
        return {}
    dilations = told.get("dilations")
    dilation = tuple(dilations[first : first + 2]) if isinstance(dilations, tuple) else ()
    pool = isinstance(told.get("ksize"), tuple)
    return window_attributes(
        window=window if pool or op.endswith("BackpropFilter") else (),
        stride=stride,
        padding=_padding(told, size, window, stride, dilation, first),
        dilation=dilation,
    )


def _window(
    op: str, inputs: Sequence[Dims], outputs: Sequence[Dims], told: Mapping[str, Any], first: int
) -> Dims:
    """Return height and width of the window; filters stand second, those that are made first; () where unknown."""
    pool = told.get("ksize")
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
    told: Mapping[str, Any], size: Dims, window: Dims, stride: Dims, dilation: Dims, first: int
) -> tuple[int, ...]:
    """Return padding before all directions, then after; () where unknown."""
    kind, explicit = told.get("padding"), told.get("explicit_paddings")
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
