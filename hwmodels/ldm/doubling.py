"""swTVM's own tiles and order of the tile loops: those that need the fewest DMA transfers, step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from simsched.hwmodels.ldm.nest import LoopNest, Tiles, trips
from simsched.hwmodels.ldm.order import distinct
from simsched.hwmodels.ldm.tiles import VariableClass, classify, footprint_B

#: Of equal doublings, those of sizevars go first.
RANK = list(VariableClass)


def doubled(nest: LoopNest, first: Tiles, ldm_B: float, *, double_buffering: bool = False) -> dict[str, int]:
    """Return doubled tiles (phase 2 of swTVM's Alg. 1).

    Each step doubles the variable that leaves the fewest DMA transfers, until that doubling does not fit. The order of
    the loops is not chosen yet, so each tensor counts with its number of different tiles. Ties go to sizevars, then
    compvars, then to the outer loop.

    In the worked example both doublings of (n, k) = (64, 64) leave 16 + 128 + 8 = 152 transfers; n is the sizevar
    and goes first: 0.25 + 32 + 0.5 = 32.75 KiB. Then k = 128 would leave 8 + 64 + 8 = 80, n = 256 would leave
    16 + 64 + 4 = 84: k is tried, 0.5 + 64 + 0.5 = 65 KiB do not fit, and the tile stays 1, 128, 64.
    """
    tiles = dict(first)
    while options := [loop for loop, extent in nest.loops.items() if tiles[loop] < extent]:
        classes = classify(nest, tiles)
        larger = [{**tiles, loop: min(2 * tiles[loop], nest.loops[loop])} for loop in options]
        left = [
            (_transfers(nest, each), RANK.index(classes[loop]))
            for loop, each in zip(options, larger, strict=True)
        ]
        best = larger[left.index(min(left))]
        if footprint_B(nest, best, double_buffering=double_buffering) > ldm_B:
            break
        tiles = best
    return tiles


def _transfers(nest: LoopNest, tiles: Tiles) -> int:
    counts = trips(nest, tiles)
    return sum(distinct(tensor, counts) for tensor in nest.tensors)


def fewest_transfers(nest: LoopNest, tiles: Tiles) -> tuple[str, ...]:
    """Return the tile loops, outermost first, by fewest DMA transfers from the inside out (swTVM, Alg. 2).

    The loops within a tile are innermost of all; they move nothing. A tie keeps the order of the nest.

    In the worked example (m = 1, n = k = 1024; tile 1, 128, 64: 1 x 8 x 16 tiles) A[m,k] has 16 tiles, B[k,n] 128,
    C[m,n] 8. With k innermost A and B move at each of the 8 x 16 iterations and C once in 16: 128 + 128 + 8 = 264.
    With n innermost A stays: 16 + 128 + 128 = 272. With m innermost nothing stays: 3 x 128 = 384.
    """
    counts = trips(nest, tiles)
    outer, inner = list(nest.loops), list[str]()
    while outer:
        left = {loop: transfers_if_innermost(nest, counts, [loop, *inner]) for loop in reversed(outer)}
        best = min(left, key=left.__getitem__)
        outer.remove(best)
        inner.insert(0, best)
    return tuple(inner)


def transfers_if_innermost(nest: LoopNest, counts: Mapping[str, int], inner: Sequence[str]) -> int:
    """Return the DMA transfers of all tensors when `inner` are the innermost loops, outermost of them first.

    The order of the others is still open, so a tensor that only they index moves at each of their iterations.
    """
    outside = set(nest.loops).difference(inner)
    around = math.prod(counts[loop] for loop in outside)
    total = 0
    for tensor in nest.tensors:
        fixed_at = [place for place, loop in enumerate(inner) if loop in tensor.variables]
        if fixed_at:
            total += around * math.prod(counts[loop] for loop in inner[: fixed_at[-1] + 1])
        else:
            total += around if tensor.variables & outside else 1
    return total
