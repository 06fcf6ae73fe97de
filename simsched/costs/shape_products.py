"""Matrix products by the shapes of their operands: plain, batched, with a bias, transposed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from simsched.costs.kernels import gemm_work

if TYPE_CHECKING:
    from simsched.costs.kernel_work import Work
    from simsched.costs.library import Parameters
    from simsched.costs.shape_kinds import Seen

Dims = tuple[int, ...]


class Product(NamedTuple):
    """Matrix products of one size: C = A B with C of m x n and inner dimension k, `batch` times."""

    batch: int
    m: int
    n: int
    k: int


def product(seen: Seen, params: Parameters) -> list[list[Work]] | None:
    """Return the ways of doing a product: a library packs its operands, so that it can divide along either side."""
    operands = [dims for dims in seen.shape if dims]
    if seen.bias_first and len(operands) > 2:
        operands = operands[1:]
    found = None if len(operands) < 2 else _product(operands[0], operands[1], seen)
    return None if found is None else ways(found, params)


def ways(found: Product, params: Parameters) -> list[list[Work]]:
    """Return the products' work with rows of the output contiguous, and with columns."""
    return [[_batched(m, n, found, params)] for m, n in ((found.n, found.m), (found.m, found.n))]


def _batched(m: int, n: int, found: Product, params: Parameters) -> Work:
    vector = int(params.gemm.vector)
    # Less than a vector of columns is broadcast; more are computed by whole vectors of them, too.
    one = gemm_work(m, n, found.k, params, columns=n if n <= vector else vector * ceil(n / vector))
    return one._replace(
        pieces=one.pieces * found.batch,
        flops=one.flops * found.batch,
        named_B=one.named_B * found.batch,
        moved_B=one.moved_B * found.batch,
    )


def _product(a: Dims, b: Dims, seen: Seen) -> Product | None:
    """Return the product that the operands allow, the one whose FLOPs are nearest, the likeliest of those alike."""
    every = list(_readings(a, b, seen.weights_transposed))
    if not seen.flops > 0:
        return next(iter(every), None)
    return min(every, key=lambda one: abs(_flops(one) - seen.flops), default=None)


def _readings(a: Dims, b: Dims, transposed: bool) -> Iterator[Product]:
    if len(a) == 1:
        a = (1, *a)
    if len(b) == 1:
        b = (1, *b) if transposed else (*b, 1)
    if min(*a, *b) < 1:
        return
    rows, inner = math.prod(a[:-1]), a[-1]
    if len(b) == 2:
        orders = [(b[0], b[1]), (b[1], b[0])]
        for k, n in reversed(orders) if transposed else orders:
            if k == inner:
                yield Product(1, rows, n, k)
            if len(a) == 2 and k == a[0]:
                yield Product(1, a[1], n, k)
        return
    if len(a) == 2:
        a = (1, *a)
    batch = max(math.prod(a[:-2]), math.prod(b[:-2]))
    for k, n in ((b[-2], b[-1]), (b[-1], b[-2])):
        for m, mine in ((a[-2], a[-1]), (a[-1], a[-2])):
            if k == mine:
                yield Product(batch, m, n, k)


def _flops(one: Product) -> float:
    return 2.0 * one.batch * one.m * one.n * one.k
