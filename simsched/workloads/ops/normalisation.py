"""Normalisation of images or rows, softmax, activations, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator

from simsched.workloads.tensor import Tensor


def batch_norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return channels normalised by mean and variance: of the batch in training, else learned ones.

    Moving averages of the batches' means and variances are not part of it.

    Parameters
    ----------
    x : Tensor, shape (n, height, width, channels)
    scale, shift : Tensor, shape (channels,)

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import batch_norm
    >>> net = Builder()
    >>> y = batch_norm(net.input(8, 32, 32, 3), net.parameter(3), net.parameter(3))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((8, 32, 32, 3), ['FusedBatchNormV3'], [172032.0])
    """
    net, channels = x.net, x.dims[-1]
    if not net.training:
        learned = [net.input(channels) for _ in ("mean", "variance")]
        return net.op("FusedBatchNormV3", [x, scale, shift, *learned], x.dims, 2.0 * x.elements)

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        # Subtract, multiply, two sums; then multiply, subtract, add, scale.
        dx = net.op("FusedBatchNormGradV3", [dy, x, scale, mean, variance], x.dims, 8.0 * x.elements)
        yield dx if x.trained else None
        for parameter in (scale, shift):
            gradient = net.also(dx, *parameter.dims)
            yield gradient if parameter.trained else None

    # Sum, subtract, square, sum, divide, scale, shift.
    y = net.op("FusedBatchNormV3", [x, scale, shift], x.dims, 7.0 * x.elements, gradient)
    mean, variance = net.also(y, channels), net.also(y, channels)
    return y


def local_response_norm(x: Tensor, channels: int = 5) -> Tensor:
    """Return each value over a power of the sum of squares in the channels around it.

    A channel is two operations of each value; the gradient sums once more over as many.

    Parameters
    ----------
    x : Tensor, shape (n, height, width, channels)
    channels : int
        How many are summed over.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import local_response_norm
    >>> net = Builder()
    >>> y = local_response_norm(net.input(8, 32, 32, 3))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((8, 32, 32, 3), ['LRN'], [245760.0])
    """
    flops = 2.0 * channels * x.elements
    y = x.net.op(
        "LRN", [x], x.dims, flops, lambda dy: (dy.net.op("LRNGrad", [dy, x, y], x.dims, 2.0 * flops),)
    )
    return y


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
    # maximum, subtract, exp, sum, divide
    # dx = y (dy - sum(dy y))
    y = x.net.op(
        "Softmax",
        [x],
        x.dims,
        5.0 * x.elements,
        lambda dy: (dy.net.op("SoftmaxGrad", [dy, y], dy.dims, 4.0 * dy.elements),),
    )
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
    """Return x times the probability of a normal variable below it; the gradient is computed from the input.

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
    return x.net.op(
        "Gelu",
        [x],
        x.dims,
        x.elements,
        lambda dy: (dy.net.op("GeluGrad", [dy, x], dy.dims, 2.0 * dy.elements),),
    )


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
    y = x.net.op(
        kind,
        [x],
        x.dims,
        x.elements,
        lambda dy: (dy.net.op(f"{kind}Grad", [dy, y], dy.dims, gradient_passes * dy.elements),),
    )
    return y
