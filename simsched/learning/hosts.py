"""Machines of some cores of a recorded host, which share what slows tasks down; and interruptions of their tasks."""

from __future__ import annotations

import numpy as np

from simsched.errors import LayoutError
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine, machine as machine_of
from simsched.machine.build import built
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
