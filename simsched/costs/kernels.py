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

from simsched.costs.kernel_convolution import Convolution, convolution_s
from simsched.costs.kernel_loop import loop_s
from simsched.costs.kernel_stream import Stream, balance, stream_Bps, stream_s
from simsched.costs.kernel_team import Team
from simsched.costs.kernel_work import Work, team_s
from simsched.costs.library import Parameters, parameters
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
        Those of the default library when not given.

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
    return team_s(gemm_work(m, n, k, params, element_B), team)


def gemm_work(
    m: int, n: int, k: int, params: Parameters, element_B: int = 4, columns: int | None = None
) -> Work:
    """Return what C = A B has to do, C of m x n and inner dimension k.

    Parameters
    ----------
    m, n, k : int
    params : Parameters
    element_B : {4, 8}
    columns : int, optional
        Columns that are computed, with those that fill a block; n when not given.
    """
    own, library = params.gemm, params.library
    vector = own.vector * 4 / element_B
    padded = vector * ceil(m / vector) * (n if columns is None else columns)
    return Work(
        ceil(m / library.gemm_rows) * ceil(n / library.gemm_columns),
        2.0 * padded * k / library.product_rate * element_B / 4,
        float(element_B) * (m * k + k * n + m * n),
        float(element_B) * (m * k + k * n + 2 * m * n),
        barriers=own.inner_barriers,
    )


def elementwise_s(
    elements: int, team: Team, arrays: int = 3, params: Parameters | None = None, *, resident: bool = True
) -> float:
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
        Those of the default library when not given.
    resident : bool
        Whether data stay in the caches from call to call, where they fit.
    """
    if elements < 1 or arrays < 2:
        raise CostError(f"{arrays} arrays of {elements} elements; expected at least 2 arrays of 1 element")
    params = parameters() if params is None else params
    blocks = ceil(elements / params.library.elementwise_block)
    team = team.limited(blocks)
    # The most loaded thread sets the pace: as if every thread had as many blocks.
    busiest = elements / balance(blocks, team.threads)
    return stream_s(
        Stream(busiest, reads=arrays - 1, writes=1, element_B=4), team, params=params, resident=resident
    )
