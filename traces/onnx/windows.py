"""Attributes of ONNX operators that set the size of a task beside the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simsched.graph.shapes import Attributes, same_padding, window_attributes

Dims = Sequence[int]
Told = Mapping[str, int | str | tuple[int, ...]]

#: Operators with windows; the place of their filters among the inputs, -1 where the attributes give their size.
_WINDOWS = {
    **dict.fromkeys(["Conv", "FusedConv", "NhwcConv", "NhwcFusedConv", "ConvInteger", "ConvTranspose"], 1),
    "QLinearConv": 3,
    **dict.fromkeys(["MaxPool", "AveragePool", "LpPool", "QLinearAveragePool", "NhwcMaxPool"], -1),
}
_HEADS = ("num_heads", "q_num_heads")

#: Attributes that are read here.
ATTRIBUTES = frozenset({"strides", "pads", "dilations", "group", "auto_pad", "kernel_shape", *_HEADS})


def shape_attributes(op_type: str, inputs: Sequence[Dims], attributes: Told) -> Attributes:
    """Return what sets the size of an operator beside the shapes of its inputs.

    Parameters
    ----------
    op_type : str
        `Conv`, `MaxPool`, ...
    inputs : sequence of sequence of int
        Shapes.
    attributes : mapping
        Those named in `ATTRIBUTES`, where the model tells them.

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


def _numbers(attributes: Told, name: str) -> tuple[int, ...]:
    found = attributes.get(name, ())
    return found if isinstance(found, tuple) else ()


def _padding(op_type: str, image: Dims, window: Dims, stride: Dims, attributes: Told) -> tuple[int, ...]:
    """Return padding before all directions, then after."""
    automatic = attributes.get("auto_pad")
    if automatic not in ("SAME_UPPER", "SAME_LOWER"):
        return _numbers(attributes, "pads") or (0,) * 2 * len(window)
    pixels = image[1:-1] if op_type.startswith("Nhwc") else image[2:]
    if len(stride) != len(window) or min(stride) < 1:
        return ()
    before, after = zip(*map(same_padding, pixels, window, stride), strict=True)
    return (*before, *after) if automatic == "SAME_UPPER" else (*after, *before)
