"""PyTorch: a Kineto trace, joined with the execution trace of the same run.

Tasks are the top-level operators of one training step: those that no other operator contains. Annotations
(`record_function`) and autograd's wrappers are not operators: the topmost operators under them are the tasks. A task's
seconds include everything within it. The rest of the step is Python, autograd and the cost of tracing, and is
reported as lost.

Kineto knows the times and no dependencies; the execution trace knows which tensors every call read and wrote and no
times. The record function id joins them, and `simsched.traces.pytorch.tensors` draws the edges. A Kineto trace alone
gives the recorded order of every thread as a chain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, RecordedOn, TaskGraph
from simsched.graph.loading import Mend, Reader, head_of, plain_name
from simsched.graph.report import UNKNOWN_THREADS
from simsched.traces.pytorch.aten import short
from simsched.traces.pytorch.calls import untimed
from simsched.traces.pytorch.devices import with_devices
from simsched.traces.pytorch.events import Step, Window
from simsched.traces.pytorch.join import Columns, alone, joined
from simsched.traces.pytorch.kineto import Survey, survey
from simsched.traces.pytorch.nesting import Nesting, Task, nest
from simsched.traces.pytorch.report import fill_report, tell_step
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import of_pytorch
from simsched.traces.shared.options import TOLERANT, flag, given, mends_if, whole_number
from simsched.traces.shared.places import MAX_INTEGER, Place
from simsched.traces.shared.timeline import recording

#: First lines of an object with events, and of a bare list of events.
_MARKS = (b'"Operator"', b'"baseTimeNanoseconds"', b'"deviceProperties"')
_MARKS_OF_LISTS = (b'"cpu_op"', b"ProfilerStep#", b"PyTorch Profiler", b'"cuda_runtime"')
MAX_THREADS = 2**16
_EXECUTION_TRACE_MARKS = (b'"rf_id"', b'"op_schema"', b"[pytorch|profiler|execution_")


def _recognises(head: bytes) -> bool:
    """Return whether a file is a Kineto trace, or an execution trace given in its place."""
    begin = head.lstrip()[:1]
    if begin == b"[":
        return any(mark in head for mark in _MARKS_OF_LISTS)
    if begin != b"{":
        return False
    if _is_execution_trace(head):
        return True
    # VizTracer's files have the time base of Kineto's in their metadata.
    events = b'"traceEvents"' in head or b'"schemaVersion"' in head
    return (
        events
        and b'"viztracer_metadata"' not in head
        and any(mark in head for mark in (*_MARKS, *_MARKS_OF_LISTS))
    )


def _read(
    path: Path,
    *,
    execution_trace: str | Path | None = None,
    step: int | str | None = None,
    threads: int | str | None = None,
    devices: bool | str = False,
    tolerant: bool | str = False,
) -> TaskGraph:
    """Return the graph of one step.

    Parameters
    ----------
    path : Path
        The Kineto trace, plain or gzipped; or an execution trace, for a graph without seconds.
    execution_trace : str or Path, optional
        The execution trace of the same run, plain or gzipped.
    step : int or str, optional
        Number of the ProfilerStep, or its digits; the last complete one when not given.
    threads : int or str, optional
        Threads that ran each operator (`torch.get_num_threads()`), or their digits, which PyTorch does not write
        down; by default the number noted by simsched's recorder, else 1.
    devices : bool or str, optional
        Whether the activity of devices is tasks, too; operators are then cut where they launched it.
    tolerant : bool or str, optional
        Whether to read the complete part of a file that is cut off or not quite valid.

    Raises
    ------
    FormatError
        If a file is damaged, there is no such step, or the two files belong to different runs.
    GraphError
        If launches and waits of devices contradict each other.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.traces.samples import sample_files
    >>> kineto, execution_trace = sample_files("cnn")
    >>> graph = ss.load(kineto, execution_trace=execution_trace)
    >>> graph.report.format, graph.n_tasks, round(graph.recorded.makespan_s, 3)
    ('pytorch', 164, 0.132)
    """
    report = ImportReport(path.name, "pytorch")
    mend, on_devices = mends_if(path, tolerant, report), flag(path, "devices", devices)
    asked = None
    if threads is not None:
        asked = whole_number(path, "threads", threads, range(1, MAX_THREADS + 1), f"1 to {MAX_THREADS}")
    if on_devices and execution_trace is not None:
        raise FormatError(f"{path}: devices=true takes the Kineto trace alone; leave execution_trace= out")
    if _is_execution_trace(head_of(path)):
        _require_alone(path, execution_trace, step)
        return untimed(path, asked, report, mend)
    return _timed(path, execution_trace, step, asked, report, mend, devices=on_devices)


PYTORCH = Reader(
    title="PyTorch: Kineto trace, joined with the execution trace of the same run",
    dependencies="from the tensors of the execution trace (without it a chain a thread)",
    times="Kineto trace, ns",
    options={
        "execution_trace": "file of ExecutionTraceObserver from the same run; without it, a chain per thread",
        "step": "number of the ProfilerStep to take; the last complete one when not given",
        "threads": "intra-op threads of the run; what the recorder noted, else 1, when not given",
        "devices": "true to take what ran on devices as tasks, too: kernels on streams, after their launches",
        "tolerant": TOLERANT,
    },
    recognises=_recognises,
    read=_read,
)


def _timed(
    path: Path,
    execution_trace: str | Path | None,
    step: int | str | None,
    threads: int | None,
    report: ImportReport,
    mend: Mend | None,
    *,
    devices: bool,
) -> TaskGraph:
    """Return the graph of one step of a Kineto trace."""
    companion = None
    if execution_trace is not None:
        companion = given(path, "execution_trace", execution_trace, "the execution trace of the same run")
    held = survey(path, mend, devices)
    width = threads or _noted_threads(held.metadata, Place(path, "simsched"))
    events = held.table.step(Place(path, "step"), _chosen(path, held, step))
    nesting = nest(events.events)
    held.calls.mark(nesting.tasks, events.lane_numbers)
    of_pytorch(report, (event.name for event in events.events))
    if not nesting.tasks and not held.streams.within(events.window).kernels:
        raise FormatError(f"{path}: no operator in the step; its events are wrappers and annotations only")
    _require_distinct(path, nesting.tasks)
    if held.streams.kernels:
        graph = with_devices(path, held, events, nesting, width or 1, report)
        tell_step(graph, held, events, nesting)
    else:
        columns = alone(path, nesting.tasks) if companion is None else joined(path, companion, nesting)
        graph = _graph(path, held, events, nesting, columns, width or 1, report)
    report.note(
        "devices=true found no kernel, copy or fill of a category that is known; the host's operators are all",
        when=devices and not held.streams.kernels,
    )
    report.note(UNKNOWN_THREADS, when=width is None)
    return graph


def _is_execution_trace(head: bytes) -> bool:
    return (
        b'"nodes"' in head
        and b'"traceEvents"' not in head
        and b'"inclusive_dur"' not in head
        and any(mark in head for mark in _EXECUTION_TRACE_MARKS)
    )


def _require_alone(path: Path, execution_trace: object, step: object) -> None:
    if execution_trace is not None:
        raise FormatError(
            f"{path}: this is an execution trace itself, which holds no times; load the Kineto trace of the same run "
            f"and pass this file as execution_trace={path.name!r}"
        )
    if step is not None:
        raise FormatError(f"{path}: an execution trace marks no steps; leave step= out")


def _chosen(path: Path, held: Survey, step: int | str | None) -> Window | None:
    complete = held.complete_steps()
    if step is None:
        return held.windows[complete[-1]] if complete else None
    number = whole_number(path, "step", step, range(MAX_INTEGER), "the number of a ProfilerStep")
    if number not in complete:
        there = ", ".join(map(str, complete[:20])) or "none; leave step= out to take the whole file"
        raise FormatError(f"{path}: no complete ProfilerStep#{number}; complete steps: {there}")
    return held.windows[number]


def _graph(
    path: Path,
    held: Survey,
    events: Step,
    nesting: Nesting,
    columns: Columns,
    width: int,
    report: ImportReport,
) -> TaskGraph:
    tasks = nesting.tasks
    start_ns = np.array([t.event.start_ns for t in tasks], np.int64)
    finish_ns = np.array([t.event.finish_ns for t in tasks], np.int64)
    launch = [t.launches for t in tasks]
    lanes, lane = np.unique([t.event.lane for t in tasks], return_inverse=True)
    graph = TaskGraph.from_edges(
        (finish_ns - start_ns) / 1e9,
        columns.edges,
        kinds=[t.kind for t in tasks],
        names=_names(tasks),
        shapes=columns.shapes,
        scopes=[t.scope for t in tasks],
        flops=np.where(launch, np.nan, columns.flops),
        bytes_B=np.where(launch, np.nan, columns.bytes_B),
        widths=np.where(launch, 1, width),
        name=plain_name(path, ".json", ".kineto"),
        recorded_on=_recorded_on(held.metadata, Place(path, "simsched")),
        report=report,
        recording=recording(path, start_ns, finish_ns, lane, [events.lanes[i] for i in lanes]),
    )
    fill_report(graph, path, held, events, nesting, columns.found)
    found = columns.found.found
    return graph if found is None else found.objects.on(graph)


def _require_distinct(path: Path, tasks: list[Task]) -> None:
    seen: set[int] = set()
    for task in tasks:
        rf_id = task.event.rf_id
        if rf_id is not None and rf_id in seen:
            raise Place(path, "step").error(
                f"record function id {rf_id} occurs twice, also at {shown(task.event.name)}"
            )
        seen.add(rf_id or 0)


def _names(tasks: list[Task]) -> list[str]:
    """Kind and record function id, which identify a task in both files; else `@` and the event's index."""
    return [
        f"{short(t.event.name)}@{t.event.order}"
        if t.event.rf_id is None
        else f"{short(t.event.name)}#{t.event.rf_id}"
        for t in tasks
    ]


def _noted_threads(metadata: dict[str, Any], place: Place) -> int | None:
    """Return the threads of an operator as noted by the recorder, None where they are not."""
    if (noted := metadata.get("threads")) is None:
        return None
    threads = place.integer(noted, "threads")
    if not 1 <= threads <= MAX_THREADS:
        raise place.error(f"threads is {threads}, expected 1 to {MAX_THREADS}")
    return threads


def _recorded_on(metadata: dict[str, Any], place: Place) -> RecordedOn | None:
    if "cpu_model" not in metadata:
        return None
    speeds = {
        key: place.positive(metadata[key], key)
        for key in ("core_flops", "core_bandwidth_Bps", "clock_Hz")
        if key in metadata
    }
    return RecordedOn(place.text(metadata["cpu_model"], "cpu_model"), **speeds)
