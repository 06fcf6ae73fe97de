"""`Team`: resources of the threads of one kernel on a machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import numpy.typing as npt

from simsched.costs.kernels.library import StreamParameters
from simsched.errors import CostError
from simsched.machine import Machine

#: Machine files state bandwidths in bytes that a triad names, 24 per element; 32 move: a store first fetches its line.
MOVED_OVER_NAMED = 4 / 3


@dataclass(frozen=True)
class Team:
    """The threads of one kernel, and the number of teams like it that run concurrently.

    Parameters
    ----------
    machine : Machine
    threads : int
        Threads of the team.
    ways : int
        Threads per core.
    tiles : int, optional
        Tiles whose L2 it uses; as few as hold its cores when not given.
    executors : int
        Teams of this size that run the same concurrently and share the memory.
    pinned : bool
        Whether its threads are pinned.

    Raises
    ------
    CostError
        If the machine has no such team.

    Examples
    --------
    >>> import simsched as ss
    >>> team = Team(ss.machine("knl-7250"), 16, ways=2)
    >>> team.cores, team.used_tiles
    (8, 4)
    """

    machine: Machine
    threads: int
    ways: int = 1
    tiles: int | None = None
    executors: int = 1
    pinned: bool = True

    def __post_init__(self) -> None:
        for name in ("threads", "ways", "executors"):
            if getattr(self, name) < 1:
                raise CostError(f"{name} is {getattr(self, name)}; expected at least 1")
        machine = self.machine
        if self.ways > machine.smt_ways:
            raise CostError(f"{self.ways} threads per core, but {machine} has {machine.smt_ways}")
        if self.cores * self.executors > machine.n_cores:
            raise CostError(
                f"{self.executors} teams of {self.cores} cores do not fit on {machine}, which has {machine.n_cores}"
            )
        if self.tiles is not None and not 1 <= self.tiles <= min(machine.n_tiles, self.cores):
            raise CostError(f"{self.tiles} tiles do not hold {self.cores} cores of {machine}")

    @property
    def cores(self) -> int:
        """Cores of the team."""
        return ceil(self.threads / self.ways)

    @property
    def used_tiles(self) -> int:
        """Tiles with an L2 that the team uses."""
        return ceil(self.cores / self.machine.cores_per_tile) if self.tiles is None else self.tiles

    def limited(self, pieces: int) -> Team:
        """Return the part of the team that has work when there are only so many pieces."""
        if pieces >= self.threads:
            return self
        smaller = replace(self, threads=pieces, tiles=None)
        return smaller if self.tiles is None else replace(smaller, tiles=min(self.tiles, smaller.cores))

    def region_s(self, barriers: float = 1) -> float:
        """Return the seconds of an empty parallel region with some barriers inside; 0 for a single thread."""
        if self.threads == 1:
            return 0.0
        runtime = self.machine.runtime
        fork_join = runtime.fork_join_s + runtime.fork_join_per_thread_s * self.threads
        barrier = runtime.barrier_s + runtime.barrier_per_thread_s * self.threads
        return (fork_join + barriers * barrier) * (1.0 if self.pinned else runtime.unpinned_region)

    def creation_s(self, parameters: StreamParameters) -> float:
        """Return the seconds that creating the team takes."""
        runtime = self.machine.runtime
        machine_s = runtime.team_creation_s + runtime.team_creation_per_thread_s * self.threads
        return parameters.team_creation * machine_s

    @property
    def core_flops(self) -> float:
        """FP32 operations per second that a core sustains in matrix products, at the busy cores' clock."""
        return self.machine.core_flops_at(self.cores * self.executors)

    @property
    def moved_Bps(self) -> float:
        """Bytes per second that the team really moves to and from memory: 4/3 of the machine's stated rate.

        The teams are side by side on the first cores, and as slow as the slowest.
        """
        machine, cores = self.machine, self.cores * self.executors
        reached_Bps = (
            float(machine.reach_Bps[cores])
            if self.ways == 1
            else machine.team_Bps(_threads(machine.n_cores, cores, self.ways))
        )
        return MOVED_OVER_NAMED * reached_Bps / self.executors

    def cached_share(self, named_B: float, parameters: StreamParameters) -> float:
        """Return the share of a working set found in the team's L2s when it is walked repeatedly."""
        if self.machine.l2_B is None or self.machine.l2_bandwidth_Bps is None:
            return 0.0
        overflow = named_B / (self.used_tiles * self.machine.l2_B)
        return 1.0 if overflow <= 1 else float(overflow**-parameters.reuse_falloff)

    def traffic_s(self, named_B: float, moved_B: float, cached_share: float = 0.0) -> float:
        """Return the seconds of bytes, a share of them found in the L2s.

        Parameters
        ----------
        named_B : float
            Bytes that the kernel reads and writes.
        moved_B : float
            Bytes that move where memory holds them: a store may fetch its line first.
        cached_share : float
            Share found in the L2s.
        """
        seconds = (1 - cached_share) * moved_B / self.moved_Bps
        l2 = self.machine.l2_bandwidth_Bps
        return (
            seconds
            if not cached_share or l2 is None
            else seconds + cached_share * named_B / (self.used_tiles * l2)
        )


def _threads(n_cores: int, cores: int, ways: int) -> npt.NDArray[np.int64]:
    """Return the hardware threads of the first `cores` cores, the first `ways` of each."""
    return (np.arange(ways)[:, None] * n_cores + np.arange(cores)).ravel()
