"""`Team`: resources of the threads of one kernel on a machine; `Work`: one parallel region, as equal pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from simsched.costs.kernels.library import StreamParameters
from simsched.errors import CostError
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine


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
        """Bytes per second that the team really moves to and from memory.

        That is 4/3 of the machine's stated rate, or the rate where stores fetch nothing. The teams are side by side on
        the first cores, and as slow as the slowest.
        """
        machine, cores = self.machine, self.cores * self.executors
        reached_Bps = (
            float(machine.reach_Bps[cores])
            if self.ways == 1
            else machine.team_Bps(
                (np.arange(self.ways)[:, None] * machine.n_cores + np.arange(cores)).ravel()
            )
        )
        return machine.memory.moved_over_named * reached_Bps / self.executors

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
            Bytes that move where memory holds them and a store fetches its line first.
        cached_share : float
            Share found in the L2s.
        """
        moving_B = self.machine.memory.moving_B(named_B, moved_B)
        seconds = (1 - cached_share) * moving_B / self.moved_Bps
        l2 = self.machine.l2_bandwidth_Bps
        return (
            seconds
            if not cached_share or l2 is None
            else seconds + cached_share * named_B / (self.used_tiles * l2)
        )


class Work(NamedTuple):
    """Work of one parallel region.

    Parameters
    ----------
    pieces : float
        Equal pieces that it divides into, at least 1; threads beyond them do nothing.
    flops : float
        Operations, as many as take as long at the machine's sustained rate.
    named_B : float
        Bytes that it reads and writes.
    moved_B : float
        Bytes that move where memory holds them and a store first fetches its line.
    barriers : float
        Barriers inside the region.
    overlaps : bool
        Whether operations and transfers overlap, with the longer setting the pace; else they run in sequence.
    uneven : bool
        Whether the busiest thread's bytes set the pace, as where each walks its own part of the arrays.
    """

    pieces: float
    flops: float
    named_B: float
    moved_B: float
    barriers: float = 0.0
    overlaps: bool = False
    uneven: bool = False


def team_s(work: Work, team: Team, cached_share: float = 0.0) -> float:
    """Return the seconds of a region on a team, a share of its bytes found in the L2s.

    Examples
    --------
    >>> import simsched as ss
    >>> team_s(Work(1, 2e9, 0, 0), Team(ss.machine("generic[cores=4]"), 2)) == 2e9 / ss.machine("generic").core_flops
    True
    """
    team = team.limited(int(min(work.pieces, team.threads)))
    busiest = -(-work.pieces // team.threads) / work.pieces
    compute_s = work.flops * busiest / team.core_flops
    longer = busiest * team.threads if work.uneven else 1.0
    traffic_s = team.traffic_s(work.named_B, work.moved_B, cached_share) * longer
    both_s = max(compute_s, traffic_s) if work.overlaps else compute_s + traffic_s
    return team.region_s(work.barriers) + both_s


def widths_s(works: Sequence[Work], machine: Machine) -> Seconds:
    """Return the seconds of regions on teams of 0, 1, ... threads of a machine, all bytes from memory.

    Parameters
    ----------
    works : sequence of Work
    machine : Machine

    Returns
    -------
    float64 array, shape (regions, threads of the machine + 1)
        Column 0 is zero. How threads of one core slow each other down is not in it: replays account for that. Cores
        run at the clock of all of the machine's, since others may be busy.

    Examples
    --------
    >>> import simsched as ss
    >>> seconds = widths_s([Work(2, 1e9, 0, 0)], ss.machine("generic[cores=4]"))
    >>> seconds.shape, bool(seconds[0, 2] < seconds[0, 1])
    ((1, 5), True)
    """
    columns, memory = np.array(works, np.float64).reshape(-1, len(Work._fields)).T[:, :, None], machine.memory
    pieces, flops, named_B, moved_B, barriers, overlaps, uneven = columns
    threads = np.minimum(np.arange(1.0, machine.n_threads + 1), pieces)
    busiest = np.ceil(pieces / threads) / pieces
    compute_s = flops * busiest / machine.core_flops_at()
    moved_Bps = memory.moved_over_named * machine.reach_Bps[threads.astype(np.int64)]
    traffic_s = memory.moving_B(named_B, moved_B) / moved_Bps * np.where(uneven > 0, busiest * threads, 1.0)
    both_s = np.where(overlaps > 0, np.maximum(compute_s, traffic_s), compute_s + traffic_s)
    runtime = machine.runtime
    region_s = runtime.fork_join_s + runtime.fork_join_per_thread_s * threads
    region_s = region_s + barriers * (runtime.barrier_s + runtime.barrier_per_thread_s * threads)
    seconds = np.where(threads > 1, region_s, 0.0) + both_s
    return np.concatenate([np.zeros((len(works), 1)), seconds], axis=1)
