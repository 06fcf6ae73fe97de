"""Shapes of a task's inputs: tuples of tuples, and their text form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from simsched.errors import GraphError

Shape = tuple[tuple[int, ...], ...]

#: Of tensors in files: what NumPy allows, and far beyond any real one.
MAX_RANK = 64

#: 18 digits fit an int64.
_INPUT = re.compile(r"\(\)|[0-9]{1,18}(?:x[0-9]{1,18})*")


def parse_shape(text: str) -> Shape:
    """Return the shapes written as `64x512;512x512`; a scalar input is written `()`.

    Raises
    ------
    GraphError
        If the text is not of that form.

    Examples
    --------
    >>> parse_shape("64x512;512;()")
    ((64, 512), (512,), ())
    """
    parts = text.split(";") if text else []
    if not all(map(_INPUT.fullmatch, parts)):
        raise GraphError(f"shape {text!r} is not written like 64x512;512x512, a scalar as ()")
    return tuple(() if part == "()" else tuple(map(int, part.split("x"))) for part in parts)


def format_shape(shape: Iterable[Iterable[int]]) -> str:
    """Return the text form of `shape`.

    Examples
    --------
    >>> format_shape([(64, 512), (512,), ()])
    '64x512;512;()'
    """
    return ";".join("x".join(map(str, dims)) or "()" for dims in shape)


def numel(dims: Sequence[int]) -> float:
    """Return the number of elements of one input; a float, so that absurd shapes are infinite and not slow.

    Examples
    --------
    >>> numel((64, 512)), numel(())
    (32768.0, 1.0)
    """
    return math.prod(map(float, dims), start=1.0)
