"""Chrome traces that simsched wrote, schedules and recordings of threads: they hold the graph, and give it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.errors import FormatError, GraphError
from simsched.graph.report import ImportReport
from simsched.text import printable
from simsched.traces.chrome.events import Events, Span
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.processors import recorded_on
from simsched.traces.shared.timeline import recording

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph

#: Of the lanes of executors; another one has the lanes of cores, where tasks stand again.
EXECUTORS, CORES = 1, 2
#: Notes of recorders that are taken over, and of each so many characters.
MOST_NOTES, MOST_CHARACTERS = 10, 300


def made_by_simsched(events: Events) -> bool:
    """Tell by what `simsched.traces.chrome.writer` writes beside the events."""
    return isinstance(events.other.get("simsched"), str)


def graph(path: Path, events: Events, report: ImportReport) -> TaskGraph:
    """Return the graph of the schedule, its durations those of the schedule, which is its recording.

    Raises
    ------
    FormatError
        If a task is missing or occurs twice, or an event lacks what simsched writes.
    GraphError
        If the tasks form a cycle.
    """
    from simsched.graph.taskgraph import TaskGraph

    tasks = _tasks(path, [span for span in events.spans if events.lanes[span.lane][0] == str(EXECUTORS)])
    lanes, lane = np.unique([task.lane for task in tasks], return_inverse=True)
    start_ns, finish_ns = (
        np.array([getattr(t, key) for t in tasks], np.int64) for key in ("start_ns", "finish_ns")
    )
    _tell_origin(events, report)
    try:
        return TaskGraph.from_edges(
            (finish_ns - start_ns) / 1e9,
            [(before, i) for i, task in enumerate(tasks) for before in _before(path, task, len(tasks))],
            kinds=[_text(path, task, "kind") for task in tasks],
            names=[task.name for task in tasks],
            widths=[_whole(path, task.order, task.args, "width", 1, 2**31) for task in tasks] or 1,
            name=str(events.other.get("graph", path.name)),
            recorded_on=recorded_on(events.other.get("cpu_model")),
            report=report,
            recording=recording(
                path, start_ns, finish_ns, lane, events.lane_names(lanes.tolist()), origin_ns=0
            ),
        )
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None


def _tell_origin(events: Events, report: ImportReport) -> None:
    """Note what wrote the trace; a recorder, unlike a replay, has notes that matter to the graph."""
    if not isinstance(events.other.get("recorder"), str):
        report.note("simsched wrote this trace; durations are those of its schedule")
        return
    report.note("simsched's recorder wrote this trace; durations are measured")
    notes = events.other.get("notes")
    for note in notes[:MOST_NOTES] if isinstance(notes, list) else []:
        report.note(printable(note[:MOST_CHARACTERS]) if isinstance(note, str) else shown(note))


def _tasks(path: Path, spans: list[Span]) -> list[Span]:
    """Return the spans in the order of their tasks."""
    found: dict[int, Span] = {}
    for span in spans:
        task = _whole(path, span.order, span.args, "task", 0, len(spans))
        if task in found:
            raise FormatError(
                f"{path}: event {span.order}: task {task} occurs twice; the file was edited or damaged"
            )
        found[task] = span
    return [found[task] for task in range(len(spans))]


def _before(path: Path, span: Span, n: int) -> list[int]:
    after = span.args.get("after", [])
    if not isinstance(after, list):
        raise FormatError(f"{path}: event {span.order}: after is {shown(after)}; expected a list of tasks")
    return [_whole(path, span.order, {"after": before}, "after", 0, n) for before in after]


def _whole(path: Path, order: int, args: dict[str, Any], key: str, least: int, end: int) -> int:
    value = args.get(key)
    if type(value) is not int or not least <= value < end:
        raise FormatError(
            f"{path}: event {order}: {key} is {shown(value)}; expected a whole number from {least} to {end - 1}; "
            "the file was edited or damaged"
        )
    return value


def _text(path: Path, span: Span, key: str) -> str:
    value = span.args.get(key, "")
    if not isinstance(value, str):
        raise FormatError(f"{path}: event {span.order}: {key} is {shown(value)}; expected a text")
    return value
