"""Ops as TensorFlow 1 composes them, gradients included, after constants are folded.

Ops that only name memory or order others (`Identity`, `Reshape`, `NoOp`, ...) compute and move nothing.
Shapes are known, so that what computes them is folded away; a sum over no axes hands its operand on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simsched.workloads.ops.elementwise import elementwise
from simsched.workloads.tensor import Gradient, Tensor


def renamed(
    kind: str, x: Tensor, *dims: int, after: Sequence[Tensor] = (), gradient: Gradient | None = None
) -> Tensor:
    """Return the memory of `x` in a shape (by default its own), by an op of the kind that moves nothing."""
    return x.net.op(kind, [x, *after], dims or x.dims, 0.0, gradient, bytes_B=0)


def _reshaped(x: Tensor, kind: str, *dims: int) -> Tensor:
    """Return `x` in another shape by an op of the given kind; its gradient is a `Reshape`."""
    return renamed(kind, x, *dims, gradient=lambda dy: (renamed("Reshape", dy, *x.dims),))


def _like(dy: Tensor, operand: Tensor) -> Tensor:
    """Return the gradient of an operand that may have been broadcast."""
    same = dy.dims == operand.dims
    total = renamed("Identity", dy) if same else dy.net.op("Sum", [dy], operand.dims, dy.elements)
    return renamed("Reshape", total, *operand.dims)


def _unary(kind: str, x: Tensor) -> Tensor:
    return x.net.op(kind, [x], x.dims, x.elements)


def add(a: Tensor, b: Tensor) -> Tensor:
    """Return a + b."""
    return elementwise("AddV2", a, b, lambda dy: (_like(dy, a), _like(dy, b)))


def subtract(a: Tensor, b: Tensor) -> Tensor:
    """Return a - b."""
    return elementwise("Sub", a, b, lambda dy: (_like(dy, a), _like(_unary("Neg", dy), b)))


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return a b; the gradients of both are computed, of constants, too."""
    return elementwise(
        "Mul", a, b, lambda dy: (_like(elementwise("Mul", dy, b), a), _like(elementwise("Mul", dy, a), b))
    )


def _inverse_root(x: Tensor) -> Tensor:
    """Return 1 over the root of x."""
    y = x.net.op(
        "Rsqrt",
        [x],
        x.dims,
        x.elements,
        lambda dy: (dy.net.op("RsqrtGrad", [y, dy], dy.dims, 3.0 * dy.elements),),
    )
    return y


def _squared_difference(x: Tensor, fixed: Tensor) -> Tensor:
    """Return (x - fixed) squared; `fixed` passes no gradient on."""

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        twice = elementwise("Mul", dy, dy.net.input())
        slope = elementwise("Mul", twice, elementwise("Sub", x, fixed))
        yield _like(slope, x)
        # Nothing reads it, but the group of the gradients waits for it.
        yield _unary("Neg", _like(slope, fixed))

    return x.net.op("SquaredDifference", [x, fixed], x.dims, 2.0 * x.elements, gradient)


def mean(x: Tensor, *dims: int) -> Tensor:
    """Return the means over the axes that are 1, or missing, in the given shape."""
    ones = (1,) * (len(x.dims) - len(dims)) + dims

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        spread = x.net.op("Tile", [renamed("Reshape", dy, *ones)], x.dims, 0.0)
        yield elementwise("RealDiv", spread, x.net.input())

    return x.net.op("Mean", [x], dims, x.elements, gradient)


def batch_moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance of each channel."""
    channels, ones = x.dims[-1], (1,) * (len(x.dims) - 1)
    average = mean(x, *ones, channels)
    variance = mean(_squared_difference(x, renamed("StopGradient", average)), *ones, channels)
    return _reshaped(average, "Squeeze", channels), _reshaped(variance, "Squeeze", channels)


def batch_normalised(
    x: Tensor, average: Tensor, variance: Tensor, shift: Tensor, scale: Tensor | None = None
) -> Tensor:
    """Return each channel less its mean and over the root of its variance, scaled and shifted."""
    factor = _inverse_root(add(variance, x.net.input()))
    factor = factor if scale is None else multiply(factor, scale)
    return add(multiply(x, factor), subtract(shift, multiply(average, factor)))


def squares_halved(x: Tensor) -> Tensor:
    """Return half the sum of squares of a tensor."""
    return x.net.op("L2Loss", [x], (), 2.0 * x.elements, lambda dy: (elementwise("Mul", x, dy),))
