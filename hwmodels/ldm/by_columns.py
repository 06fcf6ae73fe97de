"""A convolution under OpenACC's directives as Caffe has it: columns of the input first, then a product."""

from __future__ import annotations

import math

from simsched.hwmodels.ldm.directives import directives
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.group_products import Gemm
from simsched.hwmodels.ldm.nest import Access, LoopNest
from simsched.hwmodels.ldm.shared_tiles import as_gemm, columns_of, images_of
from simsched.hwmodels.ldm.times import Times


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
