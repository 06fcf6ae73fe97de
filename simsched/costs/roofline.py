"""The roofline: a task takes as long as its operations or its bytes, whichever is longer.

References
----------
Roofline: an insightful visual performance model for multicore
architectures. Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simsched.graph import TaskGraph
    from simsched.graph.taskgraph import Seconds


def one_core_roofline_s(graph: TaskGraph, core_flops: float, core_bandwidth_Bps: float) -> Seconds:
    """Return the roofline seconds of each task on one core; NaN where neither FLOPs nor bytes are known.

    Parameters
    ----------
    graph : TaskGraph
    core_flops : float
        Operations a second.
    core_bandwidth_Bps : float
        Bytes a second.
    """
    return np.fmax(graph.flops / core_flops, graph.bytes_B / core_bandwidth_Bps)
