"""The planner's model of a core group, and seconds of DMA by block size, from measured streams."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from simsched.errors import MachineError

#: Bytes of a block, and its seconds.
Point = tuple[float, float]


@dataclass(frozen=True)
class DmaCurve:
    """Time of one block at the memory controller when many CPEs move blocks of the same size concurrently.

    A copy gets and puts each block once, an addition gets two blocks and puts one; so both streams separate a get
    from a put. More bytes never take less time, nor do they move at a lower rate: neighbouring points that say
    otherwise, which is noise, are merged (geometric means of sizes and of seconds). Between two points a block
    takes a start-up plus its bytes at a rate, both from these two; below the first the time stays, above the last the
    rate of the last pair continues.

    Parameters
    ----------
    block_B : sequence of float
        Measured block sizes, ascending.
    copy_Bps, add_Bps : sequence of float
        Bandwidth of all CPEs together, bytes of gets and puts, of copy (1 get, 1 put) and addition (2 gets, 1 put).

    Raises
    ------
    MachineError
        If there are fewer than two points, sizes do not ascend, or the two streams contradict each other.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import DmaCurve
    >>> curve = DmaCurve(block_B=(128.0, 1024.0), copy_Bps=(1e10, 2e10), add_Bps=(1e10, 2e10))
    >>> round(curve.stream_Bps(1024.0, gets=1, puts=1) / 1e9, 6), round(curve.get_s(128.0) * 1e9, 6)
    (20.0, 12.8)
    """

    block_B: tuple[float, ...]
    copy_Bps: tuple[float, ...]
    add_Bps: tuple[float, ...]
    gets: tuple[Point, ...] = field(init=False)
    puts: tuple[Point, ...] = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.block_B
        if not 2 <= len(sizes) == len(self.copy_Bps) == len(self.add_Bps):
            raise MachineError(
                f"a DMA curve has {len(sizes)} block sizes, {len(self.copy_Bps)} rates of copy and "
                f"{len(self.add_Bps)} of addition; expected as many of each, at least 2"
            )
        if sizes[0] <= 0 or any(b <= a for a, b in pairwise(sizes)):
            raise MachineError(f"block sizes {sizes} of a DMA curve do not ascend from above 0")
        if (least := min(*self.copy_Bps, *self.add_Bps)) <= 0:
            raise MachineError(f"a DMA curve has a bandwidth of {least:g} B/s; expected above zero")
        copies = [2 * b / r for b, r in zip(sizes, self.copy_Bps, strict=True)]
        additions = [3 * b / r for b, r in zip(sizes, self.add_Bps, strict=True)]
        gets = [add - copy for add, copy in zip(additions, copies, strict=True)]
        puts = [copy - get for get, copy in zip(gets, copies, strict=True)]
        for size, get, put in zip(sizes, gets, puts, strict=True):
            if min(get, put) <= 0:
                raise MachineError(
                    f"copy and addition contradict each other at blocks of {size:g} B: a get would take {get:g} s, "
                    f"a put {put:g} s"
                )
        object.__setattr__(self, "gets", growing(sizes, gets))
        object.__setattr__(self, "puts", growing(sizes, puts))

    def get_s(self, block_B: float) -> float:
        """Return the controller's seconds for a get of one block."""
        return _affine(block_B, self.gets)

    def put_s(self, block_B: float) -> float:
        """Return the controller's seconds for a put of one block."""
        return _affine(block_B, self.puts)

    def in_place(self) -> DmaCurve:
        """Return the curve whose puts take as long as gets."""
        sizes = tuple(size for size, _ in self.gets) if len(self.gets) > 1 else self.block_B
        rates = tuple(size / self.get_s(size) for size in sizes)
        return DmaCurve(sizes, rates, rates)

    def stream_Bps(self, block_B: float, gets: int, puts: int) -> float:
        """Return the bandwidth of all CPEs in a stream of `gets` and `puts` blocks per step."""
        return (gets + puts) * block_B / (gets * self.get_s(block_B) + puts * self.put_s(block_B))


def growing(sizes_B: Sequence[float], seconds: Sequence[float]) -> tuple[Point, ...]:
    """Return points whose times grow with size, but no faster than the bytes.

    Neighbours that contradict this are replaced by one point at their geometric means, until none do; each measured
    point keeps its weight.
    """
    # Sums of logarithms of size and seconds, and the number of points.
    points = [(math.log(size), math.log(time), 1) for size, time in zip(sizes_B, seconds, strict=True)]
    while len(points) > 1 and (at := _contradiction(points)) is not None:
        (size, time, n), (next_size, next_time, next_n) = points[at : at + 2]
        points[at : at + 2] = [(size + next_size, time + next_time, n + next_n)]
    return tuple((math.exp(size / n), math.exp(time / n)) for size, time, n in points)


def _contradiction(points: Sequence[tuple[float, float, int]]) -> int | None:
    """Return the first point after which time falls, or grows more than the size."""
    for at, ((size, time, n), (next_size, next_time, next_n)) in enumerate(pairwise(points)):
        more = next_time / next_n - time / n
        if not -1e-9 <= more <= next_size / next_n - size / n + 1e-9:
            return at
    return None


def _affine(x: float, points: Sequence[Point]) -> float:
    first_x, first_y = points[0]
    if len(points) == 1:
        return first_y * max(x / first_x, 1.0)
    if x <= first_x:
        return first_y
    at = min(bisect_right(points, (x, math.inf)), len(points) - 1)
    (x0, y0), (x1, y1) = points[at - 1 : at + 1]
    return y0 + (x - x0) * (y1 - y0) / (x1 - x0)


@dataclass(frozen=True)
class CoreGroup:
    """One core group of SW26010 or a similar chip: CPEs with local memory, one memory controller.

    All numbers come from the `[ldm]` table of a machine file; see `simsched.hwmodels.ldm.schema`.

    Parameters
    ----------
    cpes : int
        Computing elements; a mesh of `cpes / mesh_columns` rows.
    mesh_columns : int
        CPEs in a row of the mesh, along which (and along columns) registers are exchanged.
    ldm_B : float
        Local memory of a CPE.
    cpe_flops : float
        Peak of a CPE, FLOP/s.
    compiled_share, reordered_share : float
        Share of the peak that compiled loops reach, and hand-ordered instructions with register communication.
    dma_contiguous, dma_strided : DmaCurve
        Seconds of a block that is a separate transfer, and of one of the blocks of a strided transfer; the former
        takes at least as long as the latter.
    dma_latency_s, dma_cpe_Bps : float
        Start-up of a block of a single CPE, and the most it can draw; they bound few CPEs on an idle controller.
    gload_latency_s, gload_Bps, gload_word_B : float
        Loads and stores past the LDM: latency of one, bandwidth of all CPEs together, bytes of one.
    regcomm_latency_s, regcomm_Bps : float
        Register communication: latency, bandwidth of all CPEs together.
    spawn_join_s : float
        Starting all CPEs and waiting for them.
    preferred_elements : int
        Elements that a transfer should have at least; first tiles are at most this.
    gemm_m, gemm_n, gemm_k : int
        Multiples to which the register-communication GEMM pads the rows of its input, the columns of its weights, and
        the inner dimension.
    swdnn_ldm_B, swcaffe_ldm_B : float
        LDM of a CPE that the convolutions of these libraries fill.
    bias_element_s, window_element_s : float
        Seconds in which swCaffe adds a bias to one element, and in which it pools one element of a window.
    double_buffering : bool
        Whether tiles are moved while others are computed on; then streamed tensors take two buffers.
    stated : CoreGroup, optional
        What programs are planned for, where these numbers are but possible ones; itself when not given.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.hwmodels.ldm import core_group
    >>> group = core_group(ss.machine("sw26010"))
    >>> group.cpes, group.mesh_rows, group.ldm_B, group.cpe_flops / 1e9
    (64, 8, 65536.0, 11.6)
    """

    cpes: int
    mesh_columns: int
    ldm_B: float
    cpe_flops: float
    compiled_share: float
    reordered_share: float
    dma_contiguous: DmaCurve
    dma_strided: DmaCurve
    dma_latency_s: float
    dma_cpe_Bps: float
    gload_latency_s: float
    gload_Bps: float
    gload_word_B: float
    regcomm_latency_s: float
    regcomm_Bps: float
    spawn_join_s: float
    preferred_elements: int
    gemm_m: int
    gemm_n: int
    gemm_k: int
    swdnn_ldm_B: float
    swcaffe_ldm_B: float
    bias_element_s: float
    window_element_s: float
    double_buffering: bool = True
    stated: CoreGroup | None = None

    @property
    def mesh_rows(self) -> int:
        """Rows of the mesh of CPEs."""
        return self.cpes // self.mesh_columns

    def get_s(self, block_B: float, cpes: int, *, strided: bool) -> float:
        """Return the seconds of a get of one block by each of `cpes` concurrently."""
        own_s = 0.0 if strided else self.dma_contiguous.get_s(block_B)
        return self._shared(max(self.dma_strided.get_s(block_B), own_s), block_B, cpes)

    def put_s(self, block_B: float, cpes: int, *, strided: bool) -> float:
        """Return the seconds of a put of one block by each of `cpes` concurrently."""
        own_s = 0.0 if strided else self.dma_contiguous.put_s(block_B)
        return self._shared(max(self.dma_strided.put_s(block_B), own_s), block_B, cpes)

    def _shared(self, block_s: float, block_B: float, cpes: int) -> float:
        """Return the time until the controller has served the blocks of all, each in `block_s`.

        A CPE also waits for its own start-up, and cannot draw more than its own bandwidth.
        """
        return max(cpes * block_s, self.dma_latency_s + block_B / self.dma_cpe_Bps)

    def in_place(self) -> CoreGroup:
        """Return the group for moving data back to their origin: a put takes as long as a get.

        swCaffe's element-wise layers, which work in place, move 26 GB/s, which is more than copies to another place
        do (20 GB/s) and about what gets do (27 GB/s).
        """
        return replace(
            self,
            dma_contiguous=self.dma_contiguous.in_place(),
            dma_strided=self.dma_strided.in_place(),
            stated=self.stated and self.stated.in_place(),
        )

    def hand_ordered(self) -> CoreGroup:
        """Return the group for code whose instructions are ordered by hand."""
        return replace(
            self, compiled_share=self.reordered_share, stated=self.stated and self.stated.hand_ordered()
        )

    def part(self, cpes: int) -> CoreGroup:
        """Return some CPEs of the group, with whole rows of the mesh or one."""
        mesh_columns = min(cpes, self.mesh_columns)
        return replace(
            self, cpes=cpes, mesh_columns=mesh_columns, stated=self.stated and self.stated.part(cpes)
        )

    def buffered(self, *, double: bool) -> CoreGroup:
        """Return the group with double buffering or without."""
        return replace(
            self, double_buffering=double, stated=self.stated and self.stated.buffered(double=double)
        )

    def gload_s(self, cpes: int) -> float:
        """Return the seconds of one load or store past the LDM by each of `cpes` concurrently."""
        return max(self.gload_latency_s, cpes * self.gload_word_B / self.gload_Bps)

    def compute_s(self, flops: float, *, reordered: bool = False) -> float:
        """Return the seconds of `flops` on one CPE."""
        return flops / (self.cpe_flops * (self.reordered_share if reordered else self.compiled_share))
