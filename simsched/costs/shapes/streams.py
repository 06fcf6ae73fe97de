"""Ops that walk their operands: element-wise, reductions, pooling, normalisation, softmax, copies, embeddings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simsched.costs.shapes.parts import Part, Product, Walk
from simsched.graph.shapes import numel

if TYPE_CHECKING:
    from simsched.costs.shapes.kinds import Seen

#: Bytes of an element, FP32, and of an index.
ELEMENT_B, INDEX_B = 4.0, 8.0


def stream(seen: Seen) -> list[Walk] | None:
    """Return an op that reads its inputs a number of times and writes its output once."""
    sizes = [numel(dims) for dims in seen.shape]
    read, largest = sum(sizes), max(sizes, default=0.0)
    if largest < 1:
        return None
    written = {
        "broadcast": _broadcast(seen),
        "largest": largest,
        "all": read,
        "window": _pooled(seen, largest),
        "none": 0.0,
    }[seen.kernel.writes]
    named_B = ELEMENT_B * (read + written)
    if seen.bytes_B > 0:
        # What the graph knows of the bytes is more than the shapes tell.
        named_B = seen.bytes_B
        written = max(named_B / ELEMENT_B - read, 0.0)
    again_B = ELEMENT_B * largest * (seen.kernel.passes - 1)
    return [Walk(max(largest, written), seen.kernel.flops, named_B + again_B, ELEMENT_B * written)]


def gather(seen: Seen) -> list[Walk] | None:
    """Return a copy of rows of a table: of each index, a row is read and written."""
    tables = [dims for dims in seen.shape if len(dims) == 2]
    if not tables or len(seen.shape) < 2:
        return None
    table = max(tables, key=numel)
    others = list(seen.shape)
    others.remove(table)
    rows = max(map(numel, others))
    copied_B = ELEMENT_B * rows * table[1]
    if rows * table[1] < 1:
        return None
    return [Walk(rows * table[1], seen.kernel.flops, 2 * copied_B + INDEX_B * rows, copied_B)]


def attention(seen: Seen) -> list[Part] | None:
    """Return the parts of softmax(Q K') V: two products and the softmax between them."""
    if len(seen.shape) < 3 or any(len(dims) < 2 or min(dims) < 1 for dims in seen.shape[:3]):
        return None
    query, key, value = seen.shape[:3]
    heads = seen.attributes.get("heads", (1,))[0]
    if query[-1] != key[-1] or key[-2] != value[-2] or heads < 1 or query[-1] % heads or value[-1] % heads:
        return None
    batch, queries, keys = math.prod(query[:-2]) * heads, query[-2], key[-2]
    scores = float(batch) * queries * keys
    return [
        Product(batch, queries, keys, query[-1] // heads),
        Walk(scores, seen.kernel.flops, 2 * ELEMENT_B * scores, ELEMENT_B * scores),
        Product(batch, queries, value[-1] // heads, keys),
    ]


def _broadcast(seen: Seen) -> float:
    """Return the elements of the result of operands that stretch to each other; of the largest where they do not."""
    rank = max(map(len, seen.shape))
    padded = [(1,) * (rank - len(dims)) + dims for dims in seen.shape]
    largest = max(map(numel, seen.shape))
    columns = list(zip(*padded, strict=True))
    if any(len({*sizes} - {1}) > 1 for sizes in columns):
        return largest
    return max(math.prod(float(max(sizes)) for sizes in columns), largest)


def _pooled(seen: Seen, largest: float) -> float:
    """Return the outputs of windows: of their stride where it is known, else of the common one of 2."""
    stride = seen.attributes.get("stride", (2,))
    down, across = stride[0], stride[-1]
    return largest / max(down * across, 1)
