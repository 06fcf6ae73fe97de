"""The nest as Sunway's OpenACC runs it: what its directives copy, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import LoopNest, Tensor, split, trips
from simsched.hwmodels.ldm.order import moves
from simsched.hwmodels.ldm.planning import plan
from simsched.hwmodels.ldm.times import Times, serial
from simsched.hwmodels.ldm.transfers import Transfer, blocks, transfer
from simsched.hwmodels.ldm.transposing import across_of, parallel_loops, swapped, transposition


@dataclass(frozen=True)
class Copies:
    """What each CPE copies of its part of a nest.

    Parameters
    ----------
    part : LoopNest
        A CPE's part, arrays transposed where they are swapped.
    parallel : tuple of str
        Loops that are dealt to the CPEs, outermost first.
    rows : frozenset of str
        Tensors that are copied a row at a time, within the inner loops.
    tile : int
        Iterations of the last parallel loop whose slices are copied together.
    row_tiles : mapping of str to int
        How far loops along rows go at once; all of their extent, but where that does not fit.
    """

    part: LoopNest
    parallel: tuple[str, ...]
    rows: frozenset[str]
    tile: int
    row_tiles: Mapping[str, int]

    def tiles(self, tensor: Tensor) -> dict[str, int]:
        """Return the tile of each loop for which a tensor is copied at once."""
        if tensor.name in self.rows:
            along = tensor.dims[-1].variables
            return {loop: self.row_tiles[loop] if loop in along else 1 for loop in self.part.loops}
        slices = {**self.part.loops, **dict.fromkeys(self.parallel, 1)}
        return slices | dict.fromkeys(self.parallel[-1:], self.tile)

    def around(self, tensor: Tensor) -> list[str]:
        """Return the loops around a tensor's copies, outermost first: those along rows are innermost of all."""
        if tensor.name not in self.rows:
            return list(self.parallel)
        along = {
            loop for one in self.part.tensors if one.name in self.rows for loop in one.dims[-1].variables
        }
        loops = sorted(self.part.loops, key=lambda loop: loop in along)
        summed = self.part.reductions if tensor is self.part.output else frozenset()
        return [loop for loop in loops if loop not in summed]

    @property
    def size_B(self) -> float:
        """Bytes of LDM that all copies take."""
        tensors = self.part.tensors
        return self.part.element_B * sum(tensor.elements(self.tiles(tensor)) for tensor in tensors)


def directives(nest: LoopNest, group: CoreGroup) -> Times:
    """Return the time of a nest under Sunway's OpenACC directives, as public code uses them.

    The `parallel loop` deals the output to the CPEs as in `plan`. What it indexes is copied in and out by its
    iteration, or by a `tile` of as many as fit; what it does not index stays in the LDM (`entire`). What then does not
    fit, the largest first, is copied within the inner loops instead, a row of memory at a time, at each iteration of
    the loops around it; of the output, the sums of a row stay until they are put. An array along whose lowest
    dimension the parallel loop runs is first transposed in memory by all CPEs (`swapin`). Transfers and computation
    wait for each other. One element of each tensor must fit the LDM, which `no_reuse` looks after.
    """
    across = across_of(nest, group)
    shares = split(swapped(nest, across, group), group.cpes)
    part = shares.part
    copies = fitting(part, parallel_loops(nest, group), group.ldm_B)
    moved = [_transfer(copies, tensor, group, shares.cpes) for tensor in part.tensors]
    times = serial(moved, group.compute_s(part.total_flops), group.spawn_join_s)
    return replace(
        times, layout_s=sum(plan(transposition(nest, tensor, group), group).seconds for tensor in across)
    )


def fitting(part: LoopNest, parallel: tuple[str, ...], ldm_B: float) -> Copies:
    """Return copies that fit: what takes most is made smaller, from slices to rows, then to halves of rows."""
    copies = Copies(part, parallel, frozenset(), 1, dict(part.loops))
    while copies.size_B > ldm_B:
        # Of two alike the one that the parallel loop indexes: what stays in the LDM saves more.
        most = max(
            part.tensors,
            key=lambda tensor: (
                tensor.elements(copies.tiles(tensor)),
                bool(tensor.variables & set(parallel)),
            ),
        )
        copies = _smaller(copies, most)
    return _tiled(copies, ldm_B)


def _smaller(copies: Copies, tensor: Tensor) -> Copies:
    if tensor.name not in copies.rows:
        return replace(copies, rows=copies.rows | {tensor.name})
    longest = max(tensor.dims[-1].variables, key=lambda loop: copies.row_tiles[loop])
    return replace(copies, row_tiles={**copies.row_tiles, longest: copies.row_tiles[longest] // 2})


def _tiled(copies: Copies, ldm_B: float) -> Copies:
    """Return copies with slices of as many iterations of the last parallel loop as fit."""
    most = copies.part.loops[copies.parallel[-1]] if copies.parallel else 1
    while copies.tile < most:
        more = replace(copies, tile=min(2 * copies.tile, most))
        if more.size_B > ldm_B:
            break
        copies = more
    return copies


def _transfer(copies: Copies, tensor: Tensor, group: CoreGroup, cpes: int) -> Transfer:
    part, tiles = copies.part, copies.tiles(tensor)
    often = moves(tensor, copies.around(tensor), trips(part, tiles))
    times = (often, 0, often) if tensor is part.output else (often, often, 0)
    return transfer(part, tensor, blocks(part, tensor, tiles), times, group, cpes)
