"""Ops that only move data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.workloads.tensor import Tensor


def permuted(x: Tensor, *axes: int) -> Tensor:
    """Return a copy of `x` whose axis i is its axis `axes[i]`: a `Transpose`, as is its gradient.

    Parameters
    ----------
    x : Tensor
    *axes : int
        Each axis of `x` once.

    Returns
    -------
    Tensor, shape (x.dims[axes[0]], x.dims[axes[1]], ...)

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import permuted
    >>> net = Builder()
    >>> y = permuted(net.input(8, 32, 4, 16), 0, 2, 1, 3)
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((8, 4, 32, 16), ['Transpose'], [0.0])
    """
    back = sorted(range(len(axes)), key=axes.__getitem__)

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield permuted(dy, *back)

    return x.net.op("Transpose", [x], tuple(x.dims[axis] for axis in axes), 0.0, gradient)
