"""Shapes of a task's inputs, as tuples of tuples, other properties that set its size, and their text form.

`16x64x56x56;64x64x3x3;stride=2;padding=1x1` are images and filters with two attributes of the op, and
`64x512;512x512;element=bf16` matrices whose elements are known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from simsched.errors import GraphError

Shape = tuple[tuple[int, ...], ...]

#: Properties that set the size of an op in addition to its shapes: whole numbers, one per direction or one for all.
Attributes = Mapping[str, tuple[int, ...]]

#: The attributes that there are; `padding` before and after where it has twice as many numbers as directions, `times`
#: the work over that of the shapes, as a fraction (3x2 is one and a half times as much).
ATTRIBUTES = ("stride", "padding", "dilation", "groups", "window", "transposed", "heads", "times")

#: Types of elements, and their bytes.
ELEMENTS: Mapping[str, float] = {"fp64": 8.0, "fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "int8": 1.0}

#: Values of attributes that are left out.
_SILENT = {"dilation": 1, "groups": 1, "transposed": 0}
_LEAST = {"padding": 0, "transposed": 0}

#: Largest value of strides, padding and the like in files.
MOST_PIXELS = 10**9

#: Most axes of tensors in files: NumPy's limit, far beyond any real one.
MAX_RANK = 64

#: 18 digits fit an int64.
_SIZES = r"[0-9]{1,18}(?:x[0-9]{1,18})*"
_INPUT = re.compile(rf"\(\)|{_SIZES}")
_ATTRIBUTE = re.compile(rf"([a-z]+)=({_SIZES}|[a-z]+[0-9]*)")


def parse_shape(text: str) -> Shape:
    """Return the shapes written as `64x512;512x512`; a scalar input is written `()`.

    Attributes after the inputs (`;stride=2`) are checked and left out; see `parse_attributes`.

    Raises
    ------
    GraphError
        If the text is not of that form.

    Examples
    --------
    >>> parse_shape("64x512;512;()")
    ((64, 512), (512,), ())
    """
    return _parsed(text)[0]


def parse_attributes(text: str) -> Attributes:
    """Return the attributes after the inputs of a shape.

    Raises
    ------
    GraphError
        If the text is not of the form `INPUT;...;NAME=NUMBER;...`, a name is unknown or occurs twice.

    Examples
    --------
    >>> parse_attributes("16x64x56x56;64x64x3x3;stride=2;padding=1x1")
    {'stride': (2,), 'padding': (1, 1)}
    """
    return _parsed(text)[1]


def parse_element(text: str) -> str:
    """Return the type of the elements of a shape, a key of `ELEMENTS`; "" where it is not stated.

    Raises
    ------
    GraphError
        If the text is not a shape, or there is no such type.

    Examples
    --------
    >>> parse_element("64x512;512x512;element=bf16"), parse_element("64x512;512x512")
    ('bf16', '')
    """
    return _parsed(text)[2]


def _parsed(text: str) -> tuple[Shape, dict[str, tuple[int, ...]], str]:
    inputs: list[tuple[int, ...]] = []
    attributes: dict[str, tuple[int, ...]] = {}
    element = ""
    for part in text.split(";") if text else []:
        if found := _ATTRIBUTE.fullmatch(part):
            name, value = found[1], found[2]
            if name in attributes or (name == "element" and element):
                raise GraphError(f"shape {text!r}: {name} stands twice")
            if name == "element":
                element = _element(text, value)
            elif name not in ATTRIBUTES:
                raise GraphError(f"shape {text!r}: {name} is none of {', '.join(ATTRIBUTES)}, element")
            elif value[0].isalpha():
                raise GraphError(f"shape {text!r}: {name}={value}; expected a number, or several as 1x2")
            else:
                attributes[name] = tuple(map(int, value.split("x")))
        elif _INPUT.fullmatch(part) and not attributes and not element:
            inputs.append(() if part == "()" else tuple(map(int, part.split("x"))))
        else:
            raise GraphError(
                f"shape {text!r} is not written like 64x512;512x512, a scalar as (), attributes last as stride=2"
            )
    times(attributes)
    return tuple(inputs), attributes, element


def _element(text: str, value: str) -> str:
    if value not in ELEMENTS:
        raise GraphError(f"shape {text!r}: element={value} is none of {', '.join(ELEMENTS)}")
    return value


def format_shape(
    shape: Iterable[Iterable[int]], attributes: Attributes | None = None, element: str = ""
) -> str:
    """Return the text form of `shape`, followed by attributes and the type of the elements where it is given.

    Examples
    --------
    >>> format_shape([(64, 512), (512,), ()])
    '64x512;512;()'
    >>> format_shape([(16, 64, 56, 56), (64, 64, 3, 3)], {"stride": (2,), "padding": (1, 1)})
    '16x64x56x56;64x64x3x3;stride=2;padding=1x1'
    """
    inputs = ["x".join(map(str, dims)) or "()" for dims in shape]
    own = [f"{name}={'x'.join(map(str, value))}" for name, value in (attributes or {}).items()]
    return ";".join(inputs + own + [f"element={element}"] * bool(element))


def same_padding(size: int, window: int, stride: int) -> tuple[int, int]:
    """Return the padding before and after for size over stride places of a window, as in TensorFlow.

    Examples
    --------
    >>> same_padding(224, 7, 2), same_padding(56, 3, 1)
    ((2, 3), (1, 1))
    """
    both = max((-(-size // stride) - 1) * stride + window - size, 0)
    return both // 2, both - both // 2


def window_attributes(**each: Sequence[int]) -> Attributes:
    """Return attributes of windows, without those that are empty, impossible, or repeat a number.

    Parameters
    ----------
    **each : sequence of int
        By name, one for each direction; of `padding` those before all directions and then those after.

    Examples
    --------
    >>> window_attributes(stride=(2, 2), padding=(1, 1, 1, 1), dilation=(1, 1), groups=[1])
    {'stride': (2,), 'padding': (1,)}
    >>> window_attributes(stride=(1, 1), padding=(2, 0, 3, 0))
    {'stride': (1,), 'padding': (2, 0, 3, 0)}
    """
    return {
        name: tuple(values[:1]) if len(set(values)) == 1 else tuple(values)
        for name, values in each.items()
        if values
        and _LEAST.get(name, 1) <= min(values) <= max(values) <= MOST_PIXELS
        and set(values) != {_SILENT.get(name)}
    }


def times(attributes: Attributes) -> Fraction:
    """Return the ratio of an op's work to that of its shapes.

    Raises
    ------
    GraphError
        If it is no fraction above zero.

    Examples
    --------
    >>> times({"times": (3, 2)}), times({})
    (Fraction(3, 2), Fraction(1, 1))
    """
    given = attributes.get("times", (1, 1))
    if len(given) > 2 or min(given) < 1:
        raise GraphError(f"times={'x'.join(map(str, given))} is no fraction above zero, as 3x2")
    return Fraction(*given)


def with_times(text: str, factor: float) -> str:
    """Return the text of a shape whose op does so many times the work; no work has no shape.

    Examples
    --------
    >>> with_times("64x512;512x512", 1.5), with_times("64x512;512x512;times=3x2", 2.0)
    ('64x512;512x512;times=3x2', '64x512;512x512;times=3x1')
    """
    shape, attributes, element = _parsed(text)
    found = (times(attributes) * Fraction(factor)).limit_denominator(10**6)
    if not text or not 0 < found.numerator < 10**18:
        return ""
    ratio = {"times": (found.numerator, found.denominator)}
    return format_shape(shape, {**attributes, **ratio}, element)


def numel(dims: Sequence[int]) -> float:
    """Return the number of elements of one input; a float, so that absurd shapes become infinite, not slow.

    Examples
    --------
    >>> numel((64, 512)), numel(())
    (32768.0, 1.0)
    """
    return math.prod(map(float, dims), start=1.0)
