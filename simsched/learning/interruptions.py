"""Time that a host takes from the next run by running something else on its cores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import expm1, log1p, log2, sqrt

import numpy as np

from simsched.learning.rows import Run
from simsched.learning.widths import weighted_median

#: Variance between what programs lose at one time, over that between recordings of one program.
BETWEEN = 2.0
#: Share of a recording's work that must tell of interruptions for it to stand for the host.
KNOWN = 0.5
#: Standard deviation of the logarithm of 1 + the share, where no recording tells.
UNKNOWN = 0.3
#: What counts of the difference between two programs on other numbers of threads: a part of it is chance.
SHRUNK = 0.5

#: log(1 + share lost) of the recordings of a program on a number of threads.
Logs = Mapping[tuple[str, int], Sequence[float]]


def expected(runs: Sequence[Run], program: str, threads: int) -> tuple[float, float]:
    """Return the share of its seconds that the next run loses, and the standard deviation of log(1 + share).

    That is the median of recordings on as many threads, or on the nearest number: one value per program, the program's
    own with a weight of 1 + 2n for n recordings: programs are taken to differ, as in how long they wait for a memory
    that others use, too, by twice the variance of a program's recordings. Hosts do other things at one time than at
    another, and recordings of a program are made at one time. So others count by how alike the host was: where what
    they lost on other numbers of threads differs from this program's by a logarithm d, their weight is
    1 / (1 + (d / 0.3)^2), and half of d moves their value. What is lost is taken to be in proportion to the threads:
    for d, and on fewer threads than recorded. The uncertainty is the scatter of recordings on as many threads, so
    weighted, and grows with each doubling or halving beyond these.

    Examples
    --------
    >>> runs = [Run("lu", threads, 1, 0, 1.0, share, 1e-3) for threads, share in ((1, 0.0), (2, 0.5))]
    >>> [round(expected(runs, "lu", threads)[0], 3) for threads in (1, 8)]
    [0.0, 0.5]
    """
    logs = _logs(runs, program)
    if not logs:
        return 0.0, UNKNOWN
    nearest = min({count for _, count in logs}, key=lambda count: (abs(count - threads), -count))
    values: list[float] = []  # one per program
    weights: list[float] = []
    alike: list[float] = []  # one per recording
    each: list[float] = []
    for (name, count), several in logs.items():
        if count == nearest:
            apart, move = (0.0, 0.0) if name == program else _apart(logs, program, name, nearest)
            weight, moved = 1.0 / (1.0 + (apart / UNKNOWN) ** 2), [log + SHRUNK * move for log in several]
            values.append(float(np.median(moved)))
            weights.append(weight * (1.0 + BETWEEN * len(several) if name == program else 1.0))
            alike += moved
            each += [weight / len(several)] * len(several)
    middle = max(weighted_median(values, weights), 0.0) * min(threads / nearest, 1.0)
    # A scatter of few recordings is itself uncertain: it starts from what is taken where none tells.
    squares = (np.array(alike) - weighted_median(alike, each)) ** 2
    scatter = sqrt(float(np.average(squares, weights=each)) + UNKNOWN**2 / len(alike))
    far = UNKNOWN * (1.0 + abs(log2(threads / nearest))) if nearest != threads else 0.0
    return expm1(middle), max(scatter, far)


def slice_s(runs: Sequence[Run], threads: int) -> float:
    """Return the usual seconds of an interruption: a median by the time lost, so that small ones do not hide long ones.

    It comes from recordings on as many threads, or on the nearest number that shows any: the more threads want the
    cores, the more of them run before it is a thread's turn again.

    Examples
    --------
    >>> slice_s([Run("lu", 2, 1, 0, 0.1, 0.01, 1e-5), Run("lu", 2, 1, 0, 0.1, 0.7, 4e-3)], 2)
    0.004
    """
    told = [(run, run.interrupted * run.makespan_s * run.lanes) for run in runs if run.each_s > 0]
    lost = [(run, lost_s) for run, lost_s in told if lost_s > 0]
    if not lost:
        return 0.0
    nearest = min(abs(run.threads - threads) for run, _ in lost)
    pairs = [(run.each_s, lost_s) for run, lost_s in lost if abs(run.threads - threads) == nearest]
    return weighted_median(*zip(*pairs, strict=True))


def _logs(runs: Sequence[Run], program: str) -> Logs:
    logs: dict[tuple[str, int], list[float]] = defaultdict(list)
    for run in runs:
        if run.known > KNOWN or run.program == program:
            logs[run.program, run.threads].append(log1p(run.interrupted))
    return logs


def _apart(logs: Logs, program: str, other: str, threads: int) -> tuple[float, float]:
    """Return by how much more a program lost than another on other numbers of threads, and what that is on this one."""
    apart = [
        (float(np.median(several) - np.median(logs[other, count])), threads / count)
        for (name, count), several in logs.items()
        if name == program and count != threads and (other, count) in logs
    ]
    if not apart:
        return 0.0, 0.0
    return float(np.median([d for d, _ in apart])), float(np.median([d * more for d, more in apart]))
