"""`Memory`: what a machine's memory delivers, by cores and by domain."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Memory:
    """One memory of a machine, in the mode in use.

    The bandwidth that w cores reach saturates: with b of one core, B of all, and sharpness k,

        reach(w) = ((w b)^-k + B^-k)^(-1/k)

    which is w b for few cores and B for many; an infinite sharpness gives min(w b, B).

    Parameters
    ----------
    name : str
        What it is: `MCDRAM, flat, quadrant`.
    core_bandwidth_Bps : float
        Bytes a second that one core alone moves to and from memory.
    bandwidth_Bps : float
        Bytes a second that all cores of the machine together move, all domains added up.
    sharpness : float
        How abruptly the bandwidth saturates; above 0, may be infinite.
    latency_s : float
        Seconds of a load from the core's own domain; 0 where unknown.
    remote_latency_s : float
        Seconds of a load from another domain; at least `latency_s`.
    link_bandwidth_Bps : float
        Bytes a second that leave one domain for all others; infinite where domains do not limit it.
    size_B : float
        Bytes that it holds; infinite where unknown.

    Examples
    --------
    >>> from simsched.machine import Memory
    >>> memory = Memory("DDR4", core_bandwidth_Bps=10e9, bandwidth_Bps=90e9)
    >>> memory.reachable_Bps([1, 8, 16]).tolist()
    [10000000000.0, 80000000000.0, 90000000000.0]
    """

    name: str
    core_bandwidth_Bps: float
    bandwidth_Bps: float
    sharpness: float = inf
    latency_s: float = 0.0
    remote_latency_s: float = 0.0
    link_bandwidth_Bps: float = inf
    size_B: float = inf

    def reachable_Bps(self, cores: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the bytes a second that some cores reach together, shape of `cores`.

        Parameters
        ----------
        cores : array_like of float
            Numbers of cores; with several threads a core, as many cores of one thread as do the same.
        """
        linear, most = np.asarray(cores, np.float64) * self.core_bandwidth_Bps, self.bandwidth_Bps
        if self.sharpness == inf:
            return np.minimum(linear, most)
        # The larger of the two is taken out, so that no power overflows.
        low, high = np.minimum(linear, most), np.maximum(linear, most)
        return low * (1 + (low / high) ** self.sharpness) ** (-1 / self.sharpness)

    @property
    def remote_penalty(self) -> float:
        """Seconds of a load from another domain over those of a load from one's own; 1 where unknown."""
        return self.remote_latency_s / self.latency_s if self.latency_s else 1.0
