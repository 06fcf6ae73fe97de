"""Layers of networks with batch normalisation, an op a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.workloads.layers import Convolution, Dense
from simsched.workloads.ops import add, relu

if TYPE_CHECKING:
    from simsched.workloads.builder import Builder
    from simsched.workloads.ops.windows import Padding
    from simsched.workloads.tensor import Tensor

#: Height, width and outputs of a convolution's filters.
Filters = tuple[int, int, int]


class Layers:
    """What Inception-v3 and ResNet-50 are made of.

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
        """Return a new convolution's outputs, normalised, and rectified unless told otherwise."""
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
        """Return the outputs of new convolutions one behind the other, which keep the size."""
        for i, each in enumerate(filters):
            x = self.convolution(x, f"{scope}/{i}_{each[0]}x{each[1]}", each)
        return x

    def dense(self, x: Tensor, scope: str, outputs: int) -> Tensor:
        """Return a new dense layer's outputs."""
        return Dense(self.net, scope, x.dims[1], outputs)(x)
