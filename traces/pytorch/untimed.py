"""The graph of an execution trace alone: kinds, shapes, work and dependencies, no seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Mend
from simsched.traces.pytorch.aten import short
from simsched.traces.pytorch.calls import topmost
from simsched.traces.pytorch.execution_trace import read_execution_trace
from simsched.traces.pytorch.report import tell_dependencies
from simsched.traces.shared.libraries import of_pytorch


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
        If given, what is complete of a file that is cut off is read, and `mend` is told so.

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
    report.facts["calls"] = len(trace.nodes)
    report.facts["calls_in_tasks"] = len(calls.task_of)
    report.facts["recorded_threads"] = len({task.tid for task in calls.tasks})
    tell_dependencies(report, calls.found)
    of_pytorch(report, (node.name for node in trace.nodes.values()))
    report.note(
        "an execution trace alone holds no times: the tasks have shapes, work and dependencies, their seconds are "
        "unknown and must come from costs (costs=...); for recorded ones load the Kineto trace of the same run with "
        f"execution_trace={path.name!r}"
    )
    if width is None:
        report.note("threads of an operator are unknown and taken as 1; tell with threads=")
    return TaskGraph.from_edges(
        np.full(len(calls.tasks), np.nan),
        calls.found.edges,
        kinds=[short(task.name) for task in calls.tasks],
        names=[f"{short(task.name)}#{task.rf_id or f'call{task.id}'}" for task in calls.tasks],
        shapes=[task.io.shapes if task.io else "" for task in calls.tasks],
        scopes=calls.scopes,
        flops=calls.flops,
        bytes_B=calls.bytes_B,
        widths=width or 1,
        name=path.name.removesuffix(".gz").removesuffix(".json").removesuffix(".et"),
        report=report,
    )
