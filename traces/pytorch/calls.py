"""An execution trace alone: its topmost calls as tasks with shapes, work and dependencies, without times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Mend, plain_name
from simsched.graph.report import UNKNOWN_THREADS
from simsched.traces.pytorch.aten import short
from simsched.traces.pytorch.execution_trace import (
    USER_SCOPE,
    ExecutionTrace,
    Node,
    composite_flops,
    read_execution_trace,
)
from simsched.traces.pytorch.nesting import BACKWARD, is_autograd, is_operator
from simsched.traces.pytorch.report import tell_dependencies
from simsched.traces.pytorch.tensors import Dependencies, access, dependencies
from simsched.traces.shared.libraries import of_pytorch

_PSEUDO = ("[pytorch|profiler|execution_", "__ROOT_", "ProfilerStep#")


@dataclass
class Calls:
    """The topmost operators of an execution trace, in the order in which they started.

    Parameters
    ----------
    tasks : list of Node
        The calls.
    scopes : list of str
        Names of the annotations around each, outermost first, joined by `/`; `backward` first within autograd's.
    flops, bytes_B : list of float
        Work of each; NaN where unknown.
    found : Dependencies
        Edges between indices of tasks.
    task_of : dict of int to int
        Index of the task that each call is or belongs to, by the call's id.
    """

    tasks: list[Node] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)
    flops: list[float] = field(default_factory=list)
    bytes_B: list[float] = field(default_factory=list)
    found: Dependencies = field(default_factory=Dependencies)
    task_of: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Around:
    """Scope and task that a call hands down to those within it."""

    scope: tuple[str, ...] = ()
    task: int | None = None


def topmost(trace: ExecutionTrace) -> Calls:
    """Return the operators of a trace that are in no other operator, with their dependencies through tensors.

    Parameters
    ----------
    trace : ExecutionTrace
        With the tensors of all calls; afterwards it holds those of tasks alone.
    """
    found = Calls()
    around: dict[int, _Around] = {}
    for node in sorted(trace.nodes.values(), key=lambda n: n.id):
        _enter(_with_outer(trace, node, around), around, found)
    found.task_of = {id_: a.task for id_, a in around.items() if a.task is not None}
    kept = {task.id for task in found.tasks}
    for node in list(trace.nodes.values()):
        if node.id not in kept:
            trace.nodes[node.id] = replace(node, io=None)
    _work(found, trace)
    return found


def _with_outer(trace: ExecutionTrace, node: Node, around: dict[int, _Around]) -> list[Node]:
    """Return a call with the new calls around it, outermost first; cycles are cut."""
    path, seen = [], set()
    top: Node | None = node
    while top is not None and top.id not in around and top.id not in seen:
        seen.add(top.id)
        path.append(top)
        top = trace.nodes.get(top.parent)
    return path[::-1]


def _enter(path: list[Node], around: dict[int, _Around], found: Calls) -> None:
    for node in path:
        outer = around.get(node.parent, _Around())
        scope, task = outer.scope, outer.task
        if task is None and is_operator(node.name):
            task = len(found.tasks)
            found.tasks.append(node)
            found.scopes.append("/".join(scope))
        elif task is None and is_autograd(node.name) and BACKWARD not in scope[:1]:
            scope = (BACKWARD, *scope)
        elif node.scope == USER_SCOPE and node.name and not node.name.startswith(_PSEUDO):
            scope = (*scope, node.name)
        around[node.id] = _Around(scope, task)


def _work(found: Calls, trace: ExecutionTrace) -> None:
    inner = trace.within_tasks()
    accesses = [access(task, inner) for task in found.tasks]
    found.found = dependencies(accesses)
    for task, it in zip(found.tasks, accesses, strict=True):
        found.flops.append(0.0 if it.writes_nothing else composite_flops(task, inner))
        traffic = task.io.traffic(task.name) if task.io else float("nan")
        found.bytes_B.append(0.0 if it.writes_nothing else traffic)


def untimed(path: Path, width: int | None, report: ImportReport, mend: Mend | None) -> TaskGraph:
    """Return the graph of an execution trace; the seconds of its tasks are unknown.

    Parameters
    ----------
    path : Path
        The execution trace, plain or gzipped.
    width : int or None
        Threads of each operator; None where unknown.
    report : ImportReport
        Continued.
    mend : callable or None
        If given, what is complete of a file that is cut off is read, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If the file is damaged, or has no operators.
    """
    trace = read_execution_trace(path, None, mend)
    calls = topmost(trace)
    if not calls.tasks:
        raise FormatError(
            f"{path}: no operator among its {len(trace.nodes)} calls; they are annotations only"
        )
    report.facts.update(
        calls=len(trace.nodes),
        calls_in_tasks=len(calls.task_of),
        recorded_threads=len({task.tid for task in calls.tasks}),
    )
    tell_dependencies(report, calls.found)
    of_pytorch(report, (node.name for node in trace.nodes.values()))
    report.note(
        "an execution trace alone holds no times: the tasks have shapes, work and dependencies, their seconds are "
        "unknown and must come from costs (costs=...); for recorded ones load the Kineto trace of the same run with "
        f"execution_trace={path.name!r}"
    )
    report.note(UNKNOWN_THREADS, when=width is None)
    graph = TaskGraph.from_edges(
        np.full(len(calls.tasks), np.nan),
        calls.found.edges,
        kinds=[short(task.name) for task in calls.tasks],
        names=[f"{short(task.name)}#{task.rf_id or f'call{task.id}'}" for task in calls.tasks],
        shapes=[task.io.shapes if task.io else "" for task in calls.tasks],
        scopes=calls.scopes,
        flops=calls.flops,
        bytes_B=calls.bytes_B,
        widths=width or 1,
        name=plain_name(path, ".json", ".et"),
        report=report,
    )
    return calls.found.objects.on(graph)
