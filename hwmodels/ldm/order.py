"""How often each tensor's buffer is filled under an order of the tile loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from simsched.hwmodels.ldm.nest import Tensor


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
