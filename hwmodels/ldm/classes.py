"""What growing the tile of a loop variable does: larger buffers, more transfers, or both."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from simsched.hwmodels.ldm.nest import LoopNest, Tensor, Tiles


class VariableClass(StrEnum):
    """The classes of swTVM (Sec. 5.2, Alg. 1), in the order in which first tiles are settled."""

    SIZE = "sizevar"
    COMPOUND = "compvar"
    NUMBER = "numvar"


def growable(tensor: Tensor, loops: Tiles, tiles: Tiles) -> int | None:
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
    """Return, for each tensor that a loop indexes, whether it sizes it."""
    effects = {}
    for tensor in nest.tensors:
        if loop in tensor.variables:
            lowest = growable(tensor, nest.loops, tiles)
            effects[tensor.name] = lowest is None or any(
                loop in dim.variables for dim in tensor.dims[lowest:]
            )
    return effects


def _class(effects: Mapping[str, bool]) -> VariableClass:
    if all(effects.values()):
        return VariableClass.SIZE
    return VariableClass.COMPOUND if any(effects.values()) else VariableClass.NUMBER
