"""Pooling of images of (n, height, width, channels)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simsched.workloads.ops.windows import Padding, outputs

if TYPE_CHECKING:
    from simsched.workloads.tensor import Dims, Tensor


def max_pool(x: Tensor, window: int, stride: int, padding: Padding = "valid") -> Tensor:
    """Return the largest of each window; the gradient, `MaxPoolGrad`, reads input and output once more.

    Parameters
    ----------
    x : Tensor, shape (n, height, width, channels)
    window, stride : int
        Pixels in both directions.
    padding : {"valid", "same"}

    Returns
    -------
    Tensor, shape (n, windows down, windows across, channels)

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import max_pool
    >>> net = Builder()
    >>> y = max_pool(net.input(8, 32, 32, 3), window=2, stride=2)
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((8, 16, 16, 3), ['MaxPool'], [24576.0])
    """
    dims, flops = _pooled(x, window, stride, padding)

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield dy.net.op("MaxPoolGrad", [x, y, dy], x.dims, flops)

    y = x.net.op("MaxPool", [x], dims, flops, gradient)
    return y


def average_pool(x: Tensor, window: int, stride: int, padding: Padding = "valid") -> Tensor:
    """Return the mean of each window; its gradient is an `AvgPoolGrad`.

    Parameters
    ----------
    x : Tensor, shape (n, height, width, channels)
    window, stride : int
        Pixels in both directions.
    padding : {"valid", "same"}

    Returns
    -------
    Tensor, shape (n, windows down, windows across, channels)

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import average_pool
    >>> net = Builder()
    >>> y = average_pool(net.input(8, 32, 32, 3), window=2, stride=2)
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((8, 16, 16, 3), ['AvgPool'], [24576.0])
    """
    dims, flops = _pooled(x, window, stride, padding)

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield dy.net.op("AvgPoolGrad", [dy.net.input(4), dy], x.dims, flops)

    return x.net.op("AvgPool", [x], dims, flops, gradient)


def _pooled(x: Tensor, window: int, stride: int, padding: Padding) -> tuple[Dims, float]:
    n, high, wide, channels = x.dims
    rows, columns = (outputs(size, window, stride, padding) for size in (high, wide))
    return (n, rows, columns, channels), float(window * window) * n * rows * columns * channels
