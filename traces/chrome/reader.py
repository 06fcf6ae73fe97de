"""Chrome traces in general: spans on lanes, by any writer.

The format knows no dependencies. Tasks are spans of each lane, chosen by lane, name, depth and level (the outermost,
when nothing is given); edges are the recorded order of each lane, a chain, and the arrows (flow events), which tools
draw for all kinds of reasons: hints.
Traces that simsched wrote hold their graph and give it back.

References
----------
"Trace Event Format", Google, 2016.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, plain_name
from simsched.traces.chrome.events import FLOW_PHASES, Events, read_events
from simsched.traces.chrome.writer import graph_written, made_by_simsched
from simsched.traces.shared.choice import OPTIONS, Choice, nothing_in, tell_chains
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import recorded_on
from simsched.traces.shared.options import mends_if
from simsched.traces.shared.spans import Small, Spans, Whole, arrows, choose, edges_of, enclosing, graph_of


def _arrow_ends(events: Events, tasks: Spans) -> tuple[Whole, Whole]:
    """Return the tasks at both ends of each arrow, shape (m,) each; -1 for none.

    An arrow leaves and enters the task that contains it; without `bp: e` at its end, it enters the next task of the
    lane, as in the format.

    Parameters
    ----------
    events : Events
    tasks : Spans
        By start.
    """
    ends = []
    for points in events.flows.values():
        for one, other in pairwise(sorted(points, key=lambda p: (p.time_ns, FLOW_PHASES.index(p.phase)))):
            # An id is used again once its flow has ended: the next beginning belongs to another flow.
            if one.phase != "f" and other.phase != "s":
                ends += [one, other]
    lane = np.array([end.lane for end in ends], np.int32)
    time_ns = np.array([end.time_ns for end in ends], np.int64)
    within = np.array([end.encloses for end in ends], np.bool_)
    task = np.where(within, enclosing(tasks, lane, time_ns), _following(tasks, lane, time_ns))
    return task[::2], task[1::2]


def _following(tasks: Spans, lane: Small, time_ns: Whole) -> Whole:
    """Return the first task of a lane that starts at each moment or later; -1 where none does."""
    by_lane = np.argsort(tasks.lane, kind="stable")
    found = np.full(len(lane), -1, np.int64)
    for one in np.unique(lane).tolist():
        first, end = np.searchsorted(tasks.lane[by_lane], (one, one + 1))
        on, here = by_lane[first:end], np.flatnonzero(lane == one)
        after = np.searchsorted(tasks.start_ns[on], time_ns[here])
        there = after < len(on)
        found[here[there]] = on[after[there]]
    return found


def _recognises(head: bytes) -> bool:
    """Recognise the key of the object form, or a first event of the list form."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return b'"traceEvents"' in text
    return text.startswith(b"[") and text[1:].lstrip().startswith(b"{") and b'"ph"' in text


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
        If the file is no such trace, holds no spans, an option is none of its words, or chooses nothing.
    GraphError
        If a trace of simsched's own holds an impossible graph.

    Examples
    --------
    >>> import simsched as ss
    >>> text = '''{"traceEvents": [
    ... {"ph": "X", "name": "load", "ts": 0, "dur": 4, "pid": 1, "tid": 1},
    ... {"ph": "X", "name": "sum", "ts": 5, "dur": 2, "pid": 1, "tid": 1}]}'''
    >>> graph = ss.load(text.encode())
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('chrome', ['load', 'sum'], [4e-06, 2e-06], 1)
    """
    choice = Choice.of(path, level, depth, names, lanes, edges)
    report = ImportReport(path.name, "chrome")
    # The format lets the list form end without its bracket: its writer may have been stopped at any time.
    events = read_events(path, mends_if(path, tolerant, report), report.note)
    if made_by_simsched(events):
        report.note(
            "options choose nothing here: the graph was taken as written",
            when=(choice, process) != (Choice(), None),
        )
        return graph_written(path, events, report)
    _restrict(path, events, process)
    if not len(events.spans):
        raise nothing_in(path, "span (events X, or B and E)", events.counts, report)
    events.keep(choose(path, events.spans, choice, report))
    tasks = events.spans
    flows = arrows(tasks, *_arrow_ends(events, tasks), report)
    told = f", and {len(flows)} arrows as hints" if len(flows) and "flows" in edges else ""
    tell_chains(report, "Chrome", "lane", "span", told if "lanes" in edges else None, events.counts)
    return graph_of(
        path, tasks, edges_of(tasks, flows, choice), report, plain_name(path, ".json"),
        names=[
            f"{tasks.labels[code]}@{order}" for code, order in zip(tasks.name.tolist(), events.order, strict=True)
        ],
        recorded_on=recorded_on(events.metadata.get("cpu-brand")),
    )  # fmt: skip


CHROME_TRACE = Reader(
    title="Chrome trace (Trace Event Format), of any tool",
    dependencies="recorded order of each lane, a chain, and arrows as hints; simsched's own: as written",
    times="us with decimals, exact",
    options=OPTIONS,
    recognises=_recognises,
    read=_read,
    general=True,
)


def _restrict(path: Path, events: Events, process: str | int | None) -> None:
    """Keep the spans of one process."""
    if process is None:
        return
    there = {p for p, _ in events.lanes}
    named = {p for p in there if events.names.get((p, "")) == str(process)}
    wanted = named or there & {str(process)}
    if not wanted:
        known = ", ".join(sorted(shown(events.names.get((p, ""), p)) for p in there)[:20])
        raise FormatError(
            f"{path}: process is {shown(process)}; expected one of {known or 'none; there are no spans'}"
        )
    fits = np.array([process in wanted for process, _ in events.lanes], np.bool_)
    events.keep(np.flatnonzero(fits[events.spans.lane]))
