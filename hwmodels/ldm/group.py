"""What the planner knows about a core group."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simsched.hwmodels.ldm.dma import DmaCurve


@dataclass(frozen=True)
class CoreGroup:
    """One core group of SW26010 or alike: CPEs with local memory, one memory controller.

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
        Seconds of a block that is a transfer of its own, and of one of the blocks of a strided transfer; the former
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
        what it sums over.
    swdnn_ldm_B, swcaffe_ldm_B : float
        LDM of a CPE that the convolutions of these libraries fill.
    bias_element_s, window_element_s : float
        Seconds in which swCaffe adds a bias to one element, and in which it pools one element of a window.
    double_buffering : bool
        Whether tiles are moved while others are computed on; then streamed tensors take two buffers.

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

    @property
    def mesh_rows(self) -> int:
        """Rows of the mesh of CPEs."""
        return self.cpes // self.mesh_columns

    def get_s(self, block_B: float, cpes: int, *, strided: bool) -> float:
        """Seconds of a get of one block by each of `cpes` at once."""
        own_s = 0.0 if strided else self.dma_contiguous.get_s(block_B)
        return self._shared(max(self.dma_strided.get_s(block_B), own_s), block_B, cpes)

    def put_s(self, block_B: float, cpes: int, *, strided: bool) -> float:
        """Seconds of a put of one block by each of `cpes` at once."""
        own_s = 0.0 if strided else self.dma_contiguous.put_s(block_B)
        return self._shared(max(self.dma_strided.put_s(block_B), own_s), block_B, cpes)

    def _shared(self, block_s: float, block_B: float, cpes: int) -> float:
        """Return the time until the controller has served the blocks of all, each in `block_s`.

        A CPE also waits for its own start-up, and cannot draw more than its own bandwidth.
        """
        return max(cpes * block_s, self.dma_latency_s + block_B / self.dma_cpe_Bps)

    def in_place(self) -> CoreGroup:
        """Return the group as it moves data back to where they came from: a put takes as long as a get.

        swCaffe's element-wise layers, which work in place, move 26 GB/s, which is more than copies to another place
        do (20 GB/s) and about what gets do (27 GB/s).
        """
        return replace(
            self, dma_contiguous=self.dma_contiguous.in_place(), dma_strided=self.dma_strided.in_place()
        )

    def gload_s(self, cpes: int) -> float:
        """Seconds of one load or store past the LDM by each of `cpes` at once."""
        return max(self.gload_latency_s, cpes * self.gload_word_B / self.gload_Bps)

    def compute_s(self, flops: float, *, reordered: bool = False) -> float:
        """Seconds of `flops` on one CPE."""
        return flops / (self.cpe_flops * (self.reordered_share if reordered else self.compiled_share))
