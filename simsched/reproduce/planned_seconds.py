"""Seconds of convolutions and matrix products as swTVM plans them, on teams of any width of a core group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.costs.fitting.points import Op
from simsched.costs.width_table import WidthTable
from simsched.errors import CostError
from simsched.graph.shapes import parse_shape
from simsched.reproduce.one_core_seconds import convolution_of, ops_of

if TYPE_CHECKING:
    from simsched.graph import TaskGraph
    from simsched.graph.taskgraph import Seconds
    from simsched.machine import Machine


#: Threads that ask for the same plans wait for them, and do not make them twice.
_PLANNING = Lock()


@dataclass(frozen=True)
class PlannedSeconds:
    """Each convolution and product takes what its plan for as many CPEs says; all else keeps cost curves.

    Plans are for 1, 2, 4, ... CPEs; a team between takes the plan of fewer. As in
    `CostModel(measured=PlannedSeconds())`, for machines with an `[ldm]` table.
    """

    def on(self, graph: TaskGraph, machine: Machine) -> tuple[WidthTable, tuple[str, ...]]:
        """Return the table of a graph's convolutions and products on a machine, and a sentence.

        Raises
        ------
        CostError
            If the machine has no local memories to plan, or a convolution is of another form than planned.
        """
        if "ldm" not in machine.tables:
            raise CostError(f"{machine} has no [ldm] table, so no local memories to plan; take sw26010")
        known: dict[Op, int] = {}
        rows = np.array(
            [known.setdefault(op, len(known)) if op.kind in _NESTS else -1 for op in ops_of(graph)], np.int32
        )
        with _PLANNING:
            seconds = np.stack([_by_width(op, machine) for op in known]) if known else np.zeros((0, 2))
        note = f"planned: {int((rows >= 0).sum())} convolutions and products of {len(known)} shapes"
        return WidthTable(rows, seconds, np.zeros(len(known))), (note,)

    def drawn(self, generator: np.random.Generator) -> PlannedSeconds:
        """Return itself: what is uncertain of it are the machine's numbers."""
        return self


@cache
def _by_width(op: Op, machine: Machine) -> Seconds:
    """Return the seconds on 0, 1, 2, ... CPEs, as a row of a `WidthTable`."""
    most = int(machine.tables["ldm"].core_group().cpes)
    planned = [*(2**i for i in range(most.bit_length()) if 2**i < most), most]
    seconds = np.zeros(most + 1)
    for here, beyond in pairwise([*planned, most + 1]):
        group = _cpes(machine, here)
        seconds[here:beyond] = group.costings()["planned"](_NESTS[op.kind](op, group))
    return seconds


def _cpes(machine: Machine, cpes: int) -> Any:
    """Return the table of a core group of fewer CPEs, whole rows of its mesh or a part of one."""
    columns = int(machine.tables["ldm"].core_group().mesh_columns)
    return machine.varied({"ldm.cpes": cpes, "ldm.mesh_columns": min(cpes, columns)}).tables["ldm"]


def _convolution(op: Op, ldm: Any) -> Any:
    found = convolution_of(op)
    if len(set(found.stride)) > 1 or len(set(found.padding)) > 1:
        raise CostError(f"{op.kind} of {op.shape}: plans are for one stride and one padding both ways")
    return ldm.operation(
        "convolution",
        batch=found.batch,
        channels=found.channels,
        filters=found.filters,
        size=(found.height, found.width),
        kernel=(found.filter_height, found.filter_width),
        stride=found.stride[0],
        padding=found.padding[0],
    )


def _product(op: Op, ldm: Any) -> Any:
    (m, k), (_, n) = parse_shape(op.shape)
    return ldm.operation("matmul", m=m, n=n, k=k)


_NESTS = {"Conv2D": _convolution, "MatMul": _product}
