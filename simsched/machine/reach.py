"""Bandwidth that the threads of one team reach together, by their cores."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.machine.memory import saturated_Bps

if TYPE_CHECKING:
    from simsched.machine.machine import Machine

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def team_reach_Bps(machine: Machine, threads: npt.ArrayLike) -> Floats:
    """Return the bytes per second that the first 1, 2, ... of some hardware threads reach as one team.

    A team divides its work evenly and is done when its last thread is, so that the most crowded memory decides: with
    e_d of the team's cores on domain d, which gives its own c_d cores B/D where all of them are busy,

        reach = W min over d of reach_d(e_d) / (e_d g_d),   W = sum over d of e_d g_d,   g_d = (B/D) / c_d

    and likewise over the clusters, where they have a limit. On one domain that is reach_d; from the first full domain
    of equal ones on, each further core adds as much as a core of the full one has.

    Parameters
    ----------
    machine : Machine
    threads : array_like of int, shape (n,)
        Numbers of hardware threads, each at most once.

    Returns
    -------
    float64 array, shape (n,)
    """
    number = np.asarray(threads, np.int64)
    way, core = np.divmod(number, machine.n_cores)
    memory, structure = machine.memory, machine.structure
    core_Bps, sharpness = memory.core_bandwidth_Bps, memory.sharpness
    throughput = np.diff([0.0, *machine.memory_throughput])
    # A core's second way counts as its addition to the first.
    added = throughput[np.minimum(way, len(throughput) - 1)]
    domain = structure.domain_of[core]
    sizes = np.bincount(structure.domain_of).astype(np.float64)
    share = (sizes.mean() / sizes)[domain] if np.ptp(sizes) else np.ones(len(number))
    weight = np.cumsum(added * share)
    full = sizes * memory.cores / machine.n_cores
    all_Bps = memory.bandwidth_Bps / machine.n_domains
    within = _running(added, domain)
    reached = saturated_Bps(within, core_Bps, all_Bps, full[domain], sharpness)
    total = _slowest(reached, _running(added * share, domain), weight)
    if memory.cluster_bandwidth_Bps == inf:
        return total
    cluster = structure.cluster_of[core]
    clusters = np.bincount(structure.cluster_of).astype(np.float64)
    limit_Bps = memory.cluster_bandwidth_Bps
    through = saturated_Bps(_running(added, cluster), core_Bps, limit_Bps, clusters[cluster], sharpness)
    through = np.minimum(through, limit_Bps)
    return np.minimum(total, _slowest(through, _running(added * share, cluster), weight))


def of_kinds(machine: Machine) -> tuple[Machine, ...]:
    """Return a machine of the cores of each kind: the same memories, of which one core moves what its kind states.

    A device has a memory of its own, from which teams of cores get nothing; its machine is that of the file's cores.
    """
    kinds, memory = machine.kinds, machine.memory
    if kinds is None or not kinds.bandwidth_ratio:
        return ()
    return tuple(
        machine
        if ratio == 1.0 or kinds.link_Bps[kind] > 0
        else replace(
            machine, kinds=None, memory=replace(memory, core_bandwidth_Bps=memory.core_bandwidth_Bps * ratio)
        )
        for kind, ratio in enumerate(kinds.bandwidth_ratio)
    )


def _running(added: Floats, group: npt.NDArray[np.integer]) -> Floats:
    """Return, for each thread, the sum over it and the previous threads of its group."""
    order = np.argsort(group, kind="stable")
    total = np.cumsum(added[order])
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    before = np.concatenate([[0.0], total])[begins]
    lengths = np.diff([*begins.tolist(), len(group)])
    result = np.empty(len(group))
    result[order] = total - np.repeat(before, lengths)
    return result


def _slowest(reached: Floats, own: Floats, weight: Floats) -> Floats:
    """Return the total at the pace of the slowest group so far; of equals the last, to avoid rounding."""
    pace = reached / own
    slowest = np.minimum.accumulate(pace)
    last = np.maximum.accumulate(np.where(pace <= slowest * (1 + 1e-12), np.arange(len(pace)), 0))
    return np.asarray(reached[last] * (weight / own[last]))
