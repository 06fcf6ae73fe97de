"""Seconds of a matrix product."""

from __future__ import annotations

from math import ceil

from simsched.costs.kernels.library import Parameters, parameters
from simsched.costs.kernels.team import Team, Work, team_s
from simsched.errors import CostError


def gemm_s(m: int, n: int, k: int, team: Team, element_B: int = 4, params: Parameters | None = None) -> float:
    """Return the seconds of C = A B with C of m x n and inner dimension k.

    The region's fork, join and barriers; the matrices once through memory (packing them reads them wherever they are);
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

    Examples
    --------
    >>> import simsched as ss
    >>> f"{gemm_s(512, 512, 512, Team(ss.machine('knl-7250'), 16)) * 1e6:.0f} us"
    '281 us'
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
    """Return the work of C = A B, C of m x n and inner dimension k.

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
