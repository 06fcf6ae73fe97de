"""Recordings of Taskflow's profiler (TFProf): what each worker ran, and the graph that `Taskflow::dump` writes.

References
----------
taskflow/core/observer.hpp: `TFProfObserver::dump`; taskflow/core/taskflow.hpp: `Taskflow::dump` (DOT).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, open_plain, plain_name, read_bounded
from simsched.graph.report import KINDS_ARE
from simsched.multimap import multimap
from simsched.text import counted, one_line
from simsched.traces.dot.statements import read_dot, unescaped
from simsched.traces.shared.choice import OPTIONS, Choice
from simsched.traces.shared.json_elements import require_msgspec
from simsched.traces.shared.json_stream import cut_off, shown
from simsched.traces.shared.options import given
from simsched.traces.shared.places import MAX_MICROSECONDS, Place
from simsched.traces.shared.spans import Small, Spans, SpanTable, Whole, choose, graph_of
from simsched.traces.shared.timeline import in_order

MAX_FILE_B = 2**30
_BEGINNING = re.compile(rb'\s*(?:\[\s*)?\{\s*"executor"\s*:\s*"')
#: A name that the profiler gives to a task without one.
_NAMELESS = re.compile(r"[0-9]+_[0-9]+")


def _read(
    path: Path,
    *,
    graph: str | Path | None = None,
    depth: int | str | None = None,
    names: str | None = None,
    lanes: str | None = None,
    level: str = "outermost",
) -> TaskGraph:
    """Return the graph of a file; options as in `options`.

    Raises
    ------
    FormatError
        If a file is malformed, nothing ran, or the graph has none of the names.
    GraphError
        If dependencies form a cycle.

    Examples
    --------
    >>> import simsched as ss
    >>> text = b'''{"executor":"1","data":[{"worker":0,"level":0,"data":[
    ... {"span":[0,40],"name":"load","type":"static"},{"span":[41,60],"name":"sum","type":"static"}]}]}'''
    >>> graph = ss.load(text, graph=b'digraph Taskflow { a [label="load"]; b [label="sum"]; a -> b }')
    >>> graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges, graph.recording.lane_names
    (['load', 'sum'], [4e-05, 1.9e-05], 1, ('worker 0',))
    """
    choice = Choice.of(path, level, depth, names, lanes, "lanes")
    report = ImportReport(path.name, "taskflow", {KINDS_ARE: "functions"})
    spans = _spans(path)
    tasks = spans.taken(choose(path, spans, choice, report))
    if graph is None:
        edges: Small | Whole = in_order(tasks.lane)
        report.doubt(
            "the profiler records no dependencies: edges are the order of each worker, a chain; graph= takes what "
            "Taskflow::dump writes"
        )
    else:
        edges = _joined(given(path, "graph", graph, "what Taskflow::dump writes"), tasks, report)
    return graph_of(path, tasks, edges, report, plain_name(path, ".json", ".tfp"))


TASKFLOW = Reader(
    title="recording of Taskflow's profiler (TFProf)",
    dependencies="the graph of Taskflow::dump (graph=); without it order of each worker, a chain",
    times="us",
    options={
        "graph": "what Taskflow::dump writes, in a file: joined by the names of tasks",
        **{name: OPTIONS[name] for name in ("depth", "names", "lanes", "level")},
    },
    recognises=lambda head: _BEGINNING.match(head) is not None,
    read=_read,
)


@cache
def _decoders() -> tuple[Any, Any]:
    """Return the decoders of executors, which leave what workers ran as text, and of what a worker ran."""
    require_msgspec()
    import msgspec

    worker = msgspec.defstruct(
        "Worker", [("worker", Any, None), ("level", Any, None), ("data", msgspec.Raw, msgspec.Raw(b""))]
    )
    executor = msgspec.defstruct("Executor", [("executor", Any, None), ("data", list[worker], ())])  # type: ignore[valid-type]  # made above
    segment = msgspec.defstruct(
        "Segment", [("span", Any, None), ("name", Any, None), ("type", Any, None)], gc=False
    )
    return (
        msgspec.json.Decoder(list[executor] | executor),  # type: ignore[valid-type]  # made above
        msgspec.json.Decoder(list[segment]),  # type: ignore[valid-type]  # made above
    )


def _spans(path: Path) -> Spans:
    import msgspec

    with open_plain(path) as stream:
        data = read_bounded(stream, MAX_FILE_B + 1)
    if len(data) > MAX_FILE_B:
        raise FormatError(f"{path}: more than {MAX_FILE_B >> 20} MiB; record a shorter time")
    whole, segments = _decoders()
    table = SpanTable(path)
    try:
        told = whole.decode(data)
        for executor in told if isinstance(told, list) else [told]:
            for worker in executor.data:
                place = Place(path, "worker", place_of(path, worker.worker))
                lane = f"executor {executor.executor}", f"worker {place.number}"
                for segment in segments.decode(worker.data or b"[]"):
                    _add(place, segment, lane, table)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        if "truncated" in str(error):
            raise cut_off(path, len(data)) from None
        raise FormatError(f"{path}: not what TFProf writes: {one_line(str(error))[:200]}") from None
    if not len(table):
        raise FormatError(f"{path}: no task in it; nothing ran while it was observed")
    return table.spans(lambda lane: lane)


def place_of(path: Path, worker: object) -> int:
    """Return the number of a worker; raise `FormatError` where it is none."""
    if type(worker) is not int or not 0 <= worker < 2**31:
        raise FormatError(f"{path}: worker is {shown(worker)}, expected a whole number")
    return worker


def _add(place: Place, segment: Any, lane: tuple[str, str], table: SpanTable) -> None:
    span = segment.span
    if not isinstance(span, list) or len(span) != 2 or {*map(type, span)} != {int}:
        raise place.error(f"span is {shown(span)}, expected two whole numbers")
    start, finish = span
    if not 0 <= start <= finish <= MAX_MICROSECONDS:
        raise place.error(f"span is {shown(span)}, expected a start and an end after it")
    name, kind = (value if isinstance(value, str) else "" for value in (segment.name, segment.type))
    table.add(start * 1000, finish * 1000, lane, name, kind)


def _joined(graph: Path, tasks: Spans, report: ImportReport) -> Whole:
    """Return the edges of a dump: of tasks that ran several times, the first with the first, and so on."""
    dot = read_dot(graph, nodes={"label"}, edges={"style"})
    name_of = {node: unescaped(told.get("label", node), node) for node, told in dot.nodes.items()}
    counts = Counter(name_of.values())
    ran = multimap((tasks.labels[code], task) for task, code in enumerate(tasks.name.tolist()))
    known = {name for name in ran if counts.get(name) == 1}
    if not known:
        raise FormatError(f"{graph}: no task has the name of one that ran, as {shown(next(iter(ran)))}, once")
    pairs, weak, uneven = list[tuple[int, int]](), 0, 0
    for one, other, attributes in dot.edges():
        before, after = name_of[one], name_of[other]
        if attributes.get("style") == "dashed":
            weak += 1
        elif before in known and after in known:
            pairs += zip(ran[before], ran[after], strict=False)
            uneven += len(ran[before]) != len(ran[after])
    alone = sum(len(found) for name, found in ran.items() if name not in known)
    nameless = sum(len(found) for name, found in ran.items() if _NAMELESS.fullmatch(name))
    report.facts.update(tasks_not_joined=alone, weak_edges=weak)
    report.note(
        f"{counted(alone, 'task')} without edges: no name ({nameless}), one that several have, or one not in graph=",
        when=alone,
    )
    report.note(
        f"{counted(weak, 'weak edge')} of conditions not kept: choices",
        when=weak,
    )
    report.note(
        f"{counted(uneven, 'edge')} between tasks that ran a different number of times",
        when=uneven,
    )
    return np.array(pairs, np.int64).reshape(-1, 2)
