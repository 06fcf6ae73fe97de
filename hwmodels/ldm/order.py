"""The order of the tile loops, and how often each tensor's buffer is filled under it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from simsched.hwmodels.ldm.nest import LoopNest, Tensor, Tiles, trips


def placement(tensor: Tensor, order: Sequence[str], counts: Mapping[str, int]) -> int:
    """Return how many tile loops stand around a tensor's transfer.

    It sits in the outermost loop at which all variables of the tensor are fixed (swTVM, Alg. 2); loops of one tile
    fix nothing.

    Parameters
    ----------
    tensor : Tensor
        What is moved.
    order : sequence of str
        Tile loops, outermost first.
    counts : mapping of str to int
        Tiles of each loop.
    """
    return max(
        (place + 1 for place, loop in enumerate(order) if loop in tensor.variables and counts[loop] > 1),
        default=0,
    )


def moves(tensor: Tensor, order: Sequence[str], counts: Mapping[str, int]) -> int:
    """Return how often a tensor's buffer is filled (DMA transfers, in the words of swTVM): see `placement`."""
    return math.prod(counts[loop] for loop in order[: placement(tensor, order, counts)])


def distinct(tensor: Tensor, counts: Mapping[str, int]) -> int:
    """Return how many different tiles a tensor has: the least that any order can move."""
    return math.prod(counts[loop] for loop in tensor.variables)


def transfers_if_innermost(
    nest: LoopNest, counts: Mapping[str, int], outer: Iterable[str], inner: Iterable[str]
) -> int:
    """Return the DMA transfers of all tensors when `inner` are the innermost loops, outermost of them first.

    The order of the `outer` ones is still open, so a tensor that only they index moves at each of their iterations.
    """
    outside, inside = list(outer), list(inner)
    around = math.prod(counts[loop] for loop in outside)
    total = 0
    for tensor in nest.tensors:
        fixed_at = [place for place, loop in enumerate(inside) if loop in tensor.variables]
        if fixed_at:
            total += around * math.prod(counts[loop] for loop in inside[: fixed_at[-1] + 1])
        elif tensor.variables & set(outside):
            total += around
        else:
            total += 1
    return total


def loop_order(nest: LoopNest, tiles: Tiles) -> tuple[str, ...]:
    """Return the tile loops, outermost first, by fewest DMA transfers from the inside out (swTVM, Alg. 2).

    The loops within a tile are innermost of all; they move nothing. A tie keeps the order of the nest.

    In the worked example (m = 1, n = k = 1024; tile 1, 128, 64: 1 x 8 x 16 tiles) A[m,k] has 16 tiles, B[k,n] 128,
    C[m,n] 8. With k innermost A and B move at each of the 8 x 16 iterations and C once in 16: 128 + 128 + 8 = 264.
    With n innermost A stays: 16 + 128 + 128 = 272. With m innermost nothing stays: 3 x 128 = 384.
    """
    counts = trips(nest, tiles)
    outer, inner = list(nest.loops), list[str]()
    while outer:
        best = min(
            reversed(outer),
            key=lambda loop: transfers_if_innermost(
                nest, counts, (o for o in outer if o != loop), [loop, *inner]
            ),
        )
        outer.remove(best)
        inner.insert(0, best)
    return tuple(inner)
