"""The graph of a trace: its tasks in the order of their numbers, taskwaits behind them, edges, and the report."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from simsched.errors import GraphError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.loading import plain_name
from simsched.multimap import multimap
from simsched.text import counted, printable
from simsched.traces.paraver.records import Records
from simsched.traces.paraver.tasks import Interval, Key, TaskTrace, tasks_of
from simsched.traces.paraver.vocabulary import Event, Vocabulary
from simsched.traces.shared.timeline import recording


def dependencies(path: Path, trace: TaskTrace, index: dict[Key, int]) -> dict[tuple[int, int], None]:
    """Return the dependencies between tasks that ran, from events and communications together, each once.

    Raises
    ------
    FormatError
        If concurrent or commutative tasks, of which each depends on each, make more than the budget of the load allows.
    """
    found = {
        (index[a], index[b]): None
        for a, b in (*trace.by_events, *trace.by_communications)
        if a in index and b in index and a != b
    }
    for firsts, seconds in _meetings(trace):
        budget().check(path, len(found) + len(firsts) * len(seconds), "edges")
        found |= {
            (index[a], index[b]): None
            for a in firsts
            for b in seconds
            if a in index and b in index and a != b
        }
    return found


def _meetings(trace: TaskTrace) -> Iterator[tuple[list[Key], list[Key]]]:
    """Yield, for each meeting point of concurrent or commutative tasks, those before and those after it."""
    points: dict[Key, tuple[list[Key], list[Key]]] = {}
    for (a, b), why in trace.meetings.items():
        task, point = (a, b) if why == 1 else (b, a)
        points.setdefault(point, ([], []))[why - 1].append(task)
    yield from points.values()


def taskwaits(trace: TaskTrace, keys: Sequence[Key]) -> list[tuple[list[int], list[int]]]:
    """Return, for each taskwait with tasks on both sides, the last created before it and the first after it.

    Parameters
    ----------
    trace : TaskTrace
        Its tasks.
    keys : sequence of Key
        The tasks, by index.

    Returns
    -------
    list of (list of int, list of int)
        Indices of the tasks that the same task created since the taskwait before, and until the one after.
    """
    children = multimap(
        (parent, (trace.created[key][0], task))
        for task, key in enumerate(keys)
        if key in trace.created and (parent := trace.created[key][1]) is not None
    )
    waits = multimap((parent, time_ns) for time_ns, parent in sorted(trace.taskwaits))
    return [
        pair for parent, times in waits.items() for pair in pairwise(_groups(children.get(parent, []), times))
    ]


def _groups(created: list[tuple[int, int]], waits: list[int]) -> list[list[int]]:
    """Return the tasks between the taskwaits, without empty groups."""
    groups = multimap((bisect_left(waits, time_ns), task) for time_ns, task in sorted(created))
    return list(groups.values())


TASKWAIT = "taskwait"


@dataclass(frozen=True)
class _Row:
    """A task of the graph: from its first start to its last finish, with its running time in between."""

    kind: str
    name: str
    scope: str
    start_ns: int
    finish_ns: int
    ran_ns: int
    thread: int


def assemble(
    path: Path,
    records: Records,
    trace: TaskTrace,
    vocabulary: Vocabulary,
    names: Sequence[str],
    report: ImportReport,
) -> TaskGraph:
    """Return the graph.

    Parameters
    ----------
    path : Path
        The trace.
    records : Records
        Its records, for threads and length.
    trace : TaskTrace
        What the records say of tasks.
    vocabulary : Vocabulary
        Meaning of the numbers.
    names : sequence of str
        Of the threads, in the header's order.
    report : ImportReport
        Continued.

    Raises
    ------
    FormatError
        If there are too many dependencies.
    GraphError
        If no task ran, or dependencies form a cycle.
    """
    every = list(tasks_of(trace, vocabulary))
    ran = {key for key, task in trace.tasks.items() if task.visits or task.bodies}
    keys = [key for key in every if key in ran and key not in trace.unfinished]
    if not keys:
        raise GraphError(f"{path}: no task in it ran to its end; is the trace cut off?")
    rows = [_row(key, trace, vocabulary) for key in keys]
    edges = dependencies(path, trace, {key: i for i, key in enumerate(keys)})
    _tell(report, records, trace, keys, rows, edges, len(every))
    _add_taskwaits(trace, keys, rows, edges, report)
    return TaskGraph.from_edges(
        [row.ran_ns / 1e9 for row in rows],
        np.array(list(edges), np.int64).reshape(-1, 2),
        kinds=[row.kind for row in rows],
        names=[row.name for row in rows],
        scopes=[row.scope for row in rows],
        name=plain_name(path, ".prv"),
        report=report,
        recording=recording(
            path,
            [row.start_ns for row in rows],
            [row.finish_ns for row in rows],
            *_lanes(rows, records, names),
        ),
    )


def _add_taskwaits(
    trace: TaskTrace,
    keys: Sequence[Key],
    rows: list[_Row],
    edges: dict[tuple[int, int], None],
    report: ImportReport,
) -> None:
    waits = taskwaits(trace, keys)
    for before, after in waits:
        edges |= {(task, len(rows)): None for task in before} | {(len(rows), task): None for task in after}
        last = max((rows[task] for task in before), key=lambda row: row.finish_ns)
        rows.append(_Row(TASKWAIT, TASKWAIT, last.scope, last.finish_ns, last.finish_ns, 0, last.thread))
    if waits:
        report.facts["taskwaits"] = len(waits)


def _row(key: Key, trace: TaskTrace, vocabulary: Vocabulary) -> _Row:
    task = trace.tasks[key]
    stretches = task.bodies or task.visits
    kind = (
        vocabulary.value(Event.FUNCTION, task.function)
        or vocabulary.value(Event.LOCATION, task.location)
        or "task"
    )
    longest = max(stretches, key=_length)
    return _Row(
        kind,
        f"{kind} {key.number}",
        f"{key.application}.{key.process}" if (key.application, key.process) != (1, 1) else "",
        min(part.start_ns for part in stretches),
        max(part.finish_ns for part in stretches),
        sum(map(_length, stretches)),
        longest.thread,
    )


def _length(stretch: Interval) -> int:
    return stretch.finish_ns - stretch.start_ns


def _lanes(rows: Sequence[_Row], records: Records, names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the lane of each task and the names of all, by application, process and thread."""
    named = {thread: printable(n) for thread, n in zip(records.header.threads, names, strict=False) if n}
    used = sorted({row.thread for row in rows}, key=lambda thread: records.threads[thread])
    lane = {thread: i for i, thread in enumerate(used)}
    places = [records.threads[thread] for thread in used]
    return [lane[row.thread] for row in rows], [
        named.get(place, "THREAD " + ".".join(map(str, place))) for place in places
    ]


def _tell(
    report: ImportReport, records: Records, trace: TaskTrace, keys: Sequence[Key], rows: Sequence[_Row],
    edges: Mapping[tuple[int, int], None], every: int,
) -> None:  # fmt: skip
    facts = report.facts
    facts.update(
        trace_s=records.header.duration_ns / 1e9,
        threads=len(records.header.threads) or len(records.threads),
        dependency_events=len(trace.by_events) + len(trace.meetings),
        dependency_communications=len(trace.by_communications),
        tasks_unfinished=every - len(keys),
        zero_length_tasks=sum(row.ran_ns == 0 for row in rows),
    )
    _tell_outside(report, trace, keys, rows, edges)
    report.note(
        f"{counted(facts['tasks_unfinished'], 'task')} never ran to an end, left out with all dependencies",
        when=facts["tasks_unfinished"],
    )
    report.doubt(
        "no dependencies in the trace: record with --instrument-default=all, or they are none of this program's",
        when=not edges,
    )
    differing = trace.by_events.keys() ^ trace.by_communications.keys()
    if trace.by_events and trace.by_communications and differing:
        report.note(
            f"{counted(len(differing), 'dependency', 'dependencies')} named only by events or only by "
            "communications; all were kept"
        )
    parents = set(keys)
    if nested := sum(trace.created[key][1] in parents for key in keys if key in trace.created):
        facts["tasks_inside_tasks"] = nested
        report.note(
            f"{counted(nested, 'task')} created inside other tasks; no edge keeps one behind the other"
        )


def _tell_outside(
    report: ImportReport,
    trace: TaskTrace,
    keys: Sequence[Key],
    rows: Sequence[_Row],
    edges: Mapping[tuple[int, int], None],
) -> None:
    """Report limits of whole tasks: runtime, switches, dependents that ran inside predecessors."""
    facts, tasks = report.facts, [trace.tasks[key] for key in keys]
    visited_ns = sum(_length(visit) for task in tasks if task.bodies for visit in task.visits)
    facts.update(
        in_runtime_s=max(visited_ns - sum(r.ran_ns for r, t in zip(rows, tasks, strict=True) if t.bodies), 0)
        / 1e9,
        tasks_switched_out=sum(len(task.bodies or task.visits) > 1 for task in tasks),
        switched_out_s=sum(row.finish_ns - row.start_ns - row.ran_ns for row in rows) / 1e9,
    )
    left_ns = [max((visit.finish_ns for visit in task.visits), default=0) for task in tasks]
    facts["inline_dependents"] = sum(rows[b].start_ns < left_ns[a] for a, b in edges)
    report.note(
        f"{counted(facts['inline_dependents'], 'dependent')} began while a thread was still in the predecessor, whose "
        "body had run: the runtime starts such tasks from there",
        when=facts["inline_dependents"],
    )
    report.note(
        f"{counted(facts['tasks_switched_out'], 'task')} switched out in between: duration is the running time, "
        "recorded times are first start and last finish",
        when=facts["tasks_switched_out"],
    )
