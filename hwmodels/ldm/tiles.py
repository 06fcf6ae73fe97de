"""Tiles that fit the LDM, from which the search begins, and the effect of growing them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.nest import LoopNest, Tensor, Tiles, distinct, trips


class VariableClass(StrEnum):
    """The classes of swTVM (Sec. 5.2, Alg. 1), in the order in which first tiles are settled."""

    SIZE = "sizevar"
    COMPOUND = "compvar"
    NUMBER = "numvar"


def _growable(tensor: Tensor, loops: Tiles, tiles: Tiles) -> int | None:
    """Return the lowest dimension of a tensor that is not wholly buffered; None if all are."""
    for position in reversed(range(len(tensor.dims))):
        if any(tiles[name] < loops[name] for name in tensor.dims[position].variables):
            return position
    return None


def classify(nest: LoopNest, tiles: Tiles) -> dict[str, VariableClass]:
    """Return the class of each loop variable, given the tiles chosen so far.

    A variable *sizes* a tensor when it indexes the lowest dimension that can still grow, or one below; it *numbers* it
    when it indexes only higher dimensions. A sizevar sizes all tensors it indexes, a numvar numbers all, a compvar
    does both. A dimension whose whole range is buffered frees the next higher one, so that classes change while tiles
    grow.
    """
    return {loop: _class(_effects(loop, nest, tiles)) for loop in nest.loops}


def _effects(loop: str, nest: LoopNest, tiles: Tiles) -> Mapping[str, bool]:
    """Return, for each tensor that a loop indexes, whether the loop affects its size."""
    effects = {}
    for tensor in nest.tensors:
        if loop in tensor.variables:
            lowest = _growable(tensor, nest.loops, tiles)
            effects[tensor.name] = lowest is None or any(
                loop in dim.variables for dim in tensor.dims[lowest:]
            )
    return effects


def _class(effects: Mapping[str, bool]) -> VariableClass:
    if all(effects.values()):
        return VariableClass.SIZE
    return VariableClass.COMPOUND if any(effects.values()) else VariableClass.NUMBER


def copies(tensor: Tensor, nest: LoopNest, tiles: Tiles, *, double_buffering: bool) -> int:
    """Return the number of buffers of a tensor: two where tiles are moved while others are computed on."""
    return 2 if double_buffering and distinct(tensor, trips(nest, tiles)) > 1 else 1


def buffer_B(tensor: Tensor, nest: LoopNest, tiles: Tiles, *, double_buffering: bool) -> float:
    """Return the bytes of LDM that a tensor takes."""
    return (
        tensor.elements(tiles)
        * nest.element_B
        * copies(tensor, nest, tiles, double_buffering=double_buffering)
    )


def footprint_B(nest: LoopNest, tiles: Tiles, *, double_buffering: bool) -> float:
    """Return the bytes of LDM that all buffers take."""
    return sum(buffer_B(tensor, nest, tiles, double_buffering=double_buffering) for tensor in nest.tensors)


def first_fit(
    nest: LoopNest,
    ldm_B: float,
    *,
    preferred: int = 64,
    double_buffering: bool = False,
    floors: Tiles | None = None,
) -> dict[str, int]:
    """Return tiles that fit (phase 1 of swTVM's Alg. 1).

    The sizevars, by ascending size of the buffers they index, get min(range, preferred); then, when no new sizevar
    has come up because a whole range is buffered, the compvars by ascending number of tensors they affect. While the
    LDM does not hold all buffers, the last of them is halved, and at its floor, the one before. All start at their
    floors, which are one unless the code needs more at a time.

    In the worked example (m = 1, n = k = 1024) n gets 64 as sizevar and k 64 as compvar: A 1 x 64, B 64 x 64 and
    C 1 x 64 floats are 0.25 + 16 + 0.25 = 16.5 KiB.

    Raises
    ------
    NestError
        If not even the floors fit.
    """
    lowest = {loop: min((floors or {}).get(loop, 1), extent) for loop, extent in nest.loops.items()}
    tiles = dict(lowest)
    least_B = footprint_B(nest, tiles, double_buffering=double_buffering)
    if least_B > ldm_B:
        raise NestError(
            f"{nest.name}: {'the least tile' if floors else 'one element'} of each tensor takes {least_B:g} B of LDM"
            f"{' (double buffering included)' if double_buffering else ''}; there are {ldm_B:g}"
        )
    settled: list[str] = []
    while batch := _next_batch(nest, tiles, settled):
        for loop in batch:
            tiles[loop] = max(min(nest.loops[loop], preferred), lowest[loop])
            settled.append(loop)
            if tiles[loop] == nest.loops[loop]:
                break
        _shrink(nest, tiles, settled, lowest, ldm_B, double_buffering=double_buffering)
    return tiles


def _next_batch(nest: LoopNest, tiles: Tiles, settled: list[str]) -> list[str]:
    classes = classify(nest, tiles)
    open_ = [loop for loop, extent in nest.loops.items() if extent > 1 and loop not in settled]
    sizes = [loop for loop in open_ if classes[loop] is VariableClass.SIZE]
    if sizes:
        return sorted(sizes, key=lambda loop: sum(t.elements(tiles) for t in _affected(nest, loop)))
    compounds = [loop for loop in open_ if classes[loop] is VariableClass.COMPOUND]
    return sorted(compounds, key=lambda loop: sum(1 for _ in _affected(nest, loop)))


def _affected(nest: LoopNest, loop: str) -> Iterator[Tensor]:
    return (tensor for tensor in nest.tensors if loop in tensor.variables)


def _shrink(
    nest: LoopNest,
    tiles: dict[str, int],
    settled: list[str],
    lowest: Tiles,
    ldm_B: float,
    *,
    double_buffering: bool,
) -> None:
    current = len(settled) - 1
    while footprint_B(nest, tiles, double_buffering=double_buffering) > ldm_B:
        loop = settled[current]
        if tiles[loop] == lowest[loop]:
            current -= 1
        else:
            tiles[loop] = max(tiles[loop] // 2, lowest[loop])


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
        counts = [trips(nest, each) for each in larger]
        left = [
            (sum(distinct(tensor, of) for tensor in nest.tensors), RANK.index(classes[loop]))
            for loop, of in zip(options, counts, strict=True)
        ]
        best = larger[left.index(min(left))]
        if footprint_B(nest, best, double_buffering=double_buffering) > ldm_B:
            break
        tiles = best
    return tiles


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
