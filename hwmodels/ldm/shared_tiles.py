"""The nest as swCaffe computes it: one GEMM of all CPEs, which share tiles by register communication."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from simsched.hwmodels.ldm.evaluation import Evaluation, MoveTimes
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import Access, LoopNest, trips
from simsched.hwmodels.ldm.planning import plan
from simsched.hwmodels.ldm.search import fastest
from simsched.hwmodels.ldm.tiles import first_fit
from simsched.hwmodels.ldm.times import Times, hidden_s, serial
from simsched.hwmodels.ldm.transfers import Transfer, transfers


@dataclass(frozen=True)
class Gemm:
    """A nest seen as matrix products of `m` x `k` inputs and `k` x `n` weights.

    Parameters
    ----------
    m, n, k : tuple of str
        Loops that make up each of them; all other loops run around the products.
    im2col : bool
        Whether windows of the input have to be written out as columns first.
    """

    m: tuple[str, ...]
    n: tuple[str, ...]
    k: tuple[str, ...]
    im2col: bool


def as_gemm(nest: LoopNest) -> Gemm | None:
    """Return how a nest of two inputs is a matrix product; None for all others.

    A dimension of the input that more than one loop indexes, or with a stride, is a window (as in a convolution). Where
    such a dimension is the lowest, rows of the input are not those of a matrix; im2col makes them so, image by image.
    Where images are the lowest dimension (swDNN), each position of the window is a product of its own.
    """
    if len(nest.inputs) != 2 or not nest.reductions:
        return None
    long = {loop for loop, extent in nest.loops.items() if extent > 1}
    data, weights = nest.inputs
    if not nest.reductions & data.variables & weights.variables or nest.output.variables & (
        data.variables & weights.variables & long
    ):
        return None
    windowed = [
        bool(set(dim.variables) & long)
        and (len(set(dim.variables) & long) > 1 or any(abs(f) > 1 for v, f in dim.terms if v in long))
        for dim in data.dims
    ]
    window = {v for dim, is_one in zip(data.dims, windowed, strict=True) if is_one for v in dim.variables}
    m = tuple(loop for loop in nest.loops if loop in nest.output.variables & data.variables)
    n = tuple(loop for loop in nest.loops if loop in nest.output.variables & weights.variables - set(m))
    k = tuple(loop for loop in nest.loops if loop in nest.reductions)
    if windowed[-1]:
        return Gemm(tuple(loop for loop in m if loop in window), n, k, im2col=True)
    rows, sums = (tuple(loop for loop in loops if loop not in window) for loops in (m, k))
    return Gemm(rows, n, sums, im2col=False)


def register_communication(nest: LoopNest, group: CoreGroup) -> Times:
    """Return the time of a nest with tiles that all CPEs of the core group share.

    Tiles are chosen as in `plan`, but for the group as a whole, whose LDM together is one; each tile is fetched once
    for all CPEs instead of once for each, in runs that all CPEs share out (row mode of the DMA). For each step the
    tile of the input goes along the rows of the mesh and that of the weights along its columns; CPEs compute at the
    share of their peak of hand-ordered instructions, on matrices padded to the multiples that these instructions need,
    so that small batches are mostly padding. Register communication and DMA overlap computation. Windows of NCHW inputs
    are first written out as columns, image by image (im2col), and the product reads them back.

    What is not a matrix product (pooling, element-wise) is planned as in `plan`, with hand-ordered instructions.

    Parameters
    ----------
    nest : LoopNest
    group : CoreGroup

    Returns
    -------
    Times

    Raises
    ------
    NestError
        If not even the least tiles fit.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.hwmodels.ldm import core_group, matmul, plan, register_communication
    >>> nest, group = matmul(512, 512, 512), core_group(ss.machine("sw26010"))
    >>> register_communication(nest, group).total_s < plan(nest, group).seconds
    True
    """
    gemm = as_gemm(nest)
    if gemm is None:
        return plan(nest, replace(group, compiled_share=group.reordered_share)).times
    if not gemm.im2col:
        return _shared(nest, gemm, group)
    images = images_of(nest, gemm)
    columns = plan(columns_of(nest, gemm), group).seconds
    product = _product(nest, gemm)
    once = _shared(product, Gemm(("m",), ("n",), ("k",), im2col=False), group)
    return Times(
        dma_s=images * once.dma_s,
        compute_s=images * once.compute_s,
        register_s=images * once.register_s,
        layout_s=images * columns,
        spawn_join_s=images * once.spawn_join_s,
        hidden_s=images * once.hidden_s,
    )


def images_of(nest: LoopNest, gemm: Gemm) -> int:
    """Return how many images the windows of a nest are written out of."""
    return math.prod(
        nest.loops[loop]
        for loop in nest.loops
        if loop in nest.inputs[0].variables and loop not in (*gemm.m, *gemm.k)
    )


def columns_of(nest: LoopNest, gemm: Gemm) -> LoopNest:
    """Return im2col of one image: each window of the input becomes a column."""
    kept = (*gemm.k, *gemm.m)
    one = nest.resized({loop: 1 for loop in nest.loops if loop not in kept})
    return LoopNest(
        name=f"im2col of {nest.name}",
        loops={**{loop: one.loops[loop] for loop in kept}, **dict.fromkeys(set(one.loops) - set(kept), 1)},
        reads=(one.reads[0],),
        write=Access("columns", kept),
        flops=0,
        element_B=nest.element_B,
        constants=nest.constants,
    )


def _product(nest: LoopNest, gemm: Gemm) -> LoopNest:
    m, n, k = (math.prod(nest.loops[loop] for loop in loops) for loops in (gemm.m, gemm.n, gemm.k))
    return LoopNest(
        name=f"product of {nest.name}",
        loops={"m": m, "n": n, "k": k},
        reads=(Access("columns", ("k", "m")), Access("W", ("k", "n"))),
        write=Access("Y", ("n", "m")),
        reductions=frozenset({"k"}),
        flops=nest.flops,
        element_B=nest.element_B,
    )


def _shared(nest: LoopNest, gemm: Gemm, group: CoreGroup) -> Times:
    twice, floors, prices = group.double_buffering, _floors(nest, gemm, group), _SharedTiles(nest, gemm, group)
    first = first_fit(
        nest,
        prices.ldm_B,
        preferred=group.preferred_elements * group.mesh_columns,
        double_buffering=twice,
        floors=floors,
    )
    tiles, order = fastest(Evaluation(nest, group, group.cpes, prices), first, floors)
    moved = [prices.moved(whole) for whole in transfers(nest, tiles, order, group, group.cpes)]
    register_s = prices.register_s(trips(nest, tiles))
    hidden = min(prices.compute_s, register_s)
    if twice:
        hidden += hidden_s(moved, max(prices.compute_s, register_s))
    times = serial(moved, prices.compute_s, group.spawn_join_s)
    return replace(times, register_s=register_s, hidden_s=hidden)


class _SharedTiles:
    """All CPEs move parts of each tile, pass them on to the others, and compute on multiples of rows and columns."""

    def __init__(self, nest: LoopNest, gemm: Gemm, group: CoreGroup) -> None:
        self.ldm_B = group.ldm_B * group.cpes
        self.compute_s = group.compute_s(
            nest.total_flops * _padding(nest, gemm, group) / group.cpes, reordered=True
        )
        self._nest, self._group = nest, group
        # A tile of the input goes along the rows of the mesh, one of the weights along its columns.
        self._passed = list(zip(nest.inputs, (group.mesh_columns - 1, group.mesh_rows - 1), strict=True))

    def move(self, count: float, size_B: float) -> MoveTimes:
        """Return the seconds of what each CPE moves: whole runs, or pieces of a run where there are few."""
        group, each = self._group, max(count / self._group.cpes, 1.0)
        piece_B = max(count * size_B / (group.cpes * each), self._nest.element_B)
        get_s = each * group.get_s(piece_B, group.cpes, strided=count > 1)
        put_s = each * group.put_s(piece_B, group.cpes, strided=count > 1)
        return MoveTimes(get_s, put_s, math.inf)

    def moved(self, whole: Transfer) -> Transfer:
        """Return the part of a tile's transfer that each CPE does."""
        get_s, put_s, _ = self.move(whole.blocks.count, whole.blocks.size_B)
        return replace(whole, get_s=get_s, put_s=put_s, by_gload=False)

    def busy_s(self, counts: Mapping[str, int]) -> float:
        """Return the longer of computation and register communication, which overlap."""
        return max(self.compute_s, self.register_s(counts))

    def register_s(self, counts: Mapping[str, int]) -> float:
        """Seconds in which all CPEs receive the tiles of the others in their row and column, at each step."""
        mean = {loop: extent / counts[loop] for loop, extent in self._nest.loops.items()}
        received_B = sum(
            tensor.elements(mean) * self._nest.element_B * others for tensor, others in self._passed
        )
        group = self._group
        step_s = received_B / group.regcomm_Bps + group.mesh_columns * group.regcomm_latency_s
        return math.prod(counts.values()) * step_s


def _floors(nest: LoopNest, gemm: Gemm, group: CoreGroup) -> dict[str, int]:
    """Return the least tiles that the instructions compute on: the multiples, from the innermost loop of each out."""
    floors = {}
    for loops, multiple in ((gemm.m, group.gemm_m), (gemm.n, group.gemm_n), (gemm.k, group.gemm_k)):
        missing = multiple
        for loop in reversed(loops):
            floors[loop] = min(nest.loops[loop], missing)
            missing = -(-missing // floors[loop])
    return floors


def _padding(nest: LoopNest, gemm: Gemm, group: CoreGroup) -> float:
    """Return the work on padded matrices over that on the real ones."""
    factor = 1.0
    for loops, multiple in ((gemm.m, group.gemm_m), (gemm.n, group.gemm_n), (gemm.k, group.gemm_k)):
        extent = math.prod(nest.loops[loop] for loop in loops)
        factor *= -(-extent // multiple) * multiple / extent
    return factor
