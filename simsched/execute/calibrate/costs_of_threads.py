"""Costs of threads by themselves on this host: forking a team, its barrier, waking one that sleeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simsched.costs.fitting import Overheads
from simsched.errors import EngineError
from simsched.execute.kernels.module import module
from simsched.execute.run.prepared import GRACE_S
from simsched.execute.run.threads import cpus_of
from simsched.machine import Machine, machine as machine_of

#: Empty regions of each width, and wake-ups of each thread, that are measured.
ROUNDS, WAKE_UPS = 10_000, 50
#: Seconds that a thread sleeps before it is woken: long enough for its core to rest, too.
ASLEEP_S = 1e-3
TIMEOUT_S = 30.0
#: Most threads whose wake-ups are measured.
MOST_WOKEN = 4


@dataclass(frozen=True)
class Region:
    """Medians of empty regions of one width.

    Parameters
    ----------
    width : int
        Threads.
    fork_s : float
        From the call to the last thread's first instruction.
    join_s : float
        From there until the last thread has been counted.
    """

    width: int
    fork_s: float
    join_s: float


def thread_costs(machine: str | Machine = "host", widths: Iterable[int] | None = None) -> Overheads:
    """Measure the costs of teams without work, and the wake-up time of a sleeping thread.

    Parameters
    ----------
    machine : str or Machine
        `host`, or a variation of it.
    widths : iterable of int, optional
        Of the teams; 2, 4, 8, ... and all hardware threads in use when not given.

    Returns
    -------
    Overheads
        `fork_join_s` and `barrier_s`, plus each thread's part if there are two widths or more; and `wake_up_s`.

    Raises
    ------
    EngineError
        If a width is beyond the hardware threads in use: more threads than CPUs wait for each other, not for the fork.

    Examples
    --------
    >>> from simsched.execute import thread_costs
    >>> thread_costs("host[cores=1]").wake_up_s > 0
    True
    """
    host = machine_of(machine)
    cpus, chosen = cpus_of(host), sorted({1, *(_powers(host.n_threads) if widths is None else widths)})
    if chosen[0] < 1 or chosen[-1] > len(cpus):
        wrong = chosen[0] if chosen[0] < 1 else chosen[-1]
        raise EngineError(f"a team of {wrong} threads; {host} has 1 to {len(cpus)}")
    regions = [_region(cpus[:width]) for width in chosen]
    woken = [_wake_up_s(cpu) for cpu in cpus[:MOST_WOKEN]]
    return overheads_of(regions, float(np.median(woken)))


def overheads_of(regions: Sequence[Region], wake_up_s: float | None = None) -> Overheads:
    """Return the overheads in regions: the extra seconds of wider ones over the first, which has one thread.

    A thread alone is called, looks at the clock and is counted, too; that is part of a decision.
    """
    alone, *teams = regions
    if not teams:
        return Overheads(wake_up_s=wake_up_s)
    widths = [team.width for team in teams]
    fork_s, fork_each_s = _line(widths, [max(team.fork_s - alone.fork_s, 0.0) for team in teams])
    join_s, join_each_s = _line(widths, [max(team.join_s - alone.join_s, 0.0) for team in teams])
    return Overheads(
        fork_join_s=fork_s,
        fork_join_per_thread_s=fork_each_s,
        barrier_s=join_s,
        barrier_per_thread_s=join_each_s,
        wake_up_s=wake_up_s,
    )


def _powers(most: int) -> list[int]:
    return [*(2**k for k in range(1, most.bit_length()) if 2**k < most), most]


def _line(widths: Sequence[int], seconds: Sequence[float]) -> tuple[float, float | None]:
    """Return the fixed cost and the cost per thread, neither below zero; one width gives the sum only."""
    if len(widths) == 1:
        return seconds[0], None
    from scipy.optimize import nnls

    (once, each), _ = nnls(np.stack([np.ones(len(widths)), widths], axis=1), np.array(seconds))
    return float(once), float(each)


def _region(cpus: Sequence[int]) -> Region:
    try:
        crew = module().Crew([[cpu] for cpu in cpus])
        fork_s, join_s = module().region_times(crew, ROUNDS, TIMEOUT_S, GRACE_S)
    except RuntimeError as error:
        raise EngineError(f"a team of {len(cpus)} threads could not be timed: {error}") from error
    return Region(len(cpus), float(np.median(fork_s)), float(np.median(join_s)))


def _wake_up_s(cpu: int) -> float:
    try:
        crew = module().Crew([[cpu]])
        return float(np.median(module().wake_up_times(crew, WAKE_UPS, ASLEEP_S, TIMEOUT_S)))
    except RuntimeError as error:
        raise EngineError(f"a thread on CPU {cpu} could not be woken: {error}") from error
