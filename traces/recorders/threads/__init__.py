"""A recorder of runs of `concurrent.futures`, joblib and plain threads, as a Chrome trace with dependencies.

In a program::

    from simsched.traces.recorders.threads import record

    with record("run.json"):
        main()

and, without a change of the program::

    python -m simsched.traces.recorders.threads --out run.json script.py ARGUMENTS

`simsched.load` makes of either file a graph with its recorded schedule. See docs/formats/threads.md for the rules of
tasks and dependencies.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import accumulate
from pathlib import Path
from threading import get_ident
from typing import Any

from simsched.errors import SimschedError
from simsched.files import check_place
from simsched.graph.loading import plain_name
from simsched.system import usable_cpus
from simsched.text import counted
from simsched.traces.chrome.writer import EXECUTORS, write_trace
from simsched.traces.recorders.threads.patching import activate, active, patched
from simsched.traces.recorders.threads.tasks import Lane, Part, Recording
from simsched.traces.shared.libraries import GLOBAL_LOCK, cpu_model
from simsched.version import version

__all__ = ["record", "task"]

EDGES = ("waits", "arguments")
MOST_TASKS = 500_000


@contextmanager
def record(out: str | Path, *, edges: str = "waits", most_tasks: int = MOST_TASKS) -> Iterator[None]:
    """Record what the block submits to executors, joblib and threads, and write it when the block ends.

    Parameters
    ----------
    out : str or Path
        The file, by custom `*.json` or `*.json.gz`.
    edges : str
        "waits": a task depends on all whose results its submitter had waited for. "arguments": only on those whose
        results are among its arguments; the recording keeps all results until it ends.
    most_tasks : int
        Once there are so many tasks and parts of tasks (some 300 bytes each), further calls run unrecorded.

    Raises
    ------
    SimschedError
        If a recording is already running, an argument is impossible, or the file cannot be written.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> with TemporaryDirectory() as folder:
    ...     with record(f"{folder}/run.json"), ThreadPoolExecutor(2) as pool:
    ...         parts = [pool.submit(sum, [i, 1]).result() for i in range(2)]
    ...         total = pool.submit(max, parts).result()
    ...     graph = ss.load(f"{folder}/run.json")
    >>> graph.kinds.to_list(), graph.n_edges, graph.recorded is not None
    (['sum', 'sum', 'max'], 2, True)
    """
    path = Path(out)
    check_place(path)
    if edges not in EDGES:
        raise SimschedError(f"record: edges is {edges!r:.60}; expected one of {', '.join(EDGES)}")
    if type(most_tasks) is not int or most_tasks < 1:
        raise SimschedError(f"record: most_tasks is {most_tasks!r:.60}; expected a whole number above zero")
    if active() is not None:
        raise SimschedError("record: a recording is already running; there can be one at a time")
    recording = Recording(edges == "arguments", most_tasks)
    activate(recording)
    try:
        with patched():
            yield
    finally:
        activate(None)
        recording.closed = True
        write(recording, path)


@contextmanager
def task(name: str) -> Iterator[None]:
    """Make a stretch of code a task, in any thread, while a recording runs; also as a decorator.

    Tasks of one thread depend on each other in their order, and on the tasks that the thread had waited for.

    Parameters
    ----------
    name : str
        Its kind.

    Examples
    --------
    >>> @task("normalise")
    ... def normalise(values):
    ...     return [value / max(values) for value in values]
    >>> normalise([1.0, 2.0])
    [0.5, 1.0]
    """
    if (recording := active()) is None:
        yield
        return
    context = recording.context
    named = recording.add(name, context.release())
    try:
        with nullcontext() if named is None else recording.running(named):
            yield
    finally:
        context.learn([named] if named is not None else [])
        context.reopen()


#: Beyond this many arrows a viewer would open the file twice as slowly.
MOST_ARROWS = 200_000


def write(recording: Recording, path: Path) -> None:
    """Write a recording; a name ending in .gz is compressed.

    Raises
    ------
    SimschedError
        If the file cannot be written.
    """
    name = plain_name(path, ".json")
    other = {
        "simsched": version(),
        "recorder": "threads",
        "graph": name,
        "cpu_model": cpu_model(),
        "doubts": list(_doubts(recording)),
        "notes": list(_notes(recording)),
    }
    write_trace(path, other, (json.dumps(event, separators=(",", ":")) for event in _events(recording)))


def _doubts(recording: Recording) -> Iterator[str]:
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    if locked and any(part.lane[0] == 0 and part.lane[1] != get_ident() for part in recording.parts):
        yield GLOBAL_LOCK
    running = accumulate(change for _, change in sorted(_changes(recording)))
    most, cpus = max(running, default=0), usable_cpus()
    if most > cpus:
        yield (
            f"up to {most} tasks ran at once on {counted(cpus, 'CPU')}: their waits for a CPU are recorded as work; "
            f"record {counted(cpus, 'worker')}"
        )


def _changes(recording: Recording) -> Iterator[tuple[int, int]]:
    """Yield the times at which more or fewer tasks run, and by how many; at one time the ends come first."""
    for part in recording.parts:
        if part.finish_ns > part.start_ns:
            yield part.start_ns, 1
            yield part.finish_ns, -1


def _notes(recording: Recording) -> Iterator[str]:
    tasks = recording.tasks
    counts = {
        "tasks that failed (raised an exception)": sum(task.failed for task in tasks),
        "tasks left out that never ran (cancelled or refused)": sum(task.last is None for task in tasks),
        "tasks that had not finished when the recording ended, left out from there on": sum(
            task.last is not None and not task.finished for task in tasks
        ),
        f"calls not recorded, after the first {recording.most_tasks} tasks and parts": recording.unrecorded,
    }
    yield from (f"{what}: {count}" for what, count in counts.items() if count)
    if recording.by_arguments:
        yield "dependencies are those of arguments; the order in which a thread waited for results is left out"


def _events(recording: Recording) -> Iterator[dict[str, Any]]:
    parts = sorted((part for part in recording.parts if part.finish_ns >= 0), key=lambda part: part.start_ns)
    lanes = _lanes(parts)
    yield {"ph": "M", "pid": EXECUTORS, "name": "process_name", "args": {"name": "threads"}}
    for number, name in lanes.values():
        yield {"ph": "M", "pid": EXECUTORS, "tid": number, "name": "thread_name", "args": {"name": name}}
    index = {part: i for i, part in enumerate(parts)}
    yield from (_task(recording, part, index, lanes[part.lane][0]) for part in parts)
    arrows = ((before, part) for part in parts for before in part.after if before in index)
    for number, (before, part) in zip(range(MOST_ARROWS), arrows, strict=False):
        yield from _arrow(recording, number, before, part, lanes)


def _lanes(parts: list[Part]) -> dict[Lane, tuple[int, str]]:
    """Return number and name of each lane, in the order of their first tasks."""
    found: dict[Lane, tuple[int, str]] = {}
    processes = 0
    for lane in dict.fromkeys(part.lane for part in parts):
        processes += lane[0] != 0
        found[lane] = (len(found), lane[2] or f"process {processes}")
    return found


def _task(recording: Recording, part: Part, index: dict[Part, int], lane: int) -> dict[str, Any]:
    task = part.task
    name = task.kind if task.number < 0 else f"{task.kind} {task.number}"
    args = {
        "task": index[part],
        "kind": task.kind,
        "width": 1,
        "after": sorted(index[before] for before in part.after if before in index),
    }
    if part.number == 0 and task.number >= 0:
        args |= {"submitted_us": _us(task.submitted_ns - recording.started_ns)}
        args |= {"wait_us": _us(part.start_ns - task.submitted_ns)}
    if task.failed:
        args |= {"failed": True}
    return {
        "ph": "X", "pid": EXECUTORS, "tid": lane, "cat": task.kind,
        "name": f"{name}.{part.number}" if part.number else name,
        "ts": _us(part.start_ns - recording.started_ns), "dur": _us(part.finish_ns - part.start_ns), "args": args,
    }  # fmt: skip


def _arrow(
    recording: Recording, number: int, before: Part, part: Part, lanes: dict[Lane, tuple[int, str]]
) -> Iterator[dict[str, Any]]:
    # An arrow leaves from within its slice.
    leaves_ns = max(before.start_ns, before.finish_ns - 1) - recording.started_ns
    ends = (("s", before, leaves_ns), ("f", part, part.start_ns - recording.started_ns))
    for phase, end, time_ns in ends:
        event = {
            "ph": phase,
            "pid": EXECUTORS,
            "tid": lanes[end.lane][0],
            "name": "dependency",
            "cat": "dependency",
        }
        yield event | {"id": number, "ts": _us(time_ns)} | ({"bp": "e"} if phase == "f" else {})


def _us(ns: int) -> float:
    # The shortest decimal form keeps all nanoseconds.
    return ns / 1000
