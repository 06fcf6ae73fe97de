"""Element-wise ops, dropout among them, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simsched.errors import GraphError
from simsched.workloads.tensor import Dims, Gradient, Tensor


def add(a: Tensor, b: Tensor) -> Tensor:
    """Return a + b.

    Parameters
    ----------
    a, b : Tensor
        Of one shape, or of shapes that broadcast as NumPy's do.

    Returns
    -------
    Tensor
        Of the shape that both broadcast to.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import add
    >>> net = Builder()
    >>> y = add(net.input(64, 20), net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['AddV2'], [1280.0])
    """
    return elementwise("AddV2", a, b, lambda dy: (_as(dy, a), _as(dy, b)))


def add_n(parts: Sequence[Tensor]) -> Tensor:
    """Return the sum of one tensor or more, all of one shape; of one, itself.

    Parameters
    ----------
    parts : sequence of Tensor

    Returns
    -------
    Tensor
        Of the same shape.

    Raises
    ------
    GraphError
        If there is none, or their shapes differ.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import add_n
    >>> net = Builder()
    >>> y = add_n([net.input(64, 20) for _ in range(3)])
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['AddN'], [2560.0])
    """
    if len({x.dims for x in parts}) != 1:
        raise GraphError(f"the sum of {[x.dims for x in parts]}; give tensors of one shape")
    first, count = parts[0], len(parts)

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield from [dy] * count

    return (
        first.net.op("AddN", parts, first.dims, (count - 1.0) * first.elements, gradient)
        if count > 1
        else first
    )


def subtract(a: Tensor, b: Tensor) -> Tensor:
    """Return a - b.

    Parameters
    ----------
    a, b : Tensor
        Of one shape, or of shapes that broadcast as NumPy's do.

    Returns
    -------
    Tensor
        Of the shape that both broadcast to.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import subtract
    >>> net = Builder()
    >>> y = subtract(net.input(64, 20), net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Sub'], [1280.0])
    """
    return elementwise("Sub", a, b, lambda dy: (_as(dy, a), _as(negative(dy), b) if b.trained else None))


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return a b, element by element.

    Parameters
    ----------
    a, b : Tensor
        Of one shape, or of shapes that broadcast as NumPy's do.

    Returns
    -------
    Tensor
        Of the shape that both broadcast to.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import multiply
    >>> net = Builder()
    >>> y = multiply(net.input(64, 20), net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Mul'], [1280.0])
    """
    return elementwise(
        "Mul",
        a,
        b,
        lambda dy: (
            _as(multiply(dy, b), a) if a.trained else None,
            _as(multiply(dy, a), b) if b.trained else None,
        ),
    )


def divide(a: Tensor, b: Tensor) -> Tensor:
    """Return a / b, element by element.

    Parameters
    ----------
    a, b : Tensor
        Of one shape, or of shapes that broadcast as NumPy's do.

    Returns
    -------
    Tensor
        Of the shape that both broadcast to.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import divide
    >>> net = Builder()
    >>> y = divide(net.input(64, 20), net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['RealDiv'], [1280.0])
    """
    y = elementwise(
        "RealDiv",
        a,
        b,
        lambda dy: (
            _as(divide(dy, b), a) if a.trained else None,
            _as(negative(divide(multiply(dy, y), b)), b) if b.trained else None,
        ),
    )
    return y


def floor_mod(a: Tensor, b: Tensor) -> Tensor:
    """Return the remainder of a divided by b.

    Parameters
    ----------
    a, b : Tensor
        Of one shape, or of shapes that broadcast as NumPy's do.

    Returns
    -------
    Tensor
        Of the shape that both broadcast to.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import floor_mod
    >>> net = Builder()
    >>> y = floor_mod(net.input(64, 20), net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['FloorMod'], [1280.0])
    """
    return elementwise(
        "FloorMod",
        a,
        b,
        lambda dy: (
            _as(dy, a),
            _as(multiply(dy, negative(elementwise("FloorDiv", a, b))), b) if b.trained else None,
        ),
    )


def less(a: Tensor, b: Tensor) -> Tensor:
    """Return where a is below b; not trained.

    Parameters
    ----------
    a, b : Tensor
        Of one shape, or of shapes that broadcast as NumPy's do.

    Returns
    -------
    Tensor
        Of the shape that both broadcast to.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import less
    >>> net = Builder()
    >>> y = less(net.input(64, 20), net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Less'], [1280.0])
    """
    return elementwise("Less", a, b)


def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return a where the condition holds and b elsewhere, all of one shape.

    Parameters
    ----------
    condition, a, b : Tensor

    Returns
    -------
    Tensor
        Of the same shape.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import where
    >>> net = Builder()
    >>> y = where(net.input(64, 20), net.input(64, 20), net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Where'], [0.0])
    """

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        nothing = dy.net.input()
        yield None
        yield where(condition, dy, nothing) if a.trained else None
        yield where(condition, nothing, dy) if b.trained else None

    return a.net.op("Where", [condition, a, b], condition.dims, 0.0, gradient)


def negative(x: Tensor) -> Tensor:
    """Return -x.

    Parameters
    ----------
    x : Tensor
        Of any shape, which is that of the result.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import negative
    >>> net = Builder()
    >>> y = negative(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Neg'], [1280.0])
    """
    return x.net.op("Neg", [x], x.dims, x.elements, lambda dy: (negative(dy),))


def bias_add(x: Tensor, bias: Tensor) -> Tensor:
    """Return x + bias, the bias along the last axis; its gradient is a `BiasAddGrad`.

    Parameters
    ----------
    x : Tensor, shape (..., channels)
    bias : Tensor, shape (channels,)

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import bias_add
    >>> net = Builder()
    >>> y = bias_add(net.input(64, 20), net.parameter(20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['BiasAdd'], [1280.0])
    """
    return elementwise(
        "BiasAdd",
        x,
        bias,
        lambda dy: (
            dy if x.trained else None,
            dy.net.op("BiasAddGrad", [dy], bias.dims, dy.elements) if bias.trained else None,
        ),
    )


def elementwise(kind: str, a: Tensor, b: Tensor, gradient: Gradient | None = None) -> Tensor:
    """Return an op of the given kind on two operands, one of which may be broadcast."""
    return a.net.op(kind, [a, b], _broadcast(a.dims, b.dims), max(a.elements, b.elements), gradient)


def _broadcast(a: Dims, b: Dims) -> Dims:
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
    """Return the gradient of an operand that may have been broadcast: summed over the broadcast axes."""
    if not operand.trained or dy.dims == operand.dims:
        return dy if operand.trained else None
    return dy.net.op("Sum", [dy], operand.dims, dy.elements)


def dropout(x: Tensor) -> Tensor:
    """Return `x` with some values set to zero in training, by a mask that its gradient reads; else `x` itself.

    Parameters
    ----------
    x : Tensor
        Of any shape, which is that of the result.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import dropout
    >>> net = Builder()
    >>> y = dropout(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Dropout'], [3840.0])
    """
    net = x.net
    if not net.training:
        return x
    # A random number, a comparison, a product.
    y = net.op("Dropout", [x], x.dims, 3.0 * x.elements, lambda dy: (multiply(dy, mask),))
    mask = net.also(y, *x.dims)
    return y
