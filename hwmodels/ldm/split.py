"""The part of a nest that each CPE computes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simsched.hwmodels.ldm.nest import LoopNest


@dataclass(frozen=True)
class Split:
    """How a nest is spread over the CPEs.

    Parameters
    ----------
    part : LoopNest
        What the CPE with the most work computes.
    cpes : int
        CPEs that have work.
    fused : tuple of str
        Loops whose iterations, taken together, are dealt out.
    pieces : int
        Their number.
    """

    part: LoopNest
    cpes: int
    fused: tuple[str, ...]
    pieces: int

    @property
    def balance(self) -> float:
        """Mean work of the CPEs that have some over the most of one."""
        return self.pieces / (self.cpes * -(-self.pieces // self.cpes))


def split(nest: LoopNest, cpes: int) -> Split:
    """Split the highest dimension of the output over the CPEs, fused with lower ones until there are enough pieces.

    Loops that add up into one element are never split, so the CPEs need not talk (swTVM, Sec. 5.4). With `pieces` of
    them a CPE gets up to ceil(pieces / cpes), all from the lowest of the fused loops.
    """
    fused: list[str] = []
    pieces = 1
    for dim in nest.output.dims:
        for loop in dim.variables:
            if pieces < cpes and loop not in fused:
                fused.append(loop)
                pieces *= nest.loops[loop]
    if not fused:
        return Split(nest, 1, (), 1)
    each = -(-pieces // cpes)
    extents = dict.fromkeys(fused, 1)
    # All but the last give fewer pieces than there are CPEs, so that no CPE's share exceeds the last one's extent.
    extents[fused[-1]] = min(each, nest.loops[fused[-1]])
    others = math.prod(nest.loops[loop] for loop in fused[:-1])
    busy = min(cpes, -(-nest.loops[fused[-1]] // extents[fused[-1]]) * others)
    return Split(nest.resized(extents), busy, tuple(fused), pieces)
