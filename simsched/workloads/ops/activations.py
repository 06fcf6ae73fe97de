"""Activations, element by element, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.workloads.tensor import Tensor


def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x)).

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
    >>> from simsched.workloads.ops import sigmoid
    >>> net = Builder()
    >>> y = sigmoid(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Sigmoid'], [1280.0])
    """
    return _activation(x, "Sigmoid", 3.0)


def tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent.

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
    >>> from simsched.workloads.ops import tanh
    >>> net = Builder()
    >>> y = tanh(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Tanh'], [1280.0])
    """
    return _activation(x, "Tanh", 3.0)


def gelu(x: Tensor) -> Tensor:
    """Return x times the share of a normal distribution below it; the gradient is computed from the input.

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
    >>> from simsched.workloads.ops import gelu
    >>> net = Builder()
    >>> y = gelu(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Gelu'], [1280.0])
    """

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield dy.net.op("GeluGrad", [dy, x], dy.dims, 2.0 * dy.elements)

    return x.net.op("Gelu", [x], x.dims, x.elements, gradient)


def relu(x: Tensor) -> Tensor:
    """Return x where it is above 0, else 0.

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
    >>> from simsched.workloads.ops import relu
    >>> net = Builder()
    >>> y = relu(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Relu'], [1280.0])
    """
    return _activation(x, "Relu", 1.0)


def leaky_relu(x: Tensor) -> Tensor:
    """Return x where it is above 0, else a small part of it.

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
    >>> from simsched.workloads.ops import leaky_relu
    >>> net = Builder()
    >>> y = leaky_relu(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['LeakyRelu'], [1280.0])
    """
    return _activation(x, "LeakyRelu", 1.0)


def _activation(x: Tensor, kind: str, gradient_passes: float) -> Tensor:
    """Add an activation whose gradient (kind and `Grad`) is computed from its output."""

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield dy.net.op(f"{kind}Grad", [dy, y], dy.dims, gradient_passes * dy.elements)

    y = x.net.op(kind, [x], x.dims, x.elements, gradient)
    return y
