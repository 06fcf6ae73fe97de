"""Convolutions of images of (n, height, width, channels), as TensorFlow has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simsched.errors import GraphError
from simsched.workloads.ops.windows import Padding, outputs

if TYPE_CHECKING:
    from simsched.workloads.tensor import Tensor


def conv2d(x: Tensor, filters: Tensor, stride: int = 1, padding: Padding = "same") -> Tensor:
    """Return the convolution of images with filters of (height, width, channels, outputs).

    Raises
    ------
    GraphError
        If the channels do not match, or the filters do not fit into the images.
    """
    net, (n, high, wide, channels) = x.net, x.dims
    rows, columns, inner, made = filters.dims
    if inner != channels:
        raise GraphError(f"filters of {filters.dims} on images of {x.dims}; the channels must agree")
    dims = (n, outputs(high, rows, stride, padding), outputs(wide, columns, stride, padding), made)
    flops = 2.0 * n * dims[1] * dims[2] * filters.elements

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        # Each is told the shape of what it makes, a vector of four.
        given = net.input(4)
        yield net.op("Conv2DBackpropInput", [given, filters, dy], x.dims, flops) if x.trained else None
        yield net.op("Conv2DBackpropFilter", [x, given, dy], filters.dims, flops)

    return net.op("Conv2D", [x, filters], dims, flops, gradient)
