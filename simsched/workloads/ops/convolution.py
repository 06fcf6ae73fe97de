"""Convolutions and pooling of images of (n, height, width, channels), as TensorFlow has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from simsched.errors import GraphError
from simsched.workloads.tensor import Dims, Tensor

#: Padding as in TensorFlow: as many outputs as inputs over the stride, or only windows inside; or pixels.
Padding = Literal["same", "valid"] | int


def outputs(size: int, window: int, stride: int, padding: Padding) -> int:
    """Return the number of places of a window along an axis.

    Raises
    ------
    GraphError
        If it has none.
    """
    if padding == "same":
        return -(-size // stride)
    beyond = 0 if padding == "valid" else padding
    if size + 2 * beyond < window:
        raise GraphError(f"a window of {window} does not fit into {size} pixels, padded by {beyond}")
    return (size + 2 * beyond - window) // stride + 1


def conv2d(x: Tensor, filters: Tensor, stride: int = 1, padding: Padding = "same") -> Tensor:
    """Return the convolution of images with filters of (height, width, channels, outputs).

    Parameters
    ----------
    x : Tensor, shape (n, height, width, channels)
    filters : Tensor, shape (height, width, channels, outputs)
    stride : int
        Pixels in both directions.
    padding : {"same", "valid"}

    Returns
    -------
    Tensor, shape (n, pixels down, pixels across, outputs)

    Raises
    ------
    GraphError
        If the channels do not match, or the filters do not fit into the images.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import conv2d
    >>> net = Builder()
    >>> y = conv2d(net.input(8, 32, 32, 3), net.parameter(3, 3, 3, 16))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((8, 32, 32, 16), ['Conv2D'], [7077888.0])
    """
    net, (n, high, wide, channels) = x.net, x.dims
    rows, columns, inner, made = filters.dims
    if inner != channels:
        raise GraphError(f"filters of {filters.dims} on images of {x.dims}; the channels must agree")
    dims = (n, outputs(high, rows, stride, padding), outputs(wide, columns, stride, padding), made)
    flops = 2.0 * n * dims[1] * dims[2] * filters.elements

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        # Each gets the shape of its output, a vector of four.
        given = net.input(4)
        yield net.op("Conv2DBackpropInput", [given, filters, dy], x.dims, flops) if x.trained else None
        yield net.op("Conv2DBackpropFilter", [x, given, dy], filters.dims, flops) if filters.trained else None

    return net.op("Conv2D", [x, filters], dims, flops, gradient)


def conv2d_transpose(x: Tensor, filters: Tensor, stride: int, high: int, wide: int) -> Tensor:
    """Return images of (n, high, wide, made) whose convolution with filters of (.., .., made, channels) is like `x`.

    TensorFlow's transposed convolution with padding "same": a `Conv2DBackpropInput`, the gradients of which are a
    `Conv2D` and a `Conv2DBackpropFilter`.

    Parameters
    ----------
    x : Tensor, shape (n, height, width, channels)
    filters : Tensor, shape (height, width, made, channels)
    stride : int
        Pixels in both directions.
    high, wide : int
        Pixels of the images that are made.

    Returns
    -------
    Tensor, shape (n, high, wide, made)

    Raises
    ------
    GraphError
        If the channels do not match, or the stride does not lead from the images to that size.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import conv2d_transpose
    >>> net = Builder()
    >>> y = conv2d_transpose(net.input(8, 16, 16, 32), net.parameter(5, 5, 3, 32), 2, 32, 32)
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((8, 32, 32, 3), ['Conv2DBackpropInput'], [9830400.0])
    """
    net, (n, rows, columns, channels) = x.net, x.dims
    made, inner = filters.dims[2:]
    if inner != channels:
        raise GraphError(f"filters of {filters.dims} on images of {x.dims}; their last axes must agree")
    for size, small in ((high, rows), (wide, columns)):
        if outputs(size, 1, stride, "same") != small:
            raise GraphError(f"a stride of {stride} does not lead from {size} to {small} pixels")
    flops, given = 2.0 * n * rows * columns * filters.elements, net.input(4)
    return net.op(
        "Conv2DBackpropInput",
        [given, filters, x],
        (n, high, wide, made),
        flops,
        lambda dy: (
            None,
            net.op("Conv2DBackpropFilter", [dy, given, x], filters.dims, flops) if filters.trained else None,
            net.op("Conv2D", [dy, filters], x.dims, flops) if x.trained else None,
        ),
    )


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
    y = x.net.op(
        "MaxPool", [x], dims, flops, lambda dy: (dy.net.op("MaxPoolGrad", [x, y, dy], x.dims, flops),)
    )
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
    return x.net.op(
        "AvgPool",
        [x],
        dims,
        flops,
        lambda dy: (dy.net.op("AvgPoolGrad", [dy.net.input(4), dy], x.dims, flops),),
    )


def _pooled(x: Tensor, window: int, stride: int, padding: Padding) -> tuple[Dims, float]:
    n, high, wide, channels = x.dims
    rows, columns = (outputs(size, window, stride, padding) for size in (high, wide))
    return (n, rows, columns, channels), float(window * window) * n * rows * columns * channels
