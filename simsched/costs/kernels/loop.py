"""Plain loops: compiled code that adds one product after another to a sum.

    cycles of an inner loop of L elements = max(latency L, throughput L + start)

at the scalar clock of the busy cores: long loops wait for the sum before, short ones (small tiles) for the loop to
start and end. See docs/measured.md.
"""

from __future__ import annotations

from simsched.costs.kernels.library import LoopParameters, Parameters, parameters
from simsched.costs.kernels.team import Team
from simsched.errors import CostError


def loop_s(elements: float, length: float, team: Team, params: Parameters | None = None) -> float:
    """Return the seconds of plain loops whose data are in the caches.

    Parameters
    ----------
    elements : float
        Products added, of all loops together: m n k in a matrix product.
    length : float
        Those of one inner loop: k, or the size of a tile.
    team : Team
        Its threads divide the loops evenly.
    params : Parameters, optional
        Those of the default library when not given.

    Raises
    ------
    CostError
        If a number is below zero, or a loop has less than one element.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.kernels import Team, loop_s
    >>> one = Team(ss.machine("knl-7250"), 1)
    >>> round(loop_s(128**3, 128, one) * 1e3, 1), round(loop_s(128**3, 4, one) * 1e3, 1)
    (9.1, 24.6)
    """
    if not (elements >= 0 and length >= 1):
        raise CostError(
            f"{elements} elements in loops of {length}; expected at least 0 in loops of at least 1"
        )
    params = parameters() if params is None else params
    machine, busy = team.machine, team.cores * team.executors
    cores = team.cores * machine.compute_throughput[team.ways - 1]
    cycles = elements * cycles_an_element(length, params.loop)
    return team.region_s() + cycles / (cores * machine.scalar_clock_Hz(busy))


def cycles_an_element(length: float, own: LoopParameters) -> float:
    """Return the cycles per element in an inner loop of the given length."""
    return max(own.latency, own.throughput + own.start / length)
