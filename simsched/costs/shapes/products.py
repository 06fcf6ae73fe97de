"""Matrix products and attention by the shapes of their operands, or by their FLOPs and bytes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, zip_longest
from typing import TYPE_CHECKING

from simsched.costs.shapes.parts import ELEMENT_B, Part, Product, Walk
from simsched.graph.shapes import numel

if TYPE_CHECKING:
    from simsched.costs.shapes.kinds import Seen

Dims = tuple[int, ...]

#: Share by which FLOPs and bytes may differ from those of a reading of the shapes.
NEAR = 0.1

#: Most dimensions that two operands share, of those longer than 1, where FLOPs show what is summed over.
MOST_SHARED = 8


def product(seen: Seen) -> list[Product] | None:
    """Return a product; None where the operands do not form one."""
    operands = [dims for dims in seen.shape if dims]
    if seen.kernel.bias_first and len(operands) > 2:
        operands = operands[1:]
    found = None if len(operands) < 2 else _product(operands[0], operands[1], seen)
    return None if found is None else [found]


def _product(a: Dims, b: Dims, seen: Seen) -> Product | None:
    """Return the product that the operands allow, with the nearest FLOPs, if near; of equals the likeliest.

    With further operands, the FLOPs may include a bias and an activation.
    """
    if min(*a, *b) < 1:
        return None
    every = list(_readings(a, b, seen.kernel.weights_transposed))
    if not seen.flops > 0:
        return next(iter(every), None)
    more = 2.0 if len(seen.shape) > 2 else 0.0
    fits = [one for one in every if abs(one.flops - seen.flops) <= NEAR * seen.flops + more * one.results]
    every = fits or list(_contractions(a, b, seen))
    return min(every, key=lambda one: abs(one.flops - seen.flops), default=None)


def _readings(a: Dims, b: Dims, transposed: bool) -> Iterator[Product]:
    if len(a) == 1:
        a = (1, *a)
    if len(b) == 1:
        b = (1, *b) if transposed else (*b, 1)
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
    if (batch := _batch(a[:-2], b[:-2])) is None:
        return
    for k, n in ((b[-2], b[-1]), (b[-1], b[-2])):
        for m, mine in ((a[-2], a[-1]), (a[-1], a[-2])):
            if k == mine:
                yield Product(batch, m, n, k)


def _batch(a: Dims, b: Dims) -> int | None:
    """Return the number of matrices of the broadcast product of so many; None where they do not broadcast."""
    pairs = list(zip_longest(reversed(a), reversed(b), fillvalue=1))
    return math.prod(map(max, pairs)) if all(1 in pair or len({*pair}) == 1 for pair in pairs) else None


def _contractions(a: Dims, b: Dims, seen: Seen) -> Iterator[Product]:
    """Yield the products of operands that share dimensions anywhere, as of an einsum, with the known FLOPs.

    Operands of batch m k and batch k n elements and the FLOPs, 2 batch m n k, give batch k; the shared dimensions of
    this product are summed over, the last of the first operand alone unless the bytes show others.
    """
    both = math.prod(a) * math.prod(b) / (seen.flops / 2)
    shared = [size for size in (Counter(a) & Counter(b)).elements() if size > 1]
    for some in _subsets(shared[:MOST_SHARED]):
        if abs(math.prod(some) - both) < NEAR * both:
            m, n = (math.prod(dims) // math.prod(some) for dims in (a, b))
            sums = dict.fromkeys([*(dims[-1:] for dims in (a, b) if dims[-1] in some), some, *_subsets(some)])
            every = [Product(math.prod(some) // math.prod(k), m, n, math.prod(k)) for k in sums]
            yield min(every, key=lambda one: _oddness(seen, one.results))


def _oddness(seen: Seen, results: float) -> float:
    """Return how far the size of an element is from 1, 2, 4 and 8 bytes, in powers of two; 0 where it is unknown."""
    if not seen.bytes_B > 0:
        return 0.0
    power = math.log2(max(mean_B(seen, results), 1e-9))
    return round(abs(power - min(max(round(power), 0), 3)), 2)


def _subsets(dims: Sequence[int]) -> list[Dims]:
    return [some for number in range(len(dims) + 1) for some in combinations(dims, number)]


def mean_B(seen: Seen, results: float) -> float:
    """Return the graph's bytes over the elements of the operands and of so many results."""
    return seen.bytes_B / (sum(map(numel, seen.shape)) + results)


def attention(seen: Seen) -> list[Part] | None:
    """Return the parts of softmax(Q K') V: two products and the softmax between them; None where FLOPs differ.

    For the gradients, whose first operand is that of the result, the scores are computed once more; each product has
    two gradients, and so has the softmax.
    """
    both = seen.kernel.direction == "both"
    operands = seen.shape[both:][:3]
    if len(operands) < 3 or any(len(dims) < 2 or min(dims) < 1 for dims in operands):
        return None
    query, key, value = operands
    heads = seen.attributes.get("heads", (1,))[0]
    features = query[-1] // heads if heads and query[-1] % heads == 0 else 0
    # Heads of keys and values lie in the batch or, where the op names its heads, side by side in the features.
    own = key[-1] // features if features and key[-1] % features == 0 else 0
    if not 1 <= own <= heads or key[:-1] != value[:-1] or value[-1] % own:
        return None
    batch, keys, of_values = math.prod(key[:-2]) * own, key[-2], value[-1] // own
    # Queries that share keys and values are rows of one product.
    shared, left = divmod(math.prod(query[:-2]) * heads, batch)
    rows = shared * query[-2]
    scores = float(batch) * rows * keys
    parts: list[Part] = [
        Product(batch, rows, keys, features),
        Walk(scores, seen.kernel.flops, 2 * ELEMENT_B * scores, ELEMENT_B * scores),
    ]
    if both:
        parts += [
            Product(batch, keys, of_values, rows),
            Product(batch, rows, keys, of_values),
            Walk(scores, 1.0, 3 * ELEMENT_B * scores, ELEMENT_B * scores),
            Product(batch, rows, features, keys),
            Product(batch, keys, features, rows),
        ]
    else:
        parts.append(Product(batch, rows, of_values, keys))
    flops = sum(part.flops for part in parts if isinstance(part, Product))
    wrong = seen.flops > 0 and abs(flops - seen.flops) > NEAR * seen.flops
    return None if left or wrong else parts
