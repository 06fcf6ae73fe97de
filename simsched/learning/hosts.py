"""Machines of some cores of a recorded host, which share what slows tasks down, and its interruptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import expm1, log1p, log2, sqrt

import numpy as np

from simsched.errors import LayoutError
from simsched.graph.taskgraph import Seconds
from simsched.learning.rows import Run, weighted_median
from simsched.machine import Machine, machine as machine_of
from simsched.machine.build import built
from simsched.multimap import multimap
from simsched.parameters import is_whole
from simsched.spec import Spec

#: Bandwidth of a core of such a machine, in bytes per second: a unit, as demands are relative to it.
UNIT_BPS = 1e9
#: Least excess of a slow-down that demands are relative to.
LEAST = 0.02


def host(cores: int, excess: float, capacity: float) -> Machine:
    """Return a machine of some cores of a host.

    Parameters
    ----------
    cores : int
        All of one tile, which slows the memory-bound part of tasks down by `1 + excess` beside others.
    excess : float
        Largest slow-down of a kind in company, less 1.
    capacity : float
        Tasks that demand all of a core's bandwidth, at once without further slow-down; infinite for no limit.

    Raises
    ------
    LayoutError
        If there is no such number of cores.

    Examples
    --------
    >>> host(4, 0.2, float("inf")).n_cores
    4
    """
    if not is_whole(cores, 1):
        raise LayoutError(f"cores is {cores!r:.60}; expected a whole number, at least 1")
    said = {"source": "learned from recordings", "confidence": "med"}
    content = machine_of("generic").content
    mode = {
        "title": "what cores share",
        "core_bandwidth": {"value": UNIT_BPS / 1e9, "unit": "GB/s", **said},
        "bandwidth": {"value": float(min(max(capacity, 1.0), cores)), "unit": "GB/s", **said},
    }
    cores_table = {
        "count": {"value": cores, "unit": "core", **said},
        "per_tile": {"value": cores, "unit": "core/tile", **said},
    }
    effects = {"share_tiles": True, "share_bandwidth": bool(np.isfinite(capacity))}
    learned = {
        **content, "name": "learned", "title": "A host that was learned from recordings",
        "cores": content["cores"] | cores_table, "memory": {"mode": "memory", "modes": {"memory": mode}},
        "caches": {"tile_slowdown": {"value": 1.0 + excess, "unit": "", **said}},
        "effects": content["effects"] | effects,
    }  # fmt: skip
    return built(learned, Spec("learned", {}))


def hit(seconds_s: Seconds, each_s: float, share: float, generator: np.random.Generator) -> Seconds:
    """Return a factor for each task: interruptions of `each_s`, a share of all seconds, at random moments.

    The work between two of them is always the same, with the tasks in random order. How much the share itself differs
    between runs, recordings tell: numbers of interruptions that are random, too, would count that twice.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> factors = hit(np.full(80, 1.0), 4.0, 0.5, generator)
    >>> float(factors.sum()), sorted(set(factors.tolist()))
    (120.0, [1.0, 5.0])
    """
    if not each_s or share <= 0:
        return np.ones(len(seconds_s))
    order, counts = generator.permutation(len(seconds_s)), np.empty(len(seconds_s))
    due = np.append(0.0, np.cumsum(seconds_s[order])) * share / each_s
    counts[order] = np.diff(np.floor(due + generator.uniform()))
    factors: Seconds = 1.0 + np.divide(
        counts * each_s, seconds_s, out=np.zeros(len(seconds_s)), where=seconds_s > 0
    )
    return factors


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
    weighted, and grows with each doubling or halving beyond these: by 0.3, or by what these lost and their scatter if
    that is less.

    Examples
    --------
    >>> runs = [Run("lu", threads, 1, 0, 1.0, share, 1e-3) for threads, share in ((1, 0.0), (2, 0.5))]
    >>> [round(expected(runs, "lu", threads)[0], 3) for threads in (1, 8)]
    [0.0, 0.5]
    """
    if not (logs := _logs(runs, program)):
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
    # A host that lost little in many recordings does not begin to lose a multiple of its time.
    doubling = min(UNKNOWN, middle + scatter)
    far = doubling * (1.0 + abs(log2(threads / nearest))) if nearest != threads else 0.0
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
    return multimap(
        ((run.program, run.threads), log1p(run.interrupted))
        for run in runs
        if run.known > KNOWN or run.program == program
    )


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
