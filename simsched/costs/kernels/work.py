"""`Work`: one parallel region of a kernel, as equal pieces of operations and bytes, and its seconds by width.

    seconds = region + operations of the busiest thread / rate + bytes / bandwidth of the threads that work

where operations and bytes that overlap count as the longer of the two. All kernels of the kernel model are such
regions, so that a table of widths takes a few operations on arrays (docs/costs.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simsched.costs.kernels.team import MOVED_OVER_NAMED, Team
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine


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
        Bytes that move where memory holds them: a store may first fetch its line.
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
    columns = np.array(works, np.float64).reshape(-1, len(Work._fields)).T[:, :, None]
    pieces, flops, _, moved_B, barriers, overlaps, uneven = columns
    threads = np.minimum(np.arange(1.0, machine.n_threads + 1), pieces)
    busiest = np.ceil(pieces / threads) / pieces
    compute_s = flops * busiest / machine.core_flops_at()
    moved_Bps = MOVED_OVER_NAMED * machine.reach_Bps[threads.astype(np.int64)]
    traffic_s = moved_B / moved_Bps * np.where(uneven > 0, busiest * threads, 1.0)
    both_s = np.where(overlaps > 0, np.maximum(compute_s, traffic_s), compute_s + traffic_s)
    runtime = machine.runtime
    region_s = runtime.fork_join_s + runtime.fork_join_per_thread_s * threads
    region_s = region_s + barriers * (runtime.barrier_s + runtime.barrier_per_thread_s * threads)
    seconds = np.where(threads > 1, region_s, 0.0) + both_s
    return np.concatenate([np.zeros((len(works), 1)), seconds], axis=1)
