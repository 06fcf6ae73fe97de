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

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simsched.errors import FormatError
from simsched.graph.loading import plain_name
from simsched.graph.report import ImportReport
from simsched.traces.chrome.choosing import Choice, Flows, flow_edges
from simsched.traces.chrome.events import Events, Span, read_events
from simsched.traces.chrome.writer import graph_written, made_by_simsched
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import recorded_on
from simsched.traces.shared.options import TOLERANT, mends_if
from simsched.traces.shared.timeline import chain, recording

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph

EDGES = ("lanes+flows", "lanes", "flows")


class ChromeTrace:
    """Reader of Chrome traces.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''{"traceEvents": [
    ... {"ph": "X", "name": "load", "ts": 0, "dur": 4, "pid": 1, "tid": 1},
    ... {"ph": "X", "name": "sum", "ts": 5, "dur": 2, "pid": 1, "tid": 1}]}'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "run.json").write_text(text)
    ...     graph = ss.load(Path(folder, "run.json"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('chrome', ['load', 'sum'], [4e-06, 2e-06], 1)
    """

    title = "Chrome trace (Trace Event Format), of any tool"
    dependencies = "recorded order of each lane, a chain, and arrows as hints; simsched's own: as written"
    times = "us with decimals, exact"
    #: Formats that are Chrome traces, too, with readers that extract more.
    general = True
    options = {  # noqa: RUF012 - the protocol's attribute
        "depth": "how many spans of its lane are around a task: 2, or 1-3; any when not given",
        "names": "patterns of the names of tasks, as load*+work*; any when not given",
        "lanes": "patterns of the names of lanes, as Pool*; all when not given",
        "level": "outermost (when not given) or innermost: which are tasks of chosen spans within each other",
        "edges": "lanes+flows (when not given), lanes, or flows: where edges come from",
        "process": "number or name of the process to take; all when not given",
        "tolerant": TOLERANT,
    }

    def recognises(self, head: bytes) -> bool:
        """Recognise the key of the object form, or a first event of the list form."""
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if text.startswith(b"{"):
            return b'"traceEvents"' in text
        return text.startswith(b"[") and text[1:].lstrip().startswith(b"{") and b'"ph"' in text

    def read(
        self,
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
        """
        choice = Choice.of(path, level, depth, names, lanes)
        if edges not in EDGES:
            raise FormatError(f"{path}: edges is {shown(edges)}; expected one of {', '.join(EDGES)}")
        report = ImportReport(path.name, "chrome")
        # The format lets the list form end without its bracket: its writer may have been stopped at any time.
        events = read_events(path, mends_if(path, tolerant, report), report.note)
        if made_by_simsched(events):
            report.note(
                "options choose nothing here: the graph was taken as written",
                when=(choice, edges, process) != (Choice(), EDGES[0], None),
            )
            return graph_written(path, events, report)
        _restrict(path, events, process)
        if not events.spans:
            dropped = [f"dropped, {what}: {count}" for what, count in sorted(events.counts.items()) if count]
            raise FormatError(
                f"{path}: no span (events X, or B and E) in the trace; "
                + ("; ".join([*dropped, *report.notes]) or "nothing ran, or was recorded")
            )
        tasks = choice.tasks(path, events, report)
        flows = flow_edges(events, tasks)
        _tell(report, events, flows, edges)
        in_order = chain(task.lane for task in tasks) if "lanes" in edges else []
        return _graph(path, events, tasks, in_order + (flows.edges if "flows" in edges else []), report)


CHROME_TRACE = ChromeTrace()


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
    events.spans = [span for span in events.spans if events.lanes[span.lane][0] in wanted]


def _tell(report: ImportReport, events: Events, flows: Flows, edges: str) -> None:
    report.facts.update(
        flow_edges=len(flows.edges),
        flows_backwards=flows.backwards,
        flows_unbound=flows.unbound,
    )
    report.doubt(
        "a Chrome trace tells no dependencies: edges are the recorded order of each lane, a chain"
        + (f", and {len(flows.edges)} arrows as hints" if flows.edges and "flows" in edges else "")
        + "; no policy can run the tasks of a lane in parallel",
        when="lanes" in edges,
    )
    report.note(
        f"{report.facts['overlaps']} spans overlap another one of their lane without lying within it",
        when=report.facts["overlaps"],
    )
    for what, count in sorted(events.counts.items()):
        if count:
            report.facts[f"dropped, {what}"] = count


def _graph(
    path: Path, events: Events, tasks: list[Span], edges: list[tuple[int, int]], report: ImportReport
) -> TaskGraph:
    from simsched.graph.taskgraph import TaskGraph

    start_ns = np.array([task.start_ns for task in tasks], np.int64)
    finish_ns = np.array([task.finish_ns for task in tasks], np.int64)
    lanes, lane = np.unique([task.lane for task in tasks], return_inverse=True)
    return TaskGraph.from_edges(
        (finish_ns - start_ns) / 1e9,
        edges,
        kinds=[task.name for task in tasks],
        names=[f"{task.name}@{task.order}" for task in tasks],
        scopes=[task.category for task in tasks],
        name=plain_name(path, ".json"),
        recorded_on=recorded_on(events.metadata.get("cpu-brand")),
        report=report,
        recording=recording(path, start_ns, finish_ns, lane, events.lane_names(lanes.tolist())),
    )
