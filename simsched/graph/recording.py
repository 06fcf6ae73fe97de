"""What a recorded run tells beside the graph: the machine, and when and where each task ran."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RecordedOn:
    """The machine that recorded the durations, as far as it is known.

    Parameters
    ----------
    name : str
        Processor model.
    core_flops : float or None
        Floating-point operations a second that one core reached in a matrix product (FP32).
    core_bandwidth_Bps : float or None
        Bytes a second that one core reached in a copy.
    """

    name: str
    core_flops: float | None = None
    core_bandwidth_Bps: float | None = None


@dataclass(frozen=True, eq=False)
class Recording:
    """When and where each task really ran.

    Parameters
    ----------
    start_s, finish_s : float64 arrays, shape (n,)
        Seconds from the first start.
    lanes : int32 array, shape (n,)
        The worker or thread that ran each task, numbered from 0.
    lane_names : tuple of str
        What the recording calls them.
    """

    start_s: Seconds
    finish_s: Seconds
    lanes: npt.NDArray[np.int32]
    lane_names: tuple[str, ...]
