"""ONNX Runtime: a session's profile, with the optimized model of the same session for its dependencies.

Record both from one session::

    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.optimized_model_filepath = "run.optimized.onnx"
    session = onnxruntime.InferenceSession("model.onnx", options)
    for _ in range(3):
        session.run(None, inputs)
    profile = session.end_profiling()

The profile alone has times and shapes and no dependencies; the model as exported is not enough either, since
the session fuses, splits and renames its nodes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import ImportReport, Recording, TaskGraph
from simsched.graph.loading import Mend, Reader
from simsched.graph.shapes import format_shape
from simsched.text import counted
from simsched.traces.onnx.flops import flops, shape_attributes
from simsched.traces.onnx.model import Model, Node, edges, read_model, tensors
from simsched.traces.onnx.proto import Tensor, dims, element, tensor_bytes
from simsched.traces.onnxruntime.join import Sizes, Task, check_order, match, outermost, sizes
from simsched.traces.onnxruntime.profile import Contents, Event, ModelRun, read_contents, read_events
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import of_providers
from simsched.traces.shared.objects import Objects
from simsched.traces.shared.options import TOLERANT, given, mends_if, whole_number
from simsched.traces.shared.timeline import chain, covered, recording

#: Digits of a whole number that a float holds exactly.
LONGEST_NUMBER = 15
#: Spans of more runs than this are not listed in the report.
LISTED_RUNS = 20


@dataclass(frozen=True)
class _Row:
    """One task of the graph: an execution and the known data of its node."""

    event: Event
    kind: str
    shape: str
    flops: float
    size: float
    scope: str = ""


def _describe_contents(report: ImportReport, contents: Contents, chosen: int) -> None:
    """Describe the profile as a whole, and the run chosen from it."""
    run = contents.runs[chosen]
    spans = [f"{each.span_us / 1e6:.6f}" for each in contents.runs[:LISTED_RUNS]]
    report.facts.update(
        runs=len(contents.runs),
        run=chosen,
        run_spans_s=", ".join(spans + ["..."] * (len(contents.runs) > LISTED_RUNS)),
        span_s=run.span_us / 1e6,
        threads_of_all_runs=contents.threads,
    )
    slower = (
        ", slower than the last one, as runs are that warm up"
        if run.span_us > contents.runs[-1].span_us
        else ""
    )
    report.note(
        f"run {chosen} of runs 0 to {len(contents.runs) - 1} ({report.facts['run_spans_s']} s){slower}; run= chooses",
        when=len(contents.runs) > 1,
    )
    report.note(
        f"The file holds {contents.sessions} sessions, whose runs are counted as one list; the model must be "
        "that of the session of this run.",
        when=contents.sessions > 1,
    )
    report.note(
        "The profiler stopped at its limit of a million events: what came later is missing.",
        when=contents.full,
    )
    report.note(
        f"{counted(run.device_events, 'event of a device is no task', 'events of a device are not tasks')}: "
        "its kernels run while the nodes that launched them have long returned.",
        when=run.device_events,
    )


def _describe_model(report: ImportReport, model: Model, tasks: Sequence[Task | None]) -> None:
    """Describe the model, and its nodes that did not run."""
    report.facts["model"] = model.file.name
    dropped = [node for node, task in zip(model.nodes, tasks, strict=True) if task is None]
    report.facts["nodes_not_run"] = len(dropped)
    if dropped:
        first = shown(dropped[0].name or f"a {dropped[0].op_type}")
        report.note(
            f"{counted(len(dropped), 'node')} of the model not run in this run, and left out ({first} first); "
            "dependencies go through them."
        )


def _describe_tasks(report: ImportReport, run: ModelRun, rows: Sequence[_Row], recording: Recording) -> None:
    """Describe the tasks, their threads, and suspicious findings."""
    events = [row.event for row in rows]
    covered_us = covered(((e.start_us, e.finish_us) for e in events), run.start_us, run.finish_us)
    report.facts.update(
        covered_s=covered_us / 1e6,
        covered_share=covered_us / run.span_us if run.span_us else np.nan,
        before_first_s=(min(e.start_us for e in events) - run.start_us) / 1e6,
        after_last_s=max(run.finish_us - max(e.finish_us for e in events), 0) / 1e6,
        lanes=len(recording.lane_names),
        # The parallel executor leaves the nodes to threads of a pool, and the caller waits.
        executor="parallel" if any(e.thread != run.thread for e in events) else "sequential",
        max_width=max(e.width for e in events),
        intra_op_threads=max(e.pool for e in events),
        zero_length_tasks=sum(e.finish_us == e.start_us for e in events),
        tasks_without_flops=sum(bool(np.isnan(row.flops)) for row in rows),
    )
    report.note(
        "Some tasks took less than the clock's 1 us and have a duration of 0.",
        when=report.facts["zero_length_tasks"],
    )
    outside_s = report.facts["before_first_s"] + report.facts["after_last_s"]
    report.note(
        f"{outside_s:.3g} s of the run's {run.span_us / 1e6:.3g} s lie before its first node and after its last "
        "(before_first_s, after_last_s); the graph and its recorded schedule leave them out.",
        when=outside_s > 0.01 * run.span_us / 1e6,
    )
    of_providers(report, (e.provider for e in events))
    others = Counter(e.provider for e in events if e.provider not in ("CPUExecutionProvider", ""))
    if others:
        names = ", ".join(f"{n} by {shown(name)}" for name, n in sorted(others.items()))
        report.note(
            f"Not all nodes ran on the processor ({names}): of those the profile may time the launch alone."
        )


FIRST_CATEGORY = re.compile(rb'"cat"\s*:\s*"([^"]*)"')

Edges = list[tuple[int, int]]


def _recognises(head: bytes) -> bool:
    """Return whether a file starts as a JSON list whose first event is a session's or a node's."""
    first = FIRST_CATEGORY.search(head)
    listed = head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    return listed and first is not None and first[1] in (b"Session", b"Node")


def _read(
    path: Path,
    *,
    model: str | Path | None = None,
    run: int | str | None = None,
    tolerant: bool | str = False,
) -> TaskGraph:
    """Return the graph of one run.

    Parameters
    ----------
    path : Path
        The profile, plain or gzipped.
    model : str or Path, optional
        The optimized model of the same session, plain or gzipped.
    run : int or str, optional
        Index of the run in time order, as a number or its digits; the last complete one if not given, since
        the first ones warm up.
    tolerant : bool or str
        Whether to read the complete part of a cut-off profile, and to mend characters JSON does not allow.

    Raises
    ------
    FormatError
        If a file is malformed, there is no such run, or the model is of another session.
    GraphError
        If a number is impossible.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''[{"cat": "Node", "ph": "X", "pid": 7, "tid": 1, "ts": 100, "dur": 10,
    ... "name": "a_kernel_time", "args": {"op_name": "Relu"}},
    ... {"cat": "Node", "ph": "X", "pid": 7, "tid": 1, "ts": 111, "dur": 20,
    ... "name": "b_kernel_time", "args": {"op_name": "Exp"}},
    ... {"cat": "Session", "ph": "X", "pid": 7, "tid": 1, "ts": 99, "dur": 40, "name": "model_run", "args": {}}]'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "profile.json").write_text(text)
    ...     graph = ss.load(Path(folder, "profile.json"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('onnxruntime', ['Relu', 'Exp'], [1e-05, 2e-05], 1)
    """
    report = ImportReport(path.name, "onnxruntime")
    mend = mends_if(path, tolerant, report)
    optimized = None if model is None else read_model(given(path, "model", model, "the optimized model"))
    contents = read_contents(path, mend)
    chosen = _choose(path, contents.runs, run)
    # A second pass mends nothing new.
    events = _events(path, contents, chosen, report, mend and (lambda _: None))
    return _graph(path, contents.runs[chosen], events, optimized, report)


ONNXRUNTIME = Reader(
    title="ONNX Runtime profile, with the optimized model of the same session (model=) for its dependencies",
    dependencies="from the optimized model (without it a chain a thread)",
    times="profile, us",
    options={
        "model": "the .onnx that the same session saved at optimized_model_filepath; else a chain a thread",
        "run": "which model_run, from 0 in time order; the last complete one if not given",
        "tolerant": TOLERANT,
    },
    recognises=_recognises,
    read=_read,
)


def _choose(path: Path, runs: Sequence[ModelRun], wanted: object) -> int:
    """Return the index of the requested run, or of the last one with the most nodes."""
    if wanted is None:
        return max(range(len(runs)), key=lambda i: (runs[i].nodes, i))
    expected = f"one of the profile's runs 0 to {len(runs) - 1}"
    return whole_number(path, "run", wanted, range(len(runs)), expected)


def _events(
    path: Path, contents: Contents, chosen: int, report: ImportReport, mend: Mend | None
) -> list[Event]:
    """Return the events of a run; those of overlapping runs are distinguished by the thread that called each."""
    runs = contents.runs
    run = runs[chosen]
    events = read_events(path, run, mend)
    others = [i for i, other in enumerate(runs) if i != chosen and run.overlaps(other)]
    if others:
        callers = {run.thread, *(runs[i].thread for i in others)}
        if len(callers) <= len(others) or any(event.thread not in callers for event in events):
            raise FormatError(
                f"{path}: runs {chosen} and {others[0]} overlap and share threads, so that their nodes "
                "cannot be distinguished; choose another run=, or record one run at a time"
            )
        events = [event for event in events if event.thread == run.thread]
        report.note(
            f"{counted(len(others), 'other run')} overlapped this one on other threads and slowed it; not in the graph."
        )
    if not events:
        raise FormatError(f"{path}: no node ran in run {chosen}; choose another run= of 0 to {len(runs) - 1}")
    _describe_contents(report, contents, chosen)
    return events


def _graph(
    path: Path, run: ModelRun, events: list[Event], model: Model | None, report: ImportReport
) -> TaskGraph:
    kept = outermost(events, model)
    if len(kept) < len(events):
        report.facts["nodes_in_bodies"] = len(events) - len(kept)
        report.note(
            f"{counted(len(events) - len(kept), 'execution')} inside bodies (If, Loop, Scan) counted as part of the "
            "node that owns the body, not as tasks."
        )
    rows, pairs, found = _chains(kept, report) if model is None else _joined(path, kept, model, report)
    start_ns = np.array([row.event.start_us for row in rows], np.int64) * 1000
    finish_ns = np.array([row.event.finish_us for row in rows], np.int64) * 1000
    recorded = replace(
        recording(path, start_ns, finish_ns, *_lanes(rows, run), own_clock=True), priorities=_priorities(rows)
    )
    _describe_tasks(report, run, rows, recorded)
    graph = TaskGraph.from_edges(
        (finish_ns - start_ns) / 1e9,
        pairs,
        kinds=[row.kind for row in rows],
        names=[row.event.name for row in rows],
        shapes=[row.shape for row in rows],
        scopes=[row.scope for row in rows],
        flops=[row.flops for row in rows],
        bytes_B=[row.size for row in rows],
        widths=[row.event.width for row in rows],
        name=path.name.split(".")[0],
        report=report,
        recording=recorded,
    )
    if graph.critical_path_s:
        report.facts["average_parallelism"] = graph.average_parallelism
    return found.on(graph)


def _chains(events: list[Event], report: ImportReport) -> tuple[list[_Row], Edges, Objects]:
    """Return the events of a profile alone as tasks, those of one thread in a chain."""
    report.doubt(
        "The profile alone records no dependencies: the tasks of each thread are chained in the order they ran, "
        "so that no policy can run them in parallel. Give the optimized model of the same session as model=."
    )
    rows = [_row(e, Sizes(e.inputs or (), e.outputs or (), 0.0)) for e in events]
    return rows, chain(e.thread for e in events), Objects()


def _joined(
    path: Path, events: list[Event], model: Model, report: ImportReport
) -> tuple[list[_Row], Edges, Objects]:
    """Return the nodes of the model that ran, in its order, its edges between them, and its tensors."""
    tasks = match(path, events, model)
    found = edges(model, tasks)
    report.facts["early_starts"] = check_order(path, model, tasks, found)
    known: dict[str, Tensor] = {}
    shapes = sizes(path, model, tasks, known)
    report.note(
        "Some tasks start 1 us before a dependency finishes: the clock tells no more than that.",
        when=report.facts["early_starts"],
    )
    ran = {i: (task, size) for i, (task, size) in enumerate(zip(tasks, shapes, strict=True)) if task and size}
    index = {i: row for row, i in enumerate(ran)}
    _describe_model(report, model, tasks)
    rows = [_row(task.event, size, task.node) for task, size in ran.values()]
    found_tensors = tensors([task.node for task, _ in ran.values()], {**model.declared, **known})
    return rows, [(index[a], index[b]) for a, b in found], found_tensors


def _row(event: Event, size: Sizes, node: Node | None = None) -> _Row:
    has_types = event.inputs is not None or event.outputs is not None
    shapes = [dims(t) for t in size.inputs], [dims(t) for t in size.outputs]
    kind = node.op_type if node else event.op_type
    if event.counted_bytes is not None:
        size_B = event.counted_bytes + size.packed_bytes
    else:
        size_B = tensor_bytes((*size.inputs, *size.outputs)) if has_types else np.nan
    return _Row(
        event=event,
        kind=kind,
        shape=format_shape(
            shapes[0],
            shape_attributes(kind, shapes[0], node.attributes) if node else None,
            element(kind, size.inputs),
        ),
        flops=flops(kind, *shapes, node.attributes if node else {}) if has_types else np.nan,
        size=size_B,
        scope=node.scope if node else "",
    )


def _priorities(rows: Sequence[_Row]) -> npt.NDArray[np.float64] | None:
    """Return the negated numbers of the session's nodes, from which its plan follows; None where one is unknown."""
    numbers = [row.event.index for row in rows]
    if not all(number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER for number in numbers):
        return None
    return -np.array(numbers, np.float64)


def _lanes(rows: Sequence[_Row], run: ModelRun) -> tuple[list[int], list[str]]:
    """Return the lane of each task, and the names of all, in the order of their first task, the caller's first."""
    by_start = sorted(
        rows, key=lambda row: (row.event.thread != run.thread, row.event.start_us, row.event.place)
    )
    lanes = {thread: i for i, thread in enumerate(dict.fromkeys(row.event.thread for row in by_start))}
    return [lanes[row.event.thread] for row in rows], list(lanes)
