"""The columns of a graph's tasks: from the Kineto trace alone, or joined with the execution trace of the same run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.shapes import format_shape
from simsched.traces.pytorch.aten import Call, Dims, flops, shape_attributes
from simsched.traces.pytorch.execution_trace import (
    ELEMENT_NAMES,
    ExecutionTrace,
    composite_flops,
    dims_of,
    read_execution_trace,
)
from simsched.traces.pytorch.nesting import Nesting, Task, order_of_regions
from simsched.traces.pytorch.report import Edges
from simsched.traces.pytorch.tensors import Access, access, dependencies
from simsched.traces.shared.elements import element_of
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Place
from simsched.traces.shared.timeline import chain

_SPELLED = re.compile(r"[0-9]{1,15}(?:,[0-9]{1,15})*", re.ASCII)
#: Share of the tasks that must be found in the execution trace.
LEAST_JOINED = 0.9


@dataclass
class Columns:
    """Columns that the companion adds to the tasks, or that stand in for it.

    Parameters
    ----------
    edges : list of (int, int)
        Task indices, before and after.
    shapes : list of str
        Shapes of the inputs of each task.
    flops, bytes_B : list of float
        Work of each task; NaN where unknown.
    found : Edges
        How the edges came to be.
    """

    edges: list[tuple[int, int]]
    shapes: list[str]
    flops: list[float]
    bytes_B: list[float]
    found: Edges = field(default_factory=Edges)


def alone(path: Path, tasks: list[Task]) -> Columns:
    """Return the columns of a Kineto trace alone: the order of every lane, and shapes where recorded."""
    calls = []
    for task in tasks:
        place = Place(path, f"operator {shown(task.event.name)} (event index {task.event.order})")
        calls.append(_recorded_dims(task.event.dims, place))
    return Columns(
        edges=chain(task.event.lane for task in tasks),
        shapes=[_shape(task, call) for task, call in zip(tasks, calls, strict=True)],
        flops=[
            flops(t.event.name, Call(call, [d for d in call if d]))
            for t, call in zip(tasks, calls, strict=True)
        ],
        bytes_B=[float("nan")] * len(tasks),
    )


def _shape(task: Task, call: list[Dims | None]) -> str:
    """Return the shapes of the inputs as text, with strides and the like where the trace has arguments."""
    shapes, values = [dims for dims in call if dims], task.event.values
    attributes = shape_attributes(task.event.name, values) if shapes and isinstance(values, list) else None
    types = task.event.types if isinstance(task.event.types, list) else []
    operands = ((str(of), len(dims or ())) for of, dims in zip(types, call, strict=False))
    return format_shape(
        shapes, attributes, element_of(task.event.name, operands, ELEMENT_NAMES) if shapes else ""
    )


def _recorded_dims(dims: Any, place: Place) -> list[Dims | None]:
    """Return the shape of each argument; a list of tensors, a number and an absent one alike are None."""
    if dims is None:
        return []
    if isinstance(dims, str):
        # Ascend's profiler: `4,8;8,2`.
        spelled = (part.strip() for part in dims.split(";"))
        return [
            dims_of([int(size) for size in part.split(",")], place) if _SPELLED.fullmatch(part) else None
            for part in spelled
        ]
    arguments = place.array(dims, "Input Dims")
    many = [isinstance(a, list) and bool(a) and isinstance(a[0], list) for a in arguments]
    return [None if inner else dims_of(a, place) or None for a, inner in zip(arguments, many, strict=True)]


def joined(path: Path, et_path: Path, nesting: Nesting) -> Columns:
    """Return the columns of an execution trace; compiled regions keep their recorded order as well.

    Raises
    ------
    FormatError
        If the two files are not of one run.
    """
    tasks = nesting.tasks
    wanted = {task.event.rf_id for task in tasks if task.event.rf_id is not None}
    if not wanted:
        raise FormatError(
            f"{path}: its operators hold no record function ids, so that no execution trace can be joined: the "
            "ExecutionTraceObserver was not active during this step, or PyTorch is older than 2.1; record both in one "
            "run (simsched.traces.recorders.record_pytorch does), or load it without execution_trace="
        )
    trace = read_execution_trace(et_path, wanted)
    inner = trace.within_tasks()
    nodes = [trace.by_rf_id.get(task.event.rf_id or 0) for task in tasks]
    _require_same_run(path, trace, tasks)
    accesses = [Access() if node is None else access(node, inner) for node in nodes]
    found = dependencies(accesses)
    forward = _possible(found.edges, tasks)
    ordered = _possible(order_of_regions(nesting), tasks)
    nan = float("nan")
    columns = Columns(
        edges=list(dict.fromkeys(forward + ordered)),
        shapes=["" if node is None or node.io is None else node.io.shapes for node in nodes],
        flops=[nan if n is None else 0.0 if a.writes_nothing else composite_flops(n, inner)
               for n, a in zip(nodes, accesses, strict=True)],
        bytes_B=[nan if n is None or n.io is None else 0.0 if a.writes_nothing else n.io.traffic(n.name)
                 for n, a in zip(nodes, accesses, strict=True)],
    )  # fmt: skip
    columns.found = Edges(
        found, len(found.edges) - len(forward), sum(n is not None for n in nodes), et_path.name
    )
    return columns


def _possible(edges: list[tuple[int, int]], tasks: list[Task]) -> list[tuple[int, int]]:
    return [(a, b) for a, b in edges if tasks[a].event.finish_ns <= tasks[b].event.start_ns]


def _require_same_run(path: Path, trace: ExecutionTrace, tasks: list[Task]) -> None:
    joined = 0
    for task in tasks:
        if (node := trace.by_rf_id.get(task.event.rf_id or 0)) is None:
            continue
        joined += 1
        if node.name != task.event.name:
            raise FormatError(
                f"{trace.path}: record function id {node.rf_id} is {shown(node.name)} here and "
                f"{shown(task.event.name)} in {path}: the two files are of different runs; pass the execution trace "
                "that was recorded together with this Kineto trace"
            )
    if joined < LEAST_JOINED * len(tasks):
        raise FormatError(
            f"{trace.path}: joins {joined} of the {len(tasks)} operators of {path} ({joined / len(tasks):.0%}; "
            f"{LEAST_JOINED:.0%} are needed): the two files are of different runs, or the observer did not run during "
            "this step; pass the execution trace that was recorded together with it, or choose its step="
        )
