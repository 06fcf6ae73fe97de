"""Ops that only move data, or not even that: views of the same memory, copies, joined and split tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simsched.errors import GraphError
from simsched.workloads.tensor import ELEMENT_B, Tensor


def transposed(x: Tensor) -> Tensor:
    """Return `x` with its last two axes exchanged, as read by products.

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
    return x.net.views(x, [(*front, n, m)], lambda dy: (transposed(dy),))[0]


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
    return x.net.views(x, [dims], lambda dy: (reshaped(dy, *x.dims),))[0]


def chunks(x: Tensor, parts: int) -> tuple[Tensor, ...]:
    """Return `parts` equal pieces of the last axis; a `ConcatV2` joins their gradients.

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
    return x.net.op(
        "Transpose", [x], tuple(x.dims[axis] for axis in axes), 0.0, lambda dy: (permuted(dy, *back),)
    )


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
            yield (
                dy.net.op("Slice", [dy], part.dims, 0.0, bytes_B=2 * ELEMENT_B * math.prod(part.dims))
                if part.trained
                else None
            )

    return parts[0].net.op("ConcatV2", parts, (*front, sum(part.dims[-1] for part in parts)), 0.0, gradient)
