"""Layers: parameters and the ops that use them; those of networks with batch normalisation."""

from __future__ import annotations

from collections.abc import Callable

from simsched.workloads.builder import Builder
from simsched.workloads.ops import add, batch_norm, bias_add, conv2d, layer_norm, matmul, relu, reshaped
from simsched.workloads.ops.convolution import Padding
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


class _Normalisation:
    """A scale and a shift for each element of the last axis, after what brings its input to mean 0 and variance 1."""

    normalised: Callable[[Tensor, Tensor, Tensor], Tensor]

    def __init__(self, net: Builder, scope: str, size: int) -> None:
        self._net, self._scope = net, scope
        with net.within(scope):
            self.scale, self.shift = net.parameter(size), net.parameter(size)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs, of the shape of `x`."""
        with self._net.within(self._scope):
            return self.normalised(x, self.scale, self.shift)


class BatchNorm(_Normalisation):
    """Batch normalisation of images or rows, by channel.

    Parameters
    ----------
    net : Builder
    scope : str
        Name of the layer.
    size : int
        Channels: the last axis of its input.
    """

    normalised = staticmethod(batch_norm)


class LayerNorm(_Normalisation):
    """Normalisation of rows.

    Parameters
    ----------
    net : Builder
    scope : str
        Name of the layer.
    size : int
        Elements of a row.
    """

    normalised = staticmethod(layer_norm)


class Convolution:
    """A convolution and a bias, or batch normalisation in its place.

    Parameters
    ----------
    net : Builder
    scope : str
        Name of the layer.
    filters : tuple of int
        Height, width, channels and outputs.
    stride, padding
        As of `conv2d`.
    normalised : bool
        Whether batch normalisation follows, which has a shift; else a bias is added.
    """

    def __init__(
        self,
        net: Builder,
        scope: str,
        filters: tuple[int, int, int, int],
        stride: int = 1,
        padding: Padding = "same",
        normalised: bool = False,
    ) -> None:
        self._net, self._scope, self._stride, self._padding = net, scope, stride, padding
        self._normalise = BatchNorm(net, scope, filters[-1]) if normalised else None
        with net.within(scope):
            self.filters = net.parameter(*filters)
            self.bias = None if normalised else net.parameter(filters[-1])

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs of images of (n, height, width, channels)."""
        with self._net.within(self._scope):
            y = conv2d(x, self.filters, self._stride, self._padding)
            if self.bias is not None:
                return bias_add(y, self.bias)
        return y if self._normalise is None else self._normalise(y)


def convolved(
    x: Tensor,
    scope: str,
    filters: int,
    window: int,
    stride: int = 1,
    padding: Padding = "same",
) -> Tensor:
    """Return the rectified outputs of a new `Convolution` of square filters."""
    y = Convolution(x.net, scope, (window, window, x.dims[-1], filters), stride, padding)(x)
    with x.net.within(scope):
        return relu(y)


def flat(x: Tensor) -> Tensor:
    """Return images as rows."""
    return reshaped(x, x.dims[0], x.elements // x.dims[0])


#: Height, width and outputs of a convolution's filters.
Filters = tuple[int, int, int]


class Layers:
    """Layers of Inception-v3 and ResNet-50.

    Parameters
    ----------
    net : Builder
        The network that ops are added to.
    """

    def __init__(self, net: Builder) -> None:
        self.net = net

    def convolution(
        self,
        x: Tensor,
        scope: str,
        filters: Filters,
        stride: int = 1,
        padding: Padding = "same",
        *,
        rectified: bool = True,
    ) -> Tensor:
        """Return a new convolution's outputs, normalised, and by default rectified."""
        high, wide, outputs = filters
        y = Convolution(self.net, scope, (high, wide, x.dims[-1], outputs), stride, padding, normalised=True)(
            x
        )
        with self.net.within(scope):
            return relu(y) if rectified else y

    def added(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the rectified sum of two tensors."""
        return relu(add(x, y))

    def chain(self, x: Tensor, scope: str, *filters: Filters) -> Tensor:
        """Return the outputs of new convolutions in sequence, which keep the size."""
        for i, each in enumerate(filters):
            x = self.convolution(x, f"{scope}/{i}_{each[0]}x{each[1]}", each)
        return x

    def dense(self, x: Tensor, scope: str, outputs: int) -> Tensor:
        """Return a new dense layer's outputs."""
        return Dense(self.net, scope, x.dims[1], outputs)(x)
