"""Perfetto traces: slices of tracks as tasks; the graph as it was, where simsched wrote the trace.

The format knows no dependencies. As in a Chrome trace, tasks are slices of each track, chosen by track, name, depth and
level; edges are the recorded order of each track, a chain, and flows, which programs record for all kinds of reasons.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, plain_name
from simsched.traces.chrome.writer import tell_rounding
from simsched.traces.perfetto.packets import Content, read_packets
from simsched.traces.shared.choice import OPTIONS, Choice, nothing_in, tell_chains
from simsched.traces.shared.options import mends_if
from simsched.traces.shared.spans import (
    Small,
    Spans,
    Whole,
    arrows,
    choose,
    edges_of,
    enclosing,
    graph_of,
    of_process,
    recorded,
)
from simsched.traces.shared.wire import BYTES, VARINT, header, headers
from simsched.traces.xplane.reader import XPLANE

#: Wire types of fields of a packet that none of the other formats has in their place.
_PACKET = {
    8: VARINT,
    10: VARINT,
    3: VARINT,
    6: BYTES,
    33: BYTES,
    60: BYTES,
    89: BYTES,
    79: VARINT,
    41: VARINT,
}
_OTHERS = dict.fromkeys((1, 11, 12, 36, 43, 44, 50, 59), BYTES) | dict.fromkeys((13, 58), VARINT)


def _recognises(head: bytes) -> bool:
    """Recognise the first packet by its fields."""
    outer = header(head)
    if outer is None or outer[:2] != (1, BYTES):
        return False
    sure = False
    for number, kind, *_ in headers(head[: outer[2] + outer[3]], outer[2]):
        if _PACKET.get(number, _OTHERS.get(number, kind)) != kind:
            return False
        sure |= number in _PACKET
    return sure and not XPLANE.recognises(head)


def _read(
    path: Path,
    *,
    depth: int | str | None = None,
    names: str | None = None,
    lanes: str | None = None,
    level: str = "outermost",
    edges: str = "lanes+flows",
    process: str | int | None = None,
    tolerant: bool | str = False,
) -> TaskGraph:
    """Return the graph of a file; options as in `options`.

    Raises
    ------
    FormatError
        If the file is no such trace, holds no slices, an option is none of its words, or chooses nothing.
    GraphError
        If a trace of simsched's own holds an impossible graph.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     ss.simulate(graph, "generic[cores=2]", "fifo", layout="2x1").save(f"{folder}/run.pftrace")
    ...     back = ss.load(f"{folder}/run.pftrace")
    >>> back.report.format, back.name, back.kinds.to_list(), back.n_edges, back.recorded.makespan_s
    ('perfetto', 'two', ['load', 'sum'], 1, 3.0)
    """
    choice = Choice.of(path, level, depth, names, lanes, edges)
    report = ImportReport(path.name, "perfetto")
    content = read_packets(path, mends_if(path, tolerant, report))
    if content.own is not None:
        report.note(
            "options choose nothing here: the graph was taken as written",
            when=(choice, process) != (Choice(), None),
        )
        return _written(path, content, report)
    if not len(content.spans):
        raise nothing_in(path, "slice of a track event", content.counts, report)
    rows = of_process(path, content.spans, process)
    # No copy of millions of spans where all are taken.
    rows = rows[choose(path, content.spans if process is None else content.spans.taken(rows), choice, report)]
    tasks = content.spans.taken(rows)
    ends, counts = _flows(content, tasks, rows), content.counts
    del content, rows
    flows = arrows(tasks, *ends, report)
    del ends
    told = f", and {len(flows)} flows as hints" if len(flows) and "flows" in edges else ""
    tell_chains(report, "Perfetto", "track", "slice", told if "lanes" in edges else None, counts)
    chosen = edges_of(tasks, flows, choice)
    del flows
    return graph_of(path, tasks, chosen, report, plain_name(path, ".pftrace", ".perfetto-trace"))


PERFETTO_TRACE = Reader(
    title="Perfetto trace (protobuf): track events of any program",
    dependencies="recorded order of each track, a chain, and flows as hints; simsched's own: as written",
    times="ns",
    options=OPTIONS,
    recognises=_recognises,
    read=_read,
)


def _flows(content: Content, tasks: Spans, rows: Whole | Small) -> tuple[Small, Small]:
    """Return the tasks at both ends of each arrow; -1 for none."""
    task_of = np.full(len(content.spans), -1, np.int32)
    task_of[rows] = np.arange(len(rows), dtype=np.int32)
    before, after = (_bound(content, tasks, task_of, points) for points in content.arrows.T)
    return before, after


def _bound(content: Content, tasks: Spans, task_of: Small, points: Small) -> Small:
    """Return the task of each point: that of its slice, or the one around it; -1 for none."""
    bound: Small = task_of[np.maximum(points, 0) >> 1]
    bound[points < 0] = -1
    inside = np.flatnonzero(bound < 0)
    if len(inside):
        bound[inside] = enclosing(tasks, *content.moments(points[inside]))
    return bound


def _written(path: Path, content: Content, report: ImportReport) -> TaskGraph:
    """Return the graph of a schedule that simsched wrote, its durations those of the schedule, its recording."""
    order = np.argsort(content.task, kind="stable")
    order = order[content.task[order] >= 0]
    if not np.array_equal(content.task[order], np.arange(len(order))) or not len(order):
        raise FormatError(
            f"{path}: its {len(order)} tasks are not numbered from 0, each once; the file was edited or damaged"
        )
    spans = content.spans.taken(order)
    report.note("simsched wrote this trace; durations are those of its schedule")
    tell_rounding(spans.finish_ns - spans.start_ns, report)
    widths = content.width[order]
    if widths.min() < 1 or widths.max() > 2**31 - 1:
        raise FormatError(f"{path}: a task has width {widths.min()}; the file was edited or damaged")
    task_of = np.full(len(content.spans) + 1, -1, np.int64)
    task_of[order] = np.arange(len(order))
    return TaskGraph.from_edges(
        (spans.finish_ns - spans.start_ns) / 1e9,
        _edges_written(path, content, task_of),
        kinds=[spans.labels[code] for code in spans.scope.tolist()],
        names=[spans.labels[code] for code in spans.name.tolist()],
        widths=widths,
        name=content.own or path.name,
        report=report,
        recording=recorded(path, spans),
    )


def _edges_written(path: Path, content: Content, task_of: Whole) -> Whole:
    """Return the edges, each of which is one flow with a beginning and an end."""
    leaves, enters = (np.flatnonzero(content.flow_ends == ends) for ends in (False, True))
    leaves, enters = (rows[np.argsort(content.flow[rows], kind="stable")] for rows in (leaves, enters))
    found = content.flow[leaves]
    if not np.array_equal(found, content.flow[enters]) or (found[1:] == found[:-1]).any():
        raise FormatError(
            f"{path}: not every flow has one beginning and one end; the file was edited or damaged"
        )
    pairs = task_of[np.column_stack([content.flow_span[leaves], content.flow_span[enters]])]
    if (pairs < 0).any():
        raise FormatError(f"{path}: a flow begins or ends at no task; the file was edited or damaged")
    return pairs
