"""Index expressions of a loop nest: sums of loop variables, each times a whole number."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from simsched.errors import SimschedError

LONGEST = 200


class NestError(SimschedError):
    """A loop nest is impossible: an unknown loop, an index that is not affine, an extent below one.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import NestError, matmul
    >>> try:
    ...     matmul(m=0, n=4, k=2)
    ... except NestError as error:
    ...     print(error)
    matmul 0x4x2: loop 'm' has extent 0; expected a whole number from 1
    """


@dataclass(frozen=True)
class Affine:
    """`offset + sum(coefficient * variable)`.

    Parameters
    ----------
    terms : tuple of (str, int)
        Variables with their coefficients, none zero, in order of first use.
    offset : int
        The constant.
    """

    terms: tuple[tuple[str, int], ...]
    offset: int = 0

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables used."""
        return tuple(name for name, _ in self.terms)

    def span(self, tiles: Mapping[str, float]) -> float:
        """Return the number of consecutive values of the index while each variable runs over its tile.

        For the window of a convolution, `oh*stride+kh`, that is (tile of oh - 1) * stride + tile of kh: the tile
        with its halo.
        """
        return 1 + sum(abs(factor) * (tiles[name] - 1) for name, factor in self.terms)


def parse(expression: str, constants: Mapping[str, int]) -> Affine:
    """Read an index expression: names, whole numbers, `+`, `-`, `*` and parentheses.

    Raises
    ------
    NestError
        If it is no such expression, or a product of two variables.
    """
    if not isinstance(expression, str) or len(expression) > LONGEST:
        raise NestError(f"index {str(expression)[:LONGEST]!r} is not a text of at most {LONGEST} characters")
    terms = _read(_tree(expression), expression, constants)
    offset = terms.pop("", 0)
    return Affine(tuple((name, factor) for name, factor in terms.items() if factor), offset)


@lru_cache(maxsize=1024)
def _tree(expression: str) -> ast.expr:
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise NestError(f"index {expression!r} cannot be read; write it like 'oh*2+kh-1'") from None


def _read(node: ast.expr, expression: str, constants: Mapping[str, int]) -> dict[str, int]:
    """Return coefficients by variable; that of the empty name is the constant."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return {"": value}
        case ast.Name(id=name):
            return {"": constants[name]} if name in constants else {name: 1}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _scaled(_read(operand, expression, constants), -1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            sign = 1 if isinstance(op, ast.Add) else -1
            total = _read(left, expression, constants)
            for name, factor in _scaled(_read(right, expression, constants), sign).items():
                total[name] = total.get(name, 0) + factor
            return total
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = _read(left, expression, constants), _read(right, expression, constants)
            if set(one) <= {""}:
                return _scaled(other, one.get("", 0))
            if set(other) <= {""}:
                return _scaled(one, other.get("", 0))
    raise NestError(
        f"index {expression!r} is not affine at {ast.unparse(node)!r}: only sums of loop variables, "
        "each times a whole number, can be tiled"
    )


def _scaled(terms: dict[str, int], factor: int) -> dict[str, int]:
    return {name: value * factor for name, value in terms.items()}
