"""Kernels: seconds of a matrix product, a convolution, an element-wise op or a stream on a machine, from its shape.

What a recorded duration would say where none is at hand; checked against measured tables (docs/measured.md).

Examples
--------
>>> import simsched as ss
>>> from simsched.costs.kernels import Team, gemm_s
>>> machine = ss.machine("knl-7250")
>>> gemm_s(64, 512, 512, Team(machine, 8)) < gemm_s(64, 512, 512, Team(machine, 1))
True
"""

from __future__ import annotations

from math import ceil

from simsched.costs.kernel_convolution import Convolution, balance, convolution_s
from simsched.costs.kernel_loop import loop_s
from simsched.costs.kernel_parameters import Parameters, parameters
from simsched.costs.kernel_stream import Stream, stream_Bps, stream_s
from simsched.costs.kernel_team import Team
from simsched.errors import CostError

__all__ = [
    "Convolution",
    "Parameters",
    "Stream",
    "Team",
    "convolution_s",
    "elementwise_s",
    "gemm_s",
    "loop_s",
    "parameters",
    "stream_Bps",
    "stream_s",
]


def gemm_s(m: int, n: int, k: int, team: Team, element_B: int = 4, params: Parameters | None = None) -> float:
    """Return the seconds of C = A B with C of m x n and inner dimension k.

    The region's fork, join and barriers; the matrices once through memory (packing them reads them wherever they lie);
    and the operations, on whole vectors of rows, by as many threads as the output has blocks for.

    Parameters
    ----------
    m, n, k : int
        Rows (contiguous in memory, as in BLAS), columns, inner dimension.
    team : Team
    element_B : {4, 8}
        Bytes of an element: FP32 or FP64.
    params : Parameters, optional
        Those of a library when not given.

    Raises
    ------
    CostError
        On a size below 1, or elements of another size.
    """
    if min(m, n, k) < 1:
        raise CostError(f"a matrix product of {m} x {n} x {k}; every size must be at least 1")
    if element_B not in (4, 8):
        raise CostError(f"elements of {element_B} bytes; expected 4 (FP32) or 8 (FP64)")
    params = parameters() if params is None else params
    own, software = params.gemm, params.software
    vector = own.vector * 4 / element_B
    blocks = ceil(m / software.gemm_rows) * ceil(n / software.gemm_columns)
    team = team.limited(blocks)
    padded = vector * ceil(m / vector)
    rate = team.threads * team.core_flops * balance(blocks, team.threads) * 4 / element_B
    moved_B = float(element_B) * (m * k + k * n + 2 * m * n)
    return team.region_s(own.inner_barriers) + 2.0 * padded * n * k / rate + team.traffic_s(moved_B, moved_B)


def elementwise_s(elements: int, team: Team, arrays: int = 3, params: Parameters | None = None) -> float:
    """Return the seconds of an element-wise op on FP32 arrays, the last of which is written.

    Parameters
    ----------
    elements : int
        Elements of an array.
    team : Team
        Its threads; no more of them work than the elements have blocks for.
    arrays : int
        Arrays read and written; at least 2.
    params : Parameters, optional
        Those of a library when not given.
    """
    if elements < 1 or arrays < 2:
        raise CostError(f"{arrays} arrays of {elements} elements; expected at least 2 arrays of 1 element")
    params = parameters() if params is None else params
    blocks = ceil(elements / params.software.elementwise_block)
    team = team.limited(blocks)
    # The most loaded thread sets the pace: as if every thread had as many blocks.
    busiest = elements / balance(blocks, team.threads)
    return stream_s(Stream(busiest, reads=arrays - 1, writes=1, element_B=4), team, params=params)
