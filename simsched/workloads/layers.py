"""Layers: parameters and the ops that use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.workloads.ops import bias_add, matmul

if TYPE_CHECKING:
    from simsched.workloads.builder import Builder
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
