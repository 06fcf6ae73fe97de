"""Which kinds of cores cannot run a task (docs/semantics.md, rule 11)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simsched.graph import TaskGraph
from simsched.graph.recording import on_device
from simsched.machine import Machine


def never_on(graph: TaskGraph, machine: Machine) -> npt.NDArray[np.bool_] | None:
    """Return which kinds of cores cannot run each task of a graph, shape (n, kinds); None where all can run all.

    These are the kinds on which the graph gives `inf` seconds. Where it gives none by kind, tasks that were recorded on
    a device run on the machine's devices alone, if it has some, and all others on its other cores.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], kinds=["device::gemm", "gemm"])
    >>> never_on(graph, ss.machine("grace-hopper")).tolist(), never_on(graph, ss.machine("grace"))
    ([[True, False], [False, True]], None)
    """
    if (kinds := machine.kinds) is None:
        return None
    never = np.zeros((graph.n_tasks, len(kinds.names)), np.bool_)
    if graph.seconds_by_kind is not None:
        never = np.isinf(graph.seconds_by_kind)
    elif machine.is_device.any() and not machine.is_device.all() and (device := on_device(graph)).any():
        never = device[:, None] != (np.array(kinds.link_Bps) > 0)
    return never if never.any() else None
