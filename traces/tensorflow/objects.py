"""Outputs of executed nodes as data objects of a run's graph."""

from __future__ import annotations

import math

from simsched.graph.shapes import numel
from simsched.traces.shared.objects import Objects
from simsched.traces.tensorflow.join import RECEIVES, base_name, slot_of
from simsched.traces.tensorflow.records import Joined, Tensor

#: Bytes of one element; a resource is a handle to data of other ops.
ITEMSIZE_B = {
    **dict.fromkeys(["UINT8", "INT8", "BOOL", "QINT8", "QUINT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN"], 1.0),
    **dict.fromkeys(["FLOAT8_E4M3FNUZ", "FLOAT8_E4M3B11FNUZ", "FLOAT8_E5M2FNUZ"], 1.0),
    **dict.fromkeys(["INT16", "UINT16", "HALF", "BFLOAT16", "QINT16", "QUINT16"], 2.0),
    **dict.fromkeys(["FLOAT", "INT32", "UINT32", "QINT32"], 4.0),
    **dict.fromkeys(["DOUBLE", "INT64", "UINT64", "COMPLEX64"], 8.0),
    "COMPLEX128": 16.0,
    "RESOURCE": 0.0,
}


def outputs(run: Joined) -> Objects:
    """Return the outputs of the tasks of a run, by slot, with the tasks that read them; a receive reads its send.

    Parameters
    ----------
    run : Joined
        With its edges.
    """
    found, number = Objects(), dict[tuple[int, int], int]()
    for task, execution in enumerate(run.tasks):
        for slot, tensor in sorted(execution.outputs.items()):
            number[task, slot] = found.add(_size_B(tensor), task)
    slots = [_slots(node.inputs) for node in run.nodes]
    for before, after in sorted(run.edges):
        received = run.nodes[after].op in RECEIVES
        for slot in (0,) if received else slots[after].get(run.nodes[before].name, ()):
            if (before, slot) not in number:
                seen = run.tasks[after].outputs.get(0) if received else None
                number[before, slot] = found.add(_size_B(seen), before)
            found.read(number[before, slot], after)
    return found


def _slots(inputs: tuple[str, ...]) -> dict[str, list[int]]:
    """Return the outputs that a node reads of each other one."""
    slots: dict[str, list[int]] = {}
    for name in inputs:
        if not name.startswith("^"):
            slots.setdefault(base_name(name), []).append(slot_of(name))
    return slots


def _size_B(tensor: Tensor | None) -> float:
    if tensor is None or tensor.dims is None:
        return math.nan
    return float(ITEMSIZE_B.get(tensor.dtype, math.nan) * numel(tensor.dims))
