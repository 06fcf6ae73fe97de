"""`Memory`: the bandwidth of a machine's memory, by cores and by domain, and what the threads of a team reach of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

#: Sharpness of a memory whose machine file states none: the one that meets best what 8 sockets reach between one core
#: and all (SandyBridge, Haswell, Skylake, Cascade Lake, Zen, ThunderX2, A64FX twice); see docs/measured.md.
SHARPNESS = 4.5
#: Seconds of a load from memory where nobody has stated them, on a machine with several domains.
LATENCY_S = 100e-9


@dataclass(frozen=True)
class Memory:
    """One memory of a machine, in the mode in use.

    The bandwidth that w cores reach saturates. It passes through two measured points, b of one core and B of all n,

        reach(w) = (u (w b)^-k + t B^-k)^(-1/k),   u = (1 - (b/B)^k) / (1 - n^-k),   t = (1 - (B/(n b))^k) / (1 - n^-k)

    with the sharpness k between them; min(w b, B) where n cores reach no more than n b, or k is infinite.

    Parameters
    ----------
    name : str
        Name and mode: `MCDRAM, flat, quadrant`.
    core_bandwidth_Bps : float
        Bytes per second that one core alone moves to and from memory.
    bandwidth_Bps : float
        Bytes per second that `cores` cores together move, all domains added up.
    cores : float
        Cores that reach `bandwidth_Bps`, one thread each; infinite where it is a limit that no number of cores passes.
    sharpness : float
        How abruptly the bandwidth saturates; above 0, may be infinite.
    latency_s : float
        Seconds of a load from the core's own domain; 0 where unknown.
    remote_latency_s : float
        Seconds of a load from another domain; at least `latency_s`.
    link_bandwidth_Bps : float
        Bytes per second that leave one domain for all others; infinite where domains do not limit it.
    size_B : float
        Bytes that it holds; infinite where unknown.
    cluster_bandwidth_Bps : float
        Bytes per second of the cores of one cluster (`Structure.cluster_of`) together; infinite where clusters do
        not limit it.
    moved_over_named : float
        Bytes that move over those that a triad names, in which bandwidths are stated: 4/3 where a store first fetches
        its line, 1 where stores fetch nothing.
    assumes_remote : bool
        Whether nobody has stated `remote_latency_s`, which is then the local latency and what a cache line from another
        domain takes longer than one from the same.

    Examples
    --------
    >>> from simsched.machine import Memory
    >>> memory = Memory("DDR4", core_bandwidth_Bps=10e9, bandwidth_Bps=90e9, cores=16)
    >>> (memory.reachable_Bps([1, 8, 16]) / 1e9).round(1).tolist()
    [10.0, 72.6, 90.0]
    """

    name: str
    core_bandwidth_Bps: float
    bandwidth_Bps: float
    cores: float = inf
    sharpness: float = SHARPNESS
    latency_s: float = 0.0
    remote_latency_s: float = 0.0
    link_bandwidth_Bps: float = inf
    size_B: float = inf
    cluster_bandwidth_Bps: float = inf
    moved_over_named: float = 4 / 3
    assumes_remote: bool = False

    def reachable_Bps(self, cores: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the bytes per second that some cores reach together, shape of `cores`.

        Parameters
        ----------
        cores : array_like of float
            Numbers of cores; with several threads per core, as many cores of one thread as do the same.
        """
        return saturated_Bps(cores, self.core_bandwidth_Bps, self.bandwidth_Bps, self.cores, self.sharpness)

    def moving_B(self, named_B: T, fetching_B: T) -> T:
        """Return a kernel's bytes that move, scalar or array: `fetching_B` if stores fetch their lines, else `named_B`.

        Examples
        --------
        >>> import simsched as ss
        >>> [ss.machine(name).memory.moving_B(24.0, 32.0) for name in ("knl-7250", "graviton4")]
        [32.0, 24.0]
        """
        return fetching_B if self.moved_over_named > 1 else named_B

    @property
    def limit_Bps(self) -> float:
        """Limit of bytes per second: `bandwidth_Bps`, or more where its cores do not exhaust the memory.

        Examples
        --------
        >>> from simsched.machine import Memory
        >>> round(Memory("DDR4", 10e9, 90e9, cores=16).limit_Bps / 1e9, 1)
        91.6
        """
        return max(float(self.reachable_Bps(inf)), self.bandwidth_Bps)

    def through(self, core_bandwidth_Bps: float) -> Memory:
        """Return this memory as seen by code that moves only so much on one core: with the same limit.

        Parameters
        ----------
        core_bandwidth_Bps : float
            Bytes per second of that code on one core.
        """
        return replace(self, core_bandwidth_Bps=core_bandwidth_Bps, bandwidth_Bps=self.limit_Bps, cores=inf)

    @property
    def remote_penalty(self) -> float:
        """Seconds of a load from another domain over those of a local load; 1 where unknown."""
        return self.remote_latency_s / self.latency_s if self.latency_s else 1.0


def saturated_Bps(
    cores: npt.ArrayLike, one_Bps: float, all_Bps: float, n: npt.ArrayLike, sharpness: float
) -> npt.NDArray[np.float64]:
    """Return the bytes per second of some cores, where one reaches `one_Bps` and `n` reach `all_Bps`.

    Parameters
    ----------
    cores : array_like of float
    one_Bps, all_Bps : float
    n : array_like of float
        Of the shape of `cores`, or one for all; may be infinite.
    sharpness : float
        See `Memory`.
    """
    w, n, k = np.asarray(cores, np.float64), np.asarray(n, np.float64), sharpness
    steep = np.minimum(w * one_Bps, all_Bps)
    soft = (n > 1) & (n * one_Bps > all_Bps) & (one_Bps < all_Bps)
    if k == inf or not soft.any():
        return steep
    several = np.where(soft, n, 2.0)
    span = 1 - several**-k
    u = (1 - (one_Bps / all_Bps) ** k) / span
    t = np.maximum((1 - (all_Bps / one_Bps / several) ** k) / span, 0.0)
    # The larger power is factored out, so that none overflows.
    z = np.maximum(w * one_Bps / all_Bps, 1e-300)
    low, high = np.minimum(z, 1.0), np.maximum(z, 1.0)
    reached = all_Bps * low * (u * high**-k + t * low**k) ** (-1 / k)
    # The two points are reproduced to the bit.
    reached = np.where(w == 1, one_Bps, np.where(w == n, all_Bps, reached))
    return np.asarray(np.where(soft & (w > 0), reached, steep))


if TYPE_CHECKING:
    from simsched.machine.machine import Machine

Floats = npt.NDArray[np.float64]


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
    reached = saturated_Bps(_running(added, domain), core_Bps, all_Bps, full[domain], sharpness)
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

    One of which only its speed is stated moves as much less. A device has a memory of its own, from which teams of
    cores get nothing; its machine is that of the file's cores. None where all cores are alike in this.
    """
    kinds, memory = machine.kinds, machine.memory
    if kinds is None or (not kinds.bandwidth_ratio and set(kinds.speeds) == {1.0}):
        return ()
    return tuple(
        machine
        if ratio == 1.0 or (kinds.link_Bps and kinds.link_Bps[kind] > 0)
        else replace(
            machine, kinds=None, memory=replace(memory, core_bandwidth_Bps=memory.core_bandwidth_Bps * ratio)
        )
        for kind, ratio in enumerate(kinds.bandwidth_ratio or kinds.speeds)
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
