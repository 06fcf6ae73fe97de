"""Matrix products by the shapes of their operands: plain, batched, with a bias, transposed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from simsched.costs.shapes.parts import Product

if TYPE_CHECKING:
    from simsched.costs.shapes.kinds import Seen

Dims = tuple[int, ...]


def product(seen: Seen) -> list[Product] | None:
    """Return a product; None where the operands are not those of one."""
    operands = [dims for dims in seen.shape if dims]
    if seen.bias_first and len(operands) > 2:
        operands = operands[1:]
    found = None if len(operands) < 2 else _product(operands[0], operands[1], seen)
    return None if found is None else [found]


def _product(a: Dims, b: Dims, seen: Seen) -> Product | None:
    """Return the product that the operands allow, the one whose FLOPs are nearest, the likeliest of those alike."""
    every = list(_readings(a, b, seen.weights_transposed))
    if not seen.flops > 0:
        return next(iter(every), None)
    return min(every, key=lambda one: abs(one.flops - seen.flops), default=None)


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
