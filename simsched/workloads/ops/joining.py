"""Tensors put together along their channels, and taken apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simsched.errors import GraphError
from simsched.workloads.tensor import ELEMENT_B

if TYPE_CHECKING:
    from simsched.workloads.tensor import Dims, Tensor


def concat(parts: Sequence[Tensor]) -> Tensor:
    """Return tensors side by side along their last axis; the gradient of each is a `Slice`.

    Parameters
    ----------
    parts : sequence of Tensor

    Returns
    -------
    Tensor, shape (..., sum of the last axes)

    Raises
    ------
    GraphError
        If other axes differ.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import concat
    >>> net = Builder()
    >>> y = concat([net.input(64, 20), net.input(64, 10)])
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 30), ['ConcatV2'], [0.0])
    """
    front = parts[0].dims[:-1]
    if any(part.dims[:-1] != front for part in parts):
        raise GraphError(
            f"{', '.join(str(part.dims) for part in parts)} side by side; all but the last axis must agree"
        )

    def gradient(dy: Tensor) -> Iterator[Tensor | None]:
        for part in parts:
            yield sliced(dy, part.dims) if part.trained else None

    return parts[0].net.op("ConcatV2", parts, (*front, sum(part.dims[-1] for part in parts)), 0.0, gradient)


def sliced(x: Tensor, dims: Dims) -> Tensor:
    """Return a part of a tensor, of the given shape; what is not in it is not read. It has no gradient."""
    return x.net.op("Slice", [x], dims, 0.0, bytes_B=2 * ELEMENT_B * math.prod(dims))
