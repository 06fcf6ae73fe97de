"""Other views of the same memory: nothing runs for them; their gradients are views, too, or are put together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from simsched.errors import GraphError

if TYPE_CHECKING:
    from simsched.workloads.tensor import Tensor


def transposed(x: Tensor) -> Tensor:
    """Return `x` with its last two axes exchanged; products read it so.

    Parameters
    ----------
    x : Tensor, shape (..., m, n)

    Returns
    -------
    Tensor, shape (..., n, m)

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import transposed
    >>> net = Builder()
    >>> transposed(net.parameter(20, 10)).dims, net.graph("net").n_tasks
    ((10, 20), 0)
    """
    *front, m, n = x.dims

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield transposed(dy)

    return x.net.views(x, [(*front, n, m)], gradient)[0]


def reshaped(x: Tensor, *dims: int) -> Tensor:
    """Return `x` in another shape of as many elements.

    Parameters
    ----------
    x : Tensor
    *dims : int

    Returns
    -------
    Tensor, shape `dims`

    Raises
    ------
    GraphError
        If that shape has more or fewer.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import reshaped
    >>> net = Builder()
    >>> reshaped(net.input(8, 4, 4, 16), 8, 256).dims, net.graph("net").n_tasks
    ((8, 256), 0)
    """
    if math.prod(dims) != x.elements:
        raise GraphError(f"{x.dims} has {x.elements} elements; a shape of {dims} has others")

    def gradient(dy: Tensor) -> Iterator[Tensor]:
        yield reshaped(dy, *x.dims)

    return x.net.views(x, [dims], gradient)[0]


def chunks(x: Tensor, parts: int) -> tuple[Tensor, ...]:
    """Return `parts` equal pieces of the last axis; their gradients are put together by a `ConcatV2`.

    Parameters
    ----------
    x : Tensor
    parts : int

    Returns
    -------
    tuple of Tensor, shape (..., last / parts) each

    Raises
    ------
    GraphError
        If the axis does not divide, or, when gradients are made, not all pieces were used.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import chunks
    >>> net = Builder()
    >>> [part.dims for part in chunks(net.input(64, 20), 4)], net.graph("net").n_tasks
    ([(64, 5), (64, 5), (64, 5), (64, 5)], 0)
    """
    *front, n = x.dims
    if n % parts:
        raise GraphError(f"an axis of {n} does not divide into {parts} equal pieces")

    def gradient(*pieces: Tensor | None) -> Iterator[Tensor]:
        used = [piece for piece in pieces if piece is not None]
        if len(used) < parts:
            raise GraphError(f"only {len(used)} of {parts} chunks of {x.dims} have gradients; use them all")
        yield x.net.op("ConcatV2", used, x.dims, 0.0)

    return x.net.views(x, [(*front, n // parts)] * parts, gradient)
