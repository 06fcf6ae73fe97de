"""Element-wise ops and their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simsched.errors import GraphError

if TYPE_CHECKING:
    from simsched.workloads.tensor import Dims, Gradient, Tensor


def add(a: Tensor, b: Tensor) -> Tensor:
    """Return a + b."""

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        yield _as(dy, a)
        yield _as(dy, b)

    return _binary("AddV2", a, b, gradient)


def subtract(a: Tensor, b: Tensor) -> Tensor:
    """Return a - b."""

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        yield _as(dy, a)
        yield _as(negative(dy), b) if b.trained else None

    return _binary("Sub", a, b, gradient)


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return a b, element by element."""

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        yield _as(multiply(dy, b), a) if a.trained else None
        yield _as(multiply(dy, a), b) if b.trained else None

    return _binary("Mul", a, b, gradient)


def negative(x: Tensor) -> Tensor:
    """Return -x."""

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield negative(dy)

    return x.net.op("Neg", [x], x.dims, x.elements, gradient)


def bias_add(x: Tensor, bias: Tensor) -> Tensor:
    """Return x + bias, the bias along the last axis; its gradient is a `BiasAddGrad`."""

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        yield dy
        yield dy.net.op("BiasAddGrad", [dy], bias.dims, dy.elements)

    return _binary("BiasAdd", x, bias, gradient)


def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x))."""
    return _activation(x, "Sigmoid", 3.0)


def tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return _activation(x, "Tanh", 3.0)


def relu(x: Tensor) -> Tensor:
    """Return x where it is above 0, else 0."""
    return _activation(x, "Relu", 1.0)


def _activation(x: Tensor, kind: str, gradient_passes: float) -> Tensor:
    """Add an activation whose gradient (kind and `Grad`) is computed from its output."""

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield dy.net.op(f"{kind}Grad", [dy, y], dy.dims, gradient_passes * dy.elements)

    y = x.net.op(kind, [x], x.dims, x.elements, gradient)
    return y


def _binary(kind: str, a: Tensor, b: Tensor, gradient: Gradient) -> Tensor:
    dims = broadcast(a.dims, b.dims)
    return a.net.op(kind, [a, b], dims, max(a.elements, b.elements), gradient)


def broadcast(a: Dims, b: Dims) -> Dims:
    """Return the shape of an element-wise op on two operands, one of which may have axes of 1 or fewer axes.

    Raises
    ------
    GraphError
        If neither operand has the shape of both together.
    """
    larger, smaller = (a, b) if len(a) >= len(b) else (b, a)
    front = len(larger) - len(smaller)
    if all(small in (1, large) for large, small in zip(larger[front:], smaller, strict=True)):
        return larger
    if front == 0 and all(large in (1, small) for large, small in zip(larger, smaller, strict=True)):
        return smaller
    raise GraphError(f"an element-wise op on {a} and {b}; one must have the shape of both")


def _as(dy: Tensor, operand: Tensor) -> Tensor | None:
    """Return the gradient of an operand that may have been broadcast: summed over what it was broadcast along."""
    if not operand.trained or dy.dims == operand.dims:
        return dy if operand.trained else None
    return dy.net.op("Sum", [dy], operand.dims, dy.elements)
