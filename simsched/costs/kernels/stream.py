"""Streams, kernels that walk arrays once, such as copy, triad and element-wise ops; and plain loops.

    seconds = region + h named / (tiles x L2 rate) + (1 - h) moved / (f reach(cores))

with h the share of the working set still in the L2s from the last walk, `named` the bytes that the kernel reads and
writes and `moved` those that move. Where a store first fetches its line these are more, and f is 4/3; where stores
fetch nothing, `moved` is `named` and f is 1. See docs/measured.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from simsched.costs.kernels.library import Parameters, parameters
from simsched.costs.kernels.team import Team
from simsched.errors import CostError


@dataclass(frozen=True)
class Stream:
    """A kernel that walks arrays.

    Parameters
    ----------
    elements : float
        Elements of an array; above 0.
    reads, writes : int
        Arrays read and written.
    element_B : float
        Bytes of an element.
    fetches_stores : bool
        Whether a store first fetches its line, on machines whose stores do; not with streaming stores, nor where the
        array is read anyway.
    core_Bps : float, optional
        Bytes (as named) that this code moves on one core alone, where the code and not the memory limits it.

    Examples
    --------
    >>> copy = Stream(1e6, reads=1, writes=1)
    >>> copy.named_B, copy.moved_B
    (16000000.0, 24000000.0)
    """

    elements: float
    reads: int
    writes: int
    element_B: float = 8
    fetches_stores: bool = True
    core_Bps: float | None = None

    def __post_init__(self) -> None:
        if not (self.elements > 0 and self.element_B > 0):
            raise CostError(f"{self.elements} elements of {self.element_B} bytes; expected above 0")
        if self.reads < 0 or self.writes < 0 or self.reads + self.writes == 0:
            raise CostError(f"{self.reads} arrays read and {self.writes} written; expected at least one")
        if self.core_Bps is not None and not self.core_Bps > 0:
            raise CostError(f"core_Bps is {self.core_Bps}; expected above 0")

    @property
    def named_B(self) -> float:
        """Bytes that the kernel reads and writes."""
        return (self.reads + self.writes) * self.elements * self.element_B

    @property
    def moved_B(self) -> float:
        """Bytes that move if memory holds the arrays, on machines whose stores fetch their lines."""
        return self.named_B + (self.writes * self.elements * self.element_B if self.fetches_stores else 0)


def stream_s(
    stream: Stream,
    team: Team,
    *,
    barriers: float = 1,
    calls_a_team: float = 0,
    params: Parameters | None = None,
    resident: bool = True,
) -> float:
    """Return the seconds of one call.

    Parameters
    ----------
    stream : Stream
    team : Team
    barriers : float
        Barriers inside the region.
    calls_a_team : float
        Calls over which the creation of the team is spread; 0 where it existed before.
    params : Parameters, optional
        Those of the default library when not given.
    resident : bool
        Whether data stay in the caches from call to call, where they fit.

    Raises
    ------
    CostError
        If the memory in use does not hold the arrays, or a count is below zero.

    Examples
    --------
    >>> import simsched as ss
    >>> copy = Stream(1e6, reads=1, writes=1)
    >>> f"{stream_s(copy, Team(ss.machine('knl-7250'), 16)) * 1e6:.0f} us"
    '114 us'
    """
    if not (barriers >= 0 and calls_a_team >= 0):
        raise CostError(f"{barriers} barriers and {calls_a_team} calls per team; neither can be below 0")
    params = parameters() if params is None else params
    memory = team.machine.memory
    if stream.named_B > memory.size_B:
        raise CostError(
            f"arrays of {stream.named_B:g} B do not fit {memory.name} of {team.machine}, {memory.size_B:g} B; "
            "take another memory, as in [memory=ddr]"
        )
    share = team.cached_share(stream.named_B, params.stream) if resident else 0.0
    seconds = team.region_s(barriers) + _limited(stream, team).traffic_s(
        stream.named_B, stream.moved_B, share
    )
    return seconds + (team.creation_s(params.stream) / calls_a_team if calls_a_team else 0.0)


def stream_Bps(stream: Stream, team: Team) -> float:
    """Return the bytes per second, as named, of arrays much larger than the caches.

    Examples
    --------
    >>> import simsched as ss
    >>> copy = Stream(1e6, reads=1, writes=1)
    >>> f"{stream_Bps(copy, Team(ss.machine('knl-7250'), 16)) / 1e9:.0f} GB/s"
    '149 GB/s'
    """
    return stream.named_B / _limited(stream, team).traffic_s(stream.named_B, stream.moved_B)


def _limited(stream: Stream, team: Team) -> Team:
    """Return the team on a machine whose cores reach no more bandwidth than the code does."""
    if stream.core_Bps is None:
        return team
    memory = team.machine.memory
    moving_B = memory.moving_B(stream.named_B, stream.moved_B)
    core_Bps = stream.core_Bps * moving_B / stream.named_B / memory.moved_over_named
    return replace(team, machine=replace(team.machine, memory=memory.through(core_Bps)))


def balance(n_pieces: int, threads: int) -> float:
    """Return the share of the threads' time filled by equal pieces."""
    return n_pieces / (ceil(n_pieces / threads) * threads)


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
    cycles = elements * max(params.loop.latency, params.loop.throughput + params.loop.start / length)
    return team.region_s() + cycles / (cores * machine.scalar_clock_Hz(busy))
