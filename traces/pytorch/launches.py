"""Calls of a device's runtime on threads of the host: which operators launch work, and when the host waits for it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simsched.traces.pytorch.nesting import Task

_RUNTIME = re.compile(r"(cuda|hip|xpu|mtia|privateuse1)_(runtime|driver)|Runtime")
#: Of CUDA (also with a default stream for each thread), HIP, Level Zero and Unified Runtime.
_BLOCKS = re.compile(
    r"(cuda|hip|cu)(Device|Stream|Event|Ctx)Synchronize(_pt(ds|sz))?"
    r"|(cuda|hip)Mem(cpy|set)(2D|3D)?(WithStream)?(_pt(ds|sz)|_spt)?|(cu|hip)Memcpy[DH]to[DH](_v2)?(_pt(ds|sz))?"
    r"|ze(CommandQueue|(CommandList|Event|Fence)Host)Synchronize|ur(EventWait|QueueFinish)"
)


@lru_cache(1024)
def is_runtime(category: str) -> bool:
    """Return whether events of a category are calls of a device's runtime.

    Examples
    --------
    >>> is_runtime("cuda_runtime"), is_runtime("hip_driver"), is_runtime("cpu_op")
    (True, True, False)
    """
    return _RUNTIME.fullmatch(category) is not None


def blocks(name: str) -> bool:
    """Return whether a call of this name waits for the device.

    Examples
    --------
    >>> blocks("cudaStreamSynchronize"), blocks("cudaLaunchKernel")
    (True, False)
    """
    return _BLOCKS.fullmatch(name) is not None


class HostCalls:
    """Calls of a device's runtime that have a correlation, as columns in file order."""

    def __init__(self) -> None:
        self._starts: dict[int, array[int]] = {}
        self.waits_ns: list[tuple[int, int]] = []

    def add(self, when_ns: tuple[int, int], lane: int, waits: bool) -> None:
        """Add a call by its time, its lane and whether it waits for the device."""
        self._starts.setdefault(lane, array("q")).append(when_ns[0])
        if waits:
            self.waits_ns.append(when_ns)

    def mark(self, tasks: Iterable[Task], lane_numbers: Sequence[int]) -> None:
        """Mark the operators that contain a call: what they took is the host's part of work on a device.

        Parameters
        ----------
        tasks : iterable of Task
            Operators of a step.
        lane_numbers : sequence of int
            Numbers of the step's lanes by the file's lanes.
        """
        starts = {lane: np.sort(np.array(column, np.int64)) for lane, column in self._starts.items()}
        for task in tasks:
            of_lane = starts.get(lane_numbers[task.event.lane])
            if of_lane is not None:
                first, last = np.searchsorted(of_lane, (task.event.start_ns, task.event.finish_ns))
                task.launches = bool(first < last)
