"""Seconds of an element-wise op."""

from __future__ import annotations

from math import ceil

from simsched.costs.kernels.library import Parameters, parameters
from simsched.costs.kernels.stream import Stream, balance, stream_s
from simsched.costs.kernels.team import Team
from simsched.errors import CostError


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

    Examples
    --------
    >>> import simsched as ss
    >>> f"{elementwise_s(1_000_000, Team(ss.machine('knl-7250'), 16)) * 1e6:.1f} us"
    '75.2 us'
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
