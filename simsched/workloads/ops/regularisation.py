"""What keeps a network from learning its data by heart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simsched.workloads.ops.elementwise import multiply

if TYPE_CHECKING:
    from simsched.workloads.tensor import Tensor


def dropout(x: Tensor) -> Tensor:
    """Return `x` with some values set to zero in training, by a mask that its gradient reads; else `x` itself.

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
    >>> from simsched.workloads.ops import dropout
    >>> net = Builder()
    >>> y = dropout(net.input(64, 20))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 20), ['Dropout'], [3840.0])
    """
    net = x.net
    if not net.training:
        return x

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield multiply(dy, mask)

    # A random number, a comparison, a product.
    y = net.op("Dropout", [x], x.dims, 3.0 * x.elements, gradient)
    mask = net.also(y, *x.dims)
    return y
