"""The nest as a plain OpenACC loop: nobody tuned what stays in the LDM."""

from __future__ import annotations

import math
from typing import Literal, get_args

from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.directives import directives
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.group_products import Gemm
from simsched.hwmodels.ldm.nest import Access, LoopNest, Split, split, trips
from simsched.hwmodels.ldm.shared_tiles import as_gemm, columns_of, images_of
from simsched.hwmodels.ldm.tiles import footprint_B
from simsched.hwmodels.ldm.times import Times, serial
from simsched.hwmodels.ldm.transfers import blocks, transfer


def by_columns(nest: LoopNest, group: CoreGroup) -> Times:
    """Return the time of a nest whose windows are written out as columns, image by image, and then multiplied.

    Both are nests under `directives`; the first is `layout_s`. What has no windows is one such nest.
    """
    gemm = as_gemm(nest)
    if gemm is None or not gemm.im2col:
        return directives(nest, group)
    images = images_of(nest, gemm)
    product = directives(_product(nest, gemm), group)
    return Times(
        dma_s=images * product.dma_s,
        compute_s=images * product.compute_s,
        gload_s=images * product.gload_s,
        layout_s=images * directives(columns_of(nest, gemm), group).total_s,
        spawn_join_s=images * product.spawn_join_s,
    )


def _product(nest: LoopNest, gemm: Gemm) -> LoopNest:
    """Return the product of columns and weights, which are stored by output as those of the convolution."""
    m, n, k = (math.prod(nest.loops[loop] for loop in loops) for loops in (gemm.m, gemm.n, gemm.k))
    return LoopNest(
        name=f"product of {nest.name}",
        loops={"n": n, "m": m, "k": k},
        reads=(Access("columns", ("k", "m")), Access("W", ("n", "k"))),
        write=Access("Y", ("n", "m")),
        reductions=frozenset({"k"}),
        flops=nest.flops,
        element_B=nest.element_B,
    )


#: What is copied in at once: what directives say, for the nest or for columns and a product; rows of all tensors; all
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
    """Return the time of a nest written as plain parallel loops, whose tiles nobody tuned.

    The loops over the output are split over the CPEs as in `plan`. Transfers are by DMA, or by loads past the LDM where
    these are faster; they and computation wait for each other.

    Parameters
    ----------
    nest : LoopNest
    group : CoreGroup
    copies : {"directives", "columns", "rows", "output-row", "run"}
        What is copied in at once.

        - "directives": as in public code for Sunway's OpenACC; see `simsched.hwmodels.ldm.directives.directives`.
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
    """Return the time where rows, or a run, are all that is copied in at once."""
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
    """Return what is copied in at once: rows, and in simple nests all that the output's row needs."""
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
