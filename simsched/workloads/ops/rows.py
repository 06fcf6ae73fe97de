"""Normalisation of rows: what each element becomes depends on all of its row, the last axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.workloads.tensor import Tensor


def softmax(x: Tensor) -> Tensor:
    """Return exp(x) over its sum along a row; the gradient, `SoftmaxGrad`, is computed from the output.

    Parameters
    ----------
    x : Tensor, shape (..., classes)

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import softmax
    >>> net = Builder()
    >>> y = softmax(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Softmax'], [6400.0])
    """

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        # dx = y (dy - sum(dy y))
        yield dy.net.op("SoftmaxGrad", [dy, y], dy.dims, 4.0 * dy.elements)

    # maximum, subtract, exp, sum, divide
    y = x.net.op("Softmax", [x], x.dims, 5.0 * x.elements, gradient)
    return y


def layer_norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return rows of mean 0 and variance 1, scaled and shifted; one op, `LayerNormalizationGrad`, has all gradients.

    Parameters
    ----------
    x : Tensor, shape (..., features)
    scale, shift : Tensor, shape (features,)

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import layer_norm
    >>> net = Builder()
    >>> y = layer_norm(net.input(64, 20), net.parameter(20), net.parameter(20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['LayerNormalization'], [8960.0])
    """

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        # 11 passes for x: normalise 2, scale, two means 3, and dx 5; scale 2, shift 1.
        dx = dy.net.op("LayerNormalizationGrad", [dy, x, scale], x.dims, 14.0 * x.elements)
        yield dx
        yield dy.net.also(dx, *scale.dims)
        yield dy.net.also(dx, *shift.dims)

    # sum, subtract, square, sum, divide, scale, shift
    return x.net.op("LayerNormalization", [x, scale, shift], x.dims, 7.0 * x.elements, gradient)
