"""A matrix product of all CPEs of a core group, which share tiles by register communication."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from simsched.hwmodels.ldm.evaluation import Evaluation, MoveTimes
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import LoopNest, trips
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


def group_product(nest: LoopNest, gemm: Gemm, group: CoreGroup) -> Times:
    """Return the time of a product whose tiles are chosen for all LDMs together, each tile fetched once for all."""
    twice, floors, prices = (
        group.double_buffering,
        _floors(nest, gemm, group),
        _SharedTiles(nest, gemm, group),
    )
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
