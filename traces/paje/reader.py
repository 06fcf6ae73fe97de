"""Paje: states of containers as tasks on lanes; as written by StarPU, SimGrid, ViTE, Aftermath or poti.

The format knows no dependencies: the tasks of each lane are chained in their order, and links (messages) join lanes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.contracting import Edge
from simsched.graph.loading import Mend, Reader, plain_name
from simsched.graph.shapes import format_shape
from simsched.multimap import multimap
from simsched.text import counted
from simsched.traces.paje.events import WANTED, Interval, Trace, events
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import TOLERANT, Mends, given, mends_if, word
from simsched.traces.shared.places import lines
from simsched.traces.shared.timeline import chain, numbered, recording
from simsched.traces.starpu.records import Record, dag_edges

_FIRST = re.compile(rb"(?:\s|#[^\n]*\n)*%\s*EventDef\s+Paje")
UNITS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
#: States in which nothing is computed, in lower case, by the names of common producers.
WAITING = frozenset(
    (
        "idle", "sleeping", "sleep", "blocked", "waiting", "wait", "overhead", "scheduling",
        "progressing", "initializing", "deinitializing", "fetchinginput", "pushingoutput", "callback",
        "unpartitioning", "hypervisor", "nothing", "free", "stopped", "inactive", "not_running",
    )
)  # fmt: skip


def _read(
    path: Path,
    *,
    states: str | None = None,
    unit: str | None = None,
    dag: str | Path | None = None,
    tolerant: bool | str = False,
) -> TaskGraph:
    """Return the graph of the states that are tasks; options as in `options`.

    Raises
    ------
    FormatError
        If a file or an option is malformed, or no state is a task.
    GraphError
        If dependencies form a cycle.

    Examples
    --------
    >>> import simsched as ss
    >>> text = '''%EventDef PajeDefineContainerType 0
    ... % Alias string
    ... % Type string
    ... % Name string
    ... %EndEventDef
    ... %EventDef PajeDefineStateType 1
    ... % Alias string
    ... % Type string
    ... % Name string
    ... %EndEventDef
    ... %EventDef PajeCreateContainer 2
    ... % Time date
    ... % Alias string
    ... % Type string
    ... % Container string
    ... % Name string
    ... %EndEventDef
    ... %EventDef PajeSetState 3
    ... % Time date
    ... % Type string
    ... % Container string
    ... % Value string
    ... %EndEventDef
    ... 0 T 0 Thread
    ... 1 S T State
    ... 2 0.0 w T 0 worker
    ... 3 0.0 S w load
    ... 3 1.0 S w sum
    ... 3 3.0 S w Idle
    ... '''
    >>> graph = ss.load(text.encode())
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('paje', ['load', 'sum'], [1.0, 2.0], 1)
    """
    report = ImportReport(path.name, "paje")
    mend = mends_if(path, tolerant, report)
    trace = Trace(UNITS[_unit(path, unit, report, mend)], mend is not None)
    trace.add(events(path, lines(path, mend), WANTED, mend))
    return _graph(path, trace, _tasks(path, trace, states, report), dag, report)


PAJE = Reader(
    title="Paje trace (StarPU's paje.trace, SimGrid, poti)",
    dependencies="links, and a chain per lane; StarPU's dag.dot (dag=)",
    times="in the file, s (StarPU: ms)",
    options={
        "states": "names of the states that are tasks, separated by commas; else all but waiting ones",
        "unit": "what the trace counts in: s, ms, us or ns; s if not given, ms for StarPU's",
        "dag": "StarPU's dag.dot of the same run: its edges in place of chains",
        "tolerant": TOLERANT,
    },
    recognises=lambda head: _FIRST.match(head) is not None,
    read=_read,
)


def _unit(path: Path, unit: object, report: ImportReport, mend: Mend | None) -> str:
    """Return the given unit, or that of the producer."""
    if unit is None:
        unit = "s"
        # Mends are reported when the whole file is read.
        for number, line in lines(path, None if mend is None else Mends(ImportReport(path.name))):
            if '"Worker State"' in line:
                unit = "ms"
            if number > 1000 or unit == "ms":
                break
    report.facts["unit"] = unit = word(path, "unit", unit, UNITS)
    return unit


def _tasks(path: Path, trace: Trace, states: object, report: ImportReport) -> list[Interval]:
    """Return the intervals that are tasks, in order of time."""
    if states is not None and not isinstance(states, str):
        raise FormatError(f"{path}: states is {shown(states)}; expected names separated by commas")
    names = sorted({trace.value_name(interval) for interval in trace.intervals})
    jobs = any("JobId" in interval.event.values for interval in trace.intervals)
    if states is not None:
        wanted = {name.strip() for name in states.split(",")}
        if unknown := sorted(wanted.difference(names)):
            raise FormatError(
                f"{path}: states names {shown(unknown[0])}; the trace has {shown(', '.join(names), 300)}"
            )
        tasks = [interval for interval in trace.intervals if trace.value_name(interval) in wanted]
    elif jobs:
        tasks = [interval for interval in trace.intervals if "JobId" in interval.event.values]
    else:
        tasks = [i for i in trace.intervals if trace.value_name(i).lower().replace(" ", "") not in WAITING]
    if not names:
        raise FormatError(
            f"{path}: no state in it lasts any time, so there are no tasks; record states of the program, as SimGrid "
            "does with --cfg=tracing/actor:yes"
        )
    if not tasks:
        raise FormatError(
            f"{path}: no state is a task; states= names them; the trace has {shown(', '.join(names), 300)}"
        )
    report.facts.update(
        states=len(trace.intervals),
        states_left_out=len(trace.intervals) - len(tasks),
        zero_length_states=trace.zero_length,
    )
    if len(tasks) < len(trace.intervals):
        chosen = "those that are not of jobs" if jobs and states is None else "waiting ones or not asked for"
        report.note(
            f"{counted(len(trace.intervals) - len(tasks), 'state')} left out ({chosen}); states= chooses"
        )
    for count, noun, rest in (
        (trace.zero_length, "state", "without a length, left out"),
        (trace.unfinished, "state", "not ended by the trace, left out"),
        (trace.rejoined, "state", "of which the file has the end first, put together"),
        (trace.unmatched_pops, "end", "of a state that never began"),
        (trace.backwards, "state", "that ends before it begins, left out"),
        (trace.half_links, "link", "with a start or an end alone, left out"),
    ):
        report.note(f"{counted(count, noun)} {rest}", when=count)
    return sorted(tasks, key=lambda interval: (interval.start_ns, interval.finish_ns))


def _graph(
    path: Path, trace: Trace, tasks: Sequence[Interval], dag: object, report: ImportReport
) -> TaskGraph:
    tracks = {interval.track for interval in tasks}
    several = len({container for container, _ in tracks}) < len(tracks)
    lanes = {track: _lane(path, trace, track, several) for track in tracks}
    kinds = [trace.value_name(interval) for interval in tasks]
    return TaskGraph.from_edges(
        [(interval.finish_ns - interval.start_ns) / 1e9 for interval in tasks],
        _edges(path, trace, tasks, dag, report),
        kinds=kinds,
        names=[
            f"{kind} {i.event.values.get('JobId', k)}"
            for k, (kind, i) in enumerate(zip(kinds, tasks, strict=True))
        ],
        shapes=[format_shape(_record(interval).shape()) for interval in tasks],
        flops=[_record(interval).flops() for interval in tasks],
        name=plain_name(path, ".trace", ".paje"),
        report=report,
        recording=recording(
            path,
            [interval.start_ns for interval in tasks],
            [interval.finish_ns for interval in tasks],
            *numbered([lanes[interval.track] for interval in tasks]),
        ),
    )


def _record(interval: Interval) -> Record:
    """Return a job's state as one of StarPU's records."""
    event = interval.event
    parameters = event.values.get("Params", "").replace("_", " ")
    return Record(event.file, event.line, event.values | {"Parameters": parameters})


def _lane(path: Path, trace: Trace, track: tuple[str, str], several: bool) -> str:
    name = trace.container_name(track[0], path)
    return f"{name} {trace.type_names.get(track[1], track[1])}" if several else name


def _edges(
    path: Path, trace: Trace, tasks: Sequence[Interval], dag: object, report: ImportReport
) -> list[Edge]:
    if dag is not None:
        jobs = {interval.event.values.get("JobId", ""): interval for interval in tasks}
        if len(jobs) < len(tasks):
            raise FormatError(
                f"{path}: dag is given, but not every task has a JobId of its own, as StarPU's have"
            )
        return dag_edges(given(path, "dag", dag, "the dag.dot"), list(jobs), [], report)
    joined = _linked(trace, tasks)
    report.facts.update(links=len(trace.links), links_used=len(joined))
    report.doubt(
        "a chain per lane: the format records no dependencies, so that no policy runs the tasks of a lane in parallel"
        + ("; links join lanes" if joined else "")
        + (
            "; give StarPU's dag.dot as dag=, or import its tasks.rec"
            if "JobId" in tasks[0].event.values
            else ""
        )
    )
    return chain(interval.track for interval in tasks) + joined


def _linked(trace: Trace, tasks: Sequence[Interval]) -> list[Edge]:
    """Return, for each link, the last task that had ended at its start, and the first one after its end."""
    on = multimap((interval.track[0], i) for i, interval in enumerate(tasks))
    starts = {c: [tasks[i].start_ns for i in members] for c, members in on.items()}
    by_finish = {c: sorted(members, key=lambda i: tasks[i].finish_ns) for c, members in on.items()}
    finishes = {c: [tasks[i].finish_ns for i in members] for c, members in by_finish.items()}
    found = set()
    for link in trace.links:
        sent = bisect_right(finishes.get(link.source, []), min(link.sent_ns, link.received_ns))
        received = bisect_left(starts.get(link.target, []), link.received_ns)
        if sent and received < len(on.get(link.target, ())):
            found.add((by_finish[link.source][sent - 1], on[link.target][received]))
    return sorted(found)
