"""Shapes of a task's inputs: tuples of tuples, and their text form."""

from __future__ import annotations

from collections.abc import Iterable

from simsched.errors import GraphError

Shape = tuple[tuple[int, ...], ...]


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
    if not text:
        return ()
    try:
        return tuple(() if part == "()" else tuple(int(d) for d in part.split("x")) for part in text.split(";"))
    except ValueError:
        raise GraphError(f"shape {text!r} is not written like 64x512;512x512") from None


def format_shape(shape: Iterable[Iterable[int]]) -> str:
    """Return the text form of `shape`.

    Examples
    --------
    >>> format_shape([(64, 512), (512,), ()])
    '64x512;512;()'
    """
    return ";".join("x".join(map(str, dims)) or "()" for dims in shape)
