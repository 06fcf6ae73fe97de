"""What a host takes from the next run by running something else on its cores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import expm1, log1p, log2, sqrt

import numpy as np

from simsched.learning.rows import Run
from simsched.learning.widths import weighted_median

#: Weight of a program's own recordings among those of the host.
OWN = 3.0
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

    That is the median of recordings on as many threads, or on the nearest number: one value per program, and the
    program's own recordings with a weight of 3 each. Hosts do other things at one time than at another, and recordings
    of a program are made at one time: values of other programs are moved by half of the difference that this program's
    recordings on other numbers of threads have to theirs. On fewer threads than recorded it is less in proportion. The
    uncertainty is the scatter of recordings on as many threads, and grows with each doubling or halving beyond these.

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
    values, weights = [], []
    for (name, count), several in logs.items():
        if count == nearest:
            own = name == program
            values.append(float(np.median(several)) + (0.0 if own else _moved(logs, program, name, nearest)))
            weights.append(OWN * len(several) if own else 1.0)
    middle = max(weighted_median(values, weights), 0.0) * min(threads / nearest, 1.0)
    alike = [value for (_, count), several in logs.items() if count == nearest for value in several]
    # A scatter of few recordings is itself uncertain: it starts from what is taken where none tells.
    scatter = sqrt((float(np.sum((np.array(alike) - np.median(alike)) ** 2)) + UNKNOWN**2) / len(alike))
    far = UNKNOWN * (1.0 + abs(log2(threads / nearest))) if nearest != threads else 0.0
    return expm1(middle), max(scatter, far)


def _logs(runs: Sequence[Run], program: str) -> Logs:
    logs: dict[tuple[str, int], list[float]] = defaultdict(list)
    for run in runs:
        if run.known > KNOWN or run.program == program:
            logs[run.program, run.threads].append(log1p(run.interrupted))
    return logs


def _moved(logs: Logs, program: str, other: str, threads: int) -> float:
    apart = [
        float(np.median(several) - np.median(logs[other, count]))
        for (name, count), several in logs.items()
        if name == program and count != threads and (other, count) in logs
    ]
    return SHRUNK * float(np.median(apart)) if apart else 0.0
