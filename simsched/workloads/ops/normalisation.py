"""Normalisation of images of (n, height, width, channels), or rows of (n, channels)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.workloads.tensor import Tensor


def batch_norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return each channel with a mean and variance of its own: of the batch in training, else ones that were learned.

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

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield dy.net.op("LRNGrad", [dy, x, y], x.dims, 2.0 * flops)

    y = x.net.op("LRN", [x], x.dims, flops, gradient)
    return y
