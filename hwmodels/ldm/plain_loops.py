"""The nest as a plain OpenACC loop: without tuning of the LDM."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import (
    LoopNest,
    Split,
    Tensor,
    across_of,
    moves,
    parallel_loops,
    split,
    swapped,
    transposition,
    trips,
)
from simsched.hwmodels.ldm.planning import plan
from simsched.hwmodels.ldm.shared_tiles import as_gemm, columns_of, images_of, product_of
from simsched.hwmodels.ldm.tiles import footprint_B
from simsched.hwmodels.ldm.times import Times, Transfer, blocks, serial, transfer


@dataclass(frozen=True)
class Copies:
    """Copies that each CPE makes of its part of a nest.

    Parameters
    ----------
    part : LoopNest
        A CPE's part, arrays transposed where they are swapped.
    parallel : tuple of str
        Loops that are dealt to the CPEs, outermost first.
    rows : frozenset of str
        Tensors copied one row at a time, within the inner loops.
    tile : int
        Iterations of the last parallel loop whose slices are copied together.
    row_tiles : mapping of str to int
        Tiles of loops along rows; their whole extent, unless that does not fit.
    """

    part: LoopNest
    parallel: tuple[str, ...]
    rows: frozenset[str]
    tile: int
    row_tiles: Mapping[str, int]

    def tiles(self, tensor: Tensor) -> dict[str, int]:
        """Return the tile of each loop for which a tensor is copied in one step."""
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
        return self.part.element_B * sum(tensor.elements(self.tiles(tensor)) for tensor in self.part.tensors)


def directives(nest: LoopNest, group: CoreGroup) -> Times:
    """Return the time of a nest under Sunway's OpenACC directives, as public code uses them.

    The `parallel loop` assigns the output to the CPEs as in `plan`. Arrays that it indexes are copied by its
    iteration, or by a `tile` of as many as fit; others stay in the LDM (`entire`). Arrays that then do not
    fit, the largest first, are copied within the inner loops instead, a row of memory at a time, at each iteration of
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
    """Return copies that fit: the largest is made smaller, from slices to rows, then to halves of rows."""
    copies = Copies(part, parallel, frozenset(), 1, dict(part.loops))
    while copies.size_B > ldm_B:
        # Of equals the one that the parallel loop indexes: an array that stays in the LDM saves more.
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


def by_columns(nest: LoopNest, group: CoreGroup) -> Times:
    """Return the time of a nest whose windows are written out as columns, image by image, and then multiplied.

    Both are nests under `directives`; the first is `layout_s`. A nest without windows is one such nest.
    """
    gemm = as_gemm(nest)
    if gemm is None or not gemm.im2col:
        return directives(nest, group)
    images = images_of(nest, gemm)
    product = directives(product_of(nest, gemm, ("n", "m", "k"), ("n", "k")), group)
    return Times(
        dma_s=images * product.dma_s,
        compute_s=images * product.compute_s,
        gload_s=images * product.gload_s,
        layout_s=images * directives(columns_of(nest, gemm), group).total_s,
        spawn_join_s=images * product.spawn_join_s,
    )


#: Parts copied in at a time: by directives, for the nest or for columns and a product; rows of all tensors; all
#: that a row of the output needs; or one run.
Reading = Literal["directives", "columns", "rows", "output-row", "run"]


def is_simple(nest: LoopNest) -> bool:
    """Return whether every index is a single loop variable: no windows, no strides."""
    return all(
        len(dim.terms) <= 1 and all(abs(factor) == 1 for _, factor in dim.terms)
        for tensor in nest.tensors
        for dim in tensor.dims
    )


def no_reuse(nest: LoopNest, group: CoreGroup, copies: Reading = "directives") -> Times:
    """Return the time of a nest written as plain parallel loops, without tuning of tiles.

    The loops over the output are split over the CPEs as in `plan`. Transfers are by DMA, or by loads past the LDM where
    these are faster; they and computation wait for each other.

    Parameters
    ----------
    nest : LoopNest
    group : CoreGroup
    copies : {"directives", "columns", "rows", "output-row", "run"}
        Parts copied in at a time.

        - "directives": as in public code for Sunway's OpenACC; see `simsched.hwmodels.ldm.plain_loops.directives`.
        - "columns": the same, after windows were written out as columns; see
          `simsched.hwmodels.ldm.plain_loops.by_columns`.
        - "rows": a row of each tensor. The loops along the lowest dimension of a tensor are innermost; at each
          iteration of the others all rows are fetched again, and only the sums of a row of the output stay until they
          are put.
        - "output-row": all that a row of the output needs, as far as it fits.
        - "run": only the run of memory along the last loop of the output.

        With the last three, a nest that is simple (every index a single loop variable, as in a fully connected
        layer) is copied as by "output-row".

    Returns
    -------
    Times

    Raises
    ------
    NestError
        If not even one element of each tensor fits the LDM of a CPE, or there is no such reading.

    References
    ----------
    What swTVM is compared to (Sec. 6): hand-written OpenACC, whose DMA is managed well only in simple layers, without
    tuned reuse of the LDM in convolutions.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.hwmodels.ldm import convolution, core_group, no_reuse, plan
    >>> nest, group = convolution(channels=64, filters=64, size=56, kernel=3), core_group(ss.machine("sw26010"))
    >>> no_reuse(nest, group).total_s > plan(nest, group).seconds
    True
    """
    if copies not in get_args(Reading):
        raise NestError(f"copies={copies!r}: expected one of {', '.join(get_args(Reading))}")
    shares = split(nest, group.cpes)
    part = shares.part
    if footprint_B(part, dict.fromkeys(part.loops, 1), double_buffering=False) > group.ldm_B:
        raise NestError(
            f"{part.name}: one element of each tensor takes more than the {group.ldm_B:g} B of LDM"
        )
    if copies == "directives":
        return directives(nest, group)
    if copies == "columns":
        return by_columns(nest, group)
    return _untuned(shares, group, copies)


def _untuned(shares: Split, group: CoreGroup, copies: Reading) -> Times:
    """Return the time where rows, or a run, are all that is copied in at a time."""
    part = shares.part
    tiles = _tiles(part, group.ldm_B, copies)
    counts = trips(part, tiles)
    visits = math.prod(counts.values())
    puts = math.prod(counts[loop] for loop in part.loops if loop not in part.reductions)
    times = [*((tensor, (visits, visits, 0)) for tensor in part.inputs), (part.output, (puts, 0, puts))]
    moved = [
        transfer(part, tensor, blocks(part, tensor, tiles), often, group, shares.cpes)
        for tensor, often in times
    ]
    return serial(moved, group.compute_s(part.total_flops), group.spawn_join_s)


def _tiles(part: LoopNest, ldm_B: float, copies: Reading) -> dict[str, int]:
    """Return the parts copied in at a time: rows, and in simple nests all that the output's row needs."""
    tiles = dict.fromkeys(part.loops, 1)
    row = part.output.dims[-1].variables
    inner: list[str] = []
    if is_simple(part) or copies == "output-row":
        inner = [loop for loop in reversed(list(part.loops)) if loop in part.reductions]
    elif copies == "rows":
        inner = [loop for tensor in part.inputs for loop in tensor.dims[-1].variables if loop not in row]
    for loop in (*row, *inner):
        tiles[loop] = part.loops[loop]
        while footprint_B(part, tiles, double_buffering=False) > ldm_B:
            tiles[loop] //= 2
    return tiles
