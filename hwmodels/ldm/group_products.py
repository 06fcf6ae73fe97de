"""A matrix product of all CPEs of a core group, which share tiles by register communication."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from simsched.hwmodels.ldm.affine import Affine
from simsched.hwmodels.ldm.evaluation import Evaluation, MoveTimes, OwnTiles
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import LoopNest, trips
from simsched.hwmodels.ldm.search import fastest, refitted
from simsched.hwmodels.ldm.tiles import first_fit
from simsched.hwmodels.ldm.times import Times, Transfer, hidden_s, serial, transfers


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
    """Return the time of a product whose tiles are chosen for all LDMs together, each fetched only once."""
    prices = _SharedTiles(nest, gemm, group)
    tiles, order = _chosen(nest, gemm, group.stated or group)
    evaluation, floors = Evaluation(nest, group, group.cpes, prices), _floors(nest, gemm, group)
    tiles, order = refitted(evaluation, tiles, order, floors) or _chosen(nest, gemm, group)
    moved = [prices.moved(whole) for whole in transfers(nest, tiles, order, group, group.cpes)]
    register_s = prices.register_s(trips(nest, tiles))
    hidden = min(prices.compute_s, register_s)
    if group.double_buffering:
        hidden += hidden_s(moved, max(prices.compute_s, register_s))
    times = serial(moved, prices.compute_s, group.spawn_join_s)
    return replace(times, register_s=register_s, hidden_s=hidden)


@lru_cache(maxsize=1 << 14)
def _chosen(nest: LoopNest, gemm: Gemm, group: CoreGroup) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the fastest tiles and order of the tile loops of a product."""
    floors, prices = _floors(nest, gemm, group), _SharedTiles(nest, gemm, group)
    first = first_fit(
        nest,
        prices.ldm_B,
        preferred=group.preferred_elements * group.mesh_columns,
        double_buffering=group.double_buffering,
        floors=floors,
    )
    return fastest(Evaluation(nest, group, group.cpes, prices), first, floors)


class _SharedTiles(OwnTiles):
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
        """Return the seconds of each CPE's moves: whole runs, or pieces of a run where there are few."""
        group, each = self._group, max(count / self._group.cpes, 1.0)
        piece_B = max(count * size_B / (group.cpes * each), self._nest.element_B)
        get_s = each * group.get_s(piece_B, group.cpes, strided=count > 1)
        put_s = each * group.put_s(piece_B, group.cpes, strided=count > 1)
        return MoveTimes(get_s, put_s, math.inf)

    def moved(self, whole: Transfer) -> Transfer:
        """Return each CPE's part of a tile's transfer."""
        get_s, put_s, _ = self.move(whole.blocks.count, whole.blocks.size_B)
        return replace(whole, get_s=get_s, put_s=put_s, by_gload=False)

    def busy_s(self, counts: Mapping[str, int]) -> float:
        """Return the longer of computation and register communication, which overlap."""
        return max(self.compute_s, self.register_s(counts))

    def register_s(self, counts: Mapping[str, int]) -> float:
        """Return the seconds in which all CPEs receive others' tiles in their row and column, per step."""
        mean = {loop: extent / counts[loop] for loop, extent in self._nest.loops.items()}
        received_B = sum(
            tensor.elements(mean) * self._nest.element_B * others for tensor, others in self._passed
        )
        group = self._group
        step_s = received_B / group.regcomm_Bps + group.mesh_columns * group.regcomm_latency_s
        return math.prod(counts.values()) * step_s


def _floors(nest: LoopNest, gemm: Gemm, group: CoreGroup) -> dict[str, int]:
    """Return the least tiles of the instructions: their multiples, from the innermost loop of each out."""
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


#: Bytes of an element in the LDM: both kernels set tiles for doubles, whatever memory holds.
LDM_ELEMENT_B = 8


@dataclass(frozen=True)
class Window:
    """One direction of a convolution of stride 1: outputs, positions of the kernel, inputs, padding."""

    outputs: int
    kernel: int
    inputs: int
    padding: int

    @property
    def products(self) -> int:
        """Pairs of an output and a position of the kernel that meet an input."""
        return sum(
            min(max(self.inputs + self.padding - at, 0), self.outputs)
            - min(max(self.padding - at, 0), self.outputs)
            for at in range(self.kernel)
        )

    def touched(self, first: int, last: int) -> int:
        """Return how many inputs the outputs from `first` up to `last`, excluded, read."""
        return min(last - 1 + self.kernel - self.padding, self.inputs) - max(first - self.padding, 0)


@dataclass(frozen=True)
class Batched:
    """Sizes of a convolution of stride 1.

    Parameters
    ----------
    images, channels, filters : int
        Rows of a product, its inner dimension, columns.
    rows, columns : Window
        Height and width.
    element_B : int
        Bytes of an element in memory.
    flops : float
        Operations of all.
    """

    images: int
    channels: int
    filters: int
    rows: Window
    columns: Window
    element_B: int
    flops: float

    @classmethod
    def of(cls, nest: LoopNest) -> Batched | None:
        """Return the sizes of a nest; None where it is no convolution of one group and stride 1."""
        if len(nest.inputs) != 2 or len(nest.inputs[0].dims) != 4:
            return None
        data, weights = nest.inputs
        windows, plain = [], []
        for dim, size in zip(data.dims, data.shape, strict=True):
            window = _window(nest, dim, size)
            windows += [window] if window else []
            plain += [] if window else [dim]
        filters = [loop for loop in nest.output.variables & weights.variables if loop not in data.variables]
        channels = [loop for dim in plain for loop in dim.variables if loop in nest.reductions]
        images = [loop for dim in plain for loop in dim.variables if loop not in nest.reductions]
        if (len(windows), len(filters), len(channels), len(images)) != (2, 1, 1, 1):
            return None
        rows, columns = windows
        return cls(
            images=nest.loops[images[0]],
            channels=nest.loops[channels[0]],
            filters=nest.loops[filters[0]],
            rows=rows,
            columns=columns,
            element_B=nest.element_B,
            flops=nest.total_flops,
        )


def _window(nest: LoopNest, dim: Affine, size: int) -> Window | None:
    if len(dim.terms) != 2 or any(factor != 1 for _, factor in dim.terms):
        return None
    (out,) = [loop for loop in dim.variables if loop not in nest.reductions] or [""]
    (kernel,) = [loop for loop in dim.variables if loop in nest.reductions] or [""]
    if not out or not kernel:
        return None
    return Window(nest.loops[out], nest.loops[kernel], size, -dim.offset)


@dataclass(frozen=True)
class BatchKernel:
    """A way to fill the LDM.

    The outputs of some columns of a row stay in the LDM; for each row of the kernel and each input column that they
    read, the column of all images and channels is fetched and multiplied by the weights of each position.

    Parameters
    ----------
    ldm_B : float
        Room for tiles on a CPE.
    doubled : bool
        Whether inputs and a row of the kernel's weights have two buffers each, so that inputs are fetched during
        computation and weights once a row (swDNN), or one buffer each, and weights are fetched for each product
        (swCaffe). Weights and outputs are waited for in both.
    """

    ldm_B: float
    doubled: bool

    def columns(self, conv: Batched, cpes: int) -> int:
        """Return the columns of an output row that fit in the LDM; 0 where none fit."""
        scale = LDM_ELEMENT_B / cpes
        input_B, output_B = conv.images * conv.channels * scale, conv.images * conv.filters * scale
        weights_B, extra = conv.channels * conv.filters * scale, 0
        if self.doubled:
            input_B, weights_B, extra = (
                2 * input_B,
                2 * conv.columns.kernel * weights_B,
                conv.columns.kernel - 1,
            )
        return max(int((self.ldm_B - input_B - weights_B) / output_B) - extra, 0)

    def times(self, conv: Batched, group: CoreGroup) -> Times | None:
        """Return the seconds on a core group; None where the tiles of one column do not fit."""
        if not (tile := self.columns(conv, group.cpes)):
            return None
        firsts = range(0, conv.columns.outputs, tile)
        kernel_rows = conv.rows.products
        fetched = sum(
            conv.columns.touched(first, min(first + tile, conv.columns.outputs)) for first in firsts
        )
        weights = conv.columns.kernel * len(firsts) if self.doubled else conv.columns.products
        pieces = _Pieces(conv, group)
        inputs_s = kernel_rows * fetched * pieces.input_s
        compute_s = group.compute_s(
            2 * kernel_rows * conv.columns.products * conv.images * conv.channels * conv.filters / group.cpes,
            reordered=True,
        )
        return Times(
            dma_s=inputs_s
            + kernel_rows * weights * pieces.weights_s
            + conv.rows.outputs * conv.columns.outputs * pieces.output_s,
            compute_s=compute_s,
            spawn_join_s=group.spawn_join_s,
            hidden_s=min(inputs_s, compute_s) if self.doubled else 0.0,
        )


class _Pieces:
    """Seconds of moving by all CPEs: parts of a column of inputs, a position's weights, a column of outputs.

    Each of the mesh's rows has a part of one dimension, each of its columns one of the other.
    """

    def __init__(self, conv: Batched, group: CoreGroup) -> None:
        self._group, self._element_B = group, conv.element_B
        self.input_s = self._seconds(conv.channels, conv.images)
        self.weights_s = self._seconds(conv.channels, conv.filters)
        self.output_s = self._seconds(conv.filters, conv.images, put=True)

    def _seconds(self, runs: int, run: int, *, put: bool = False) -> float:
        group = self._group
        move = group.put_s if put else group.get_s
        size_B = run / group.mesh_rows * self._element_B
        return runs / group.mesh_columns * move(size_B, group.cpes, strided=True)
