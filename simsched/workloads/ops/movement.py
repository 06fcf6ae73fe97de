"""Ops that only move data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.workloads.tensor import Tensor


def permuted(x: Tensor, *axes: int) -> Tensor:
    """Return a copy of `x` whose axis i is its axis `axes[i]`: a `Transpose`, as is its gradient."""
    back = sorted(range(len(axes)), key=axes.__getitem__)

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield permuted(dy, *back)

    return x.net.op("Transpose", [x], tuple(x.dims[axis] for axis in axes), 0.0, gradient)
