"""Layers: parameters and the ops that use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.workloads.ops import bias_add, conv2d, layer_norm, matmul

if TYPE_CHECKING:
    from simsched.workloads.builder import Builder
    from simsched.workloads.ops.windows import Padding
    from simsched.workloads.tensor import Tensor


class Dense:
    """x W + b: a product and a bias.

    Parameters
    ----------
    net : Builder
    scope : str
        Name of the layer.
    inputs, outputs : int
        Sizes of x and the result.
    """

    def __init__(self, net: Builder, scope: str, inputs: int, outputs: int) -> None:
        self._net, self._scope = net, scope
        with net.within(scope):
            self.weights, self.bias = net.parameter(inputs, outputs), net.parameter(outputs)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs, (n, outputs), of inputs of (n, inputs)."""
        with self._net.within(self._scope):
            return bias_add(matmul(x, self.weights), self.bias)


class Convolution:
    """Filters and a bias, on images of (n, height, width, inputs).

    Parameters
    ----------
    net : Builder
    scope : str
        Name of the layer.
    side : int
        Height and width of the filters.
    inputs, outputs : int
        Channels.
    stride, padding
        As `simsched.workloads.ops.conv2d` takes them.
    """

    def __init__(
        self,
        net: Builder,
        scope: str,
        side: int,
        inputs: int,
        outputs: int,
        stride: int = 1,
        padding: Padding = "same",
    ) -> None:
        self._net, self._scope, self._stride, self._padding = net, scope, stride, padding
        with net.within(scope):
            self.filters, self.bias = net.parameter(side, side, inputs, outputs), net.parameter(outputs)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs, images of `outputs` channels."""
        with self._net.within(self._scope):
            return bias_add(conv2d(x, self.filters, self._stride, self._padding), self.bias)


class LayerNorm:
    """Rows of `size` brought to mean 0 and variance 1, scaled and shifted.

    Parameters
    ----------
    net : Builder
    scope : str
        Name of the layer.
    size : int
        Elements of a row.
    """

    def __init__(self, net: Builder, scope: str, size: int) -> None:
        self._net, self._scope = net, scope
        with net.within(scope):
            self.scale, self.shift = net.parameter(size), net.parameter(size)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the rows, in the shape of `x`."""
        with self._net.within(self._scope):
            return layer_norm(x, self.scale, self.shift)
