"""Chrome's trace format, which chrome://tracing and Perfetto open: its writer, and graphs from what simsched wrote.

Format: "Trace Event Format", Google, 2016, the JSON object form. Times are microseconds; they are written
with three decimals from whole nanoseconds: a task that starts when another finishes does so in the file too.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from simsched.errors import LostObjectsWarning, SimschedError
from simsched.files import replacing
from simsched.graph.columns import plain_text
from simsched.graph.recording import RECORDED_ON
from simsched.graph.report import KINDS_ARE, ImportReport
from simsched.graph.saving import Writer
from simsched.graph.taskgraph import Seconds, TaskGraph
from simsched.schedule import Schedule
from simsched.schedule.export import description
from simsched.schedule.runs import Runs
from simsched.text import counted, printable
from simsched.traces.chrome.events import Events
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import recorded_on, written_origin
from simsched.traces.shared.places import Place
from simsched.traces.shared.spans import recorded

#: Process of the lanes of executors; another one has the lanes of cores, where tasks appear again.
EXECUTORS, CORES = 1, 2
#: Most notes of recorders that are copied, and most characters of each.
MOST_NOTES, MOST_CHARACTERS = 10, 300
#: What is known of a task's work, in its `args`.
TEXTS, WORK = ("shape", "scope"), ("flops", "bytes_B")
#: Tasks of which a nanosecond is a percent or more.
SHORT_NS = 100
_EDITED = "the file was edited or damaged"


def made_by_simsched(events: Events) -> bool:
    """Return whether simsched wrote a file, by what `ChromeWriter` writes beside the events."""
    return isinstance(events.other.get("simsched"), str)


def graph_written(path: Path, events: Events, report: ImportReport) -> TaskGraph:
    """Return the graph of the schedule, its durations those of the schedule, which is its recording.

    Raises
    ------
    FormatError
        If a task is missing or occurs twice, or an event lacks data that simsched writes.
    GraphError
        If the tasks form a cycle.
    """
    of_executors = np.array([process == str(EXECUTORS) for process, _ in events.lanes], np.bool_)
    events.keep(np.flatnonzero(of_executors[events.spans.lane]))
    _sort(path, events)
    _tell_origin(events, report)
    if not report.facts.get(KINDS_ARE):
        tell_rounding(events.spans.finish_ns - events.spans.start_ns, report)
    tasks, told = (
        events.spans,
        [(Place(path, "event", order), args) for order, args in zip(events.order, events.args, strict=True)],
    )
    text = {c: [place.text(args.get(c, ""), c) for place, args in told] for c in TEXTS}
    number = {c: [_known(place, args.get(c), c) for place, args in told] for c in WORK}
    return TaskGraph.from_edges(
        (tasks.finish_ns - tasks.start_ns) / 1e9,
        [(before, i) for i, (place, args) in enumerate(told) for before in _before(place, args, len(tasks))],
        kinds=[place.text(args.get("kind", ""), "kind") for place, args in told],
        shapes=text["shape"],
        scopes=text["scope"],
        flops=number["flops"],
        bytes_B=number["bytes_B"],
        names=[tasks.labels[code] for code in tasks.name.tolist()],
        widths=[_whole(place, args.get("width"), "width", 1, 2**31) for place, args in told] or 1,
        name=str(events.other.get("graph", path.name)),
        recorded_on=written_origin(path, events.other.get(RECORDED_ON))
        or recorded_on(events.other.get("cpu_model")),
        report=report,
        recording=recorded(path, tasks),
    )


def _tell_origin(events: Events, report: ImportReport) -> None:
    """Note the writer of the trace; a recorder, unlike a replay, has notes that matter to the graph."""
    if whose := plain_text(events.other.get(KINDS_ARE)):
        report.facts[KINDS_ARE] = whose
    if not isinstance(events.other.get("recorder"), str):
        report.note("simsched wrote this trace; durations are those of its schedule")
        return
    report.facts[KINDS_ARE] = "functions"
    report.note("simsched's recorder wrote this trace; durations are measured")
    for key, say in (("doubts", report.doubt), ("notes", report.note)):
        told = events.other.get(key)
        for note in told[:MOST_NOTES] if isinstance(told, list) else []:
            say(printable(note[:MOST_CHARACTERS]) if isinstance(note, str) else shown(note))


def tell_rounding(lengths_ns: npt.NDArray[np.int64], report: ImportReport) -> None:
    """Note tasks of a written schedule that are so short that whole nanoseconds do not tell their seconds.

    Parameters
    ----------
    lengths_ns : int64 array, shape (n,)
    report : ImportReport
    """
    short = int((lengths_ns < SHORT_NS).sum())
    report.note(
        f"{counted(short, 'task takes', 'tasks take')} less than {SHORT_NS} ns, and traces of schedules have whole "
        "nanoseconds: their seconds are off by one at most, and zero where they take less; .simsched keeps a graph's",
        when=short,
    )


def _sort(path: Path, events: Events) -> None:
    """Put the spans into the order of their tasks."""
    rows: dict[int, int] = {}
    for row, (order, args) in enumerate(zip(events.order, events.args, strict=True)):
        place = Place(path, "event", order)
        task = _whole(place, args.get("task"), "task", 0, len(events.spans))
        if rows.setdefault(task, row) != row:
            raise place.error(f"task {task} occurs twice", _EDITED)
    events.keep(np.array([rows[task] for task in range(len(rows))], np.int64))


def _known(place: Place, value: Any, key: str) -> float:
    """Return a number of zero or more; NaN where there is none."""
    if value is None:
        return math.nan
    if type(value) not in (int, Decimal) or not 0 <= value < 10**300:
        raise place.error(f"{key} is {shown(value)}; expected a number of zero or more", _EDITED)
    return float(value)


def _before(place: Place, args: dict[str, Any], n: int) -> list[int]:
    after = args.get("after", [])
    if not isinstance(after, list):
        raise place.error(f"after is {shown(after)}; expected a list of tasks", _EDITED)
    return [_whole(place, task, "after", 0, n) for task in after]


def _whole(place: Place, value: object, key: str, least: int, end: int) -> int:
    if type(value) is not int or not least <= value < end:
        raise place.error(
            f"{key} is {shown(value)}; expected a whole number from {least} to {end - 1}", _EDITED
        )
    return value


# One event per task and core: beyond this many they would double the time that a viewer takes to open.
MAX_CORE_EVENTS = 200_000
#: 146 years: nanoseconds, and differences of two times, still fit 64 bits.
MAX_S = 2**62 / 1e9


def _write(schedule: Schedule, path: Path) -> None:
    """Write a schedule; a name ending in .gz is compressed.

    Process 1 has a lane per executor and a counter of running tasks; process 2 has a lane per core, where they
    make no more than 200,000 events together, with runs that were aborted. `otherData` holds the schedule's inputs.

    Raises
    ------
    SimschedError
        If a time is unknown, infinite or beyond 2**62 ns, or the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     ss.simulate(graph, "generic[cores=2]", "fifo", layout="2x1").save(f"{folder}/run.json")
    ...     back = ss.load(f"{folder}/run.json")
    >>> back.report.format, back.recorded.makespan_s
    ('chrome', 3.0)
    """
    for times in (schedule.ready_s, schedule.start_s, schedule.finish_s):
        refuse_unwritable(times, "Chrome trace")
    if schedule.is_recorded and schedule.graph.data is not None:
        lost = counted(schedule.graph.data.n, "data object")
        warnings.warn(f"not written: {lost}; .simsched keeps everything", LostObjectsWarning, stacklevel=2)
    write_trace(path, description(schedule) | _origin(schedule), _events(schedule))


def _origin(schedule: Schedule) -> dict[str, str]:
    """Return what a recorded run has beside a schedule's description: its machine, and whose names its kinds are."""
    graph = schedule.graph
    if not schedule.is_recorded:
        return {}
    whose = str(graph.report.facts.get(KINDS_ARE, ""))
    told = {KINDS_ARE: whose, RECORDED_ON: graph.recorded_on.written if graph.recorded_on else ""}
    return {key: text for key, text in told.items() if text}


CHROME = Writer(
    title="Chrome trace of a schedule (Perfetto and chrome://tracing open it)",
    suffixes=(".json", ".json.gz"),
    writes="schedule",
    write=_write,
)


def refuse_unwritable(times_s: Seconds, what: str) -> None:
    """Raise `SimschedError` if a time cannot be counted in nanoseconds; `what` names the file in messages."""
    unknown = np.flatnonzero(~np.isfinite(times_s))
    if len(unknown):
        raise SimschedError(f"task {unknown[0]} has no finite start or finish, which a {what} needs")
    late = np.flatnonzero(np.abs(times_s) > MAX_S)
    if len(late):
        raise SimschedError(
            f"task {late[0]} is ready, starts or finishes at {times_s[late[0]]:g} s; a {what} counts "
            f"nanoseconds and ends at {MAX_S:g} s; write .parquet or .csv, or give durations in seconds"
        )


def write_trace(path: Path, other: Mapping[str, Any], events: Iterable[str]) -> None:
    """Write events, each as JSON, and other data beside them; a name ending in .gz is compressed."""
    with _text_file(path) as file:
        file.write(f'{{"displayTimeUnit":"ns","otherData":{json.dumps(other)},"traceEvents":[\n')
        for i, event in enumerate(events):
            file.write(",\n" + event if i else event)
        file.write("\n]}\n")


@contextmanager
def _text_file(path: Path) -> Iterator[io.TextIOWrapper]:
    with replacing(path) as raw:
        packed: IO[bytes] | gzip.GzipFile = raw
        if path.name.lower().endswith(".gz"):
            # No name and no time in the header, so that the same schedule gives the same bytes.
            packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0)
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        try:
            yield text
        finally:
            text.detach()
            if packed is not raw:
                packed.close()


def _events(schedule: Schedule) -> Iterator[str]:
    from simsched.plots.corunning import corunning_frame

    with_cores = int(schedule.teams.degrees()[Runs.of(schedule).team].sum()) <= MAX_CORE_EVENTS
    yield from _lanes(EXECUTORS, "executors", "executor", np.unique(schedule.executor).tolist())
    if with_cores:
        yield from _lanes(CORES, "cores", "core", range(schedule.n_cores))
    yield from _task_events(schedule, with_cores)
    yield from _aborted_events(schedule) if with_cores else ()
    frame = corunning_frame(schedule)
    for ts, running in zip(
        nanoseconds(frame["time_s"].to_numpy()), frame["tasks_running"].tolist(), strict=True
    ):
        what = f'"ts":{_us(ts)},"args":{{"tasks":{running}}}'
        yield f'{{"ph":"C","pid":{EXECUTORS},"name":"tasks running",{what}}}'


def _lanes(pid: int, process: str, thread: str, lanes: Iterable[int]) -> Iterator[str]:
    yield f'{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":"{process}"}}}}'
    yield f'{{"ph":"M","pid":{pid},"name":"process_sort_index","args":{{"sort_index":{pid}}}}}'
    for lane in lanes:
        head = f'{{"ph":"M","pid":{pid},"tid":{lane},'
        yield f'{head}"name":"thread_name","args":{{"name":"{thread} {lane}"}}}}'
        yield f'{head}"name":"thread_sort_index","args":{{"sort_index":{lane}}}}}'


def _task_events(schedule: Schedule, with_cores: bool) -> Iterator[str]:
    labels = [_text(label) for label in schedule.graph.kinds.labels]
    kinds, names = schedule.graph.kinds.codes.tolist(), _names(schedule)
    teams, lanes = schedule.team.tolist(), schedule.executor.tolist()
    ready, start, finish = (
        nanoseconds(schedule.ready_s),
        nanoseconds(schedule.start_s),
        nanoseconds(schedule.finish_s),
    )
    members = [schedule.teams.neighbours(team).tolist() for team in range(schedule.teams.n)]
    spelled = [_ranges(cores) for cores in members]
    before, work = schedule.graph.predecessors, _work(schedule.graph)
    widths = schedule.graph.widths.tolist() if schedule.is_recorded else None
    for task, name in enumerate(names):
        kind, cores = labels[kinds[task]], members[teams[task]]
        when = f'"ts":{_us(start[task])},"dur":{_us(finish[task] - start[task])}'
        what = f'"name":{name},"cat":{kind},{when},"args":{{"task":{task}'
        yield (
            f'{{"ph":"X","pid":{EXECUTORS},"tid":{lanes[task]},{what},"kind":{kind},'
            f'"ready_us":{_us(ready[task])},"wait_us":{_us(start[task] - ready[task])},'
            f'"width":{widths[task] if widths else len(cores)},"cores":"{spelled[teams[task]]}",'
            f'{next(work)}"after":{before.neighbours(task).tolist()}}}}}'
        )
        for core in cores if with_cores else ():
            yield f'{{"ph":"X","pid":{CORES},"tid":{core},{what}}}}}'


def _work(graph: TaskGraph) -> Iterator[str]:
    """Yield the shapes, scope, operations and bytes of each task, as far as they are known, as parts of its `args`."""
    shapes, scopes = graph.shapes.to_list(), graph.scopes.to_list()
    for shape, scope, flops, bytes_B in zip(
        shapes, scopes, graph.flops.tolist(), graph.bytes_B.tolist(), strict=True
    ):
        texts = ((key, text) for key, text in zip(TEXTS, (shape, scope), strict=True) if text)
        numbers = (
            (key, number)
            for key, number in zip(WORK, (flops, bytes_B), strict=True)
            if not math.isnan(number)
        )
        yield "".join(
            [f'"{key}":{_text(text)},' for key, text in texts]
            + [f'"{key}":{number!r},' for key, number in numbers]
        )


def _aborted_events(schedule: Schedule) -> Iterator[str]:
    lost = schedule.lost
    start, end = nanoseconds(lost.start_s), nanoseconds(lost.end_s)
    for run, (task, team) in enumerate(zip(lost.task.tolist(), lost.team.tolist(), strict=True)):
        name = _text(f"{schedule.graph.task_name(task)} (aborted)")
        when = f'"ts":{_us(start[run])},"dur":{_us(end[run] - start[run])}'
        for core in schedule.teams.neighbours(team).tolist():
            lane = f'"ph":"X","pid":{CORES},"tid":{core}'
            yield f'{{{lane},"name":{name},"cat":"aborted",{when},"args":{{"task":{task}}}}}'


def _names(schedule: Schedule) -> Iterator[str]:
    graph = schedule.graph
    if graph.names is not None:
        return map(_text, graph.names.to_list())
    return (_text(graph.task_name(task)) for task in range(graph.n_tasks))


def nanoseconds(seconds: Seconds) -> list[int]:
    """Return seconds as whole nanoseconds."""
    whole: list[int] = np.rint(seconds * 1e9).astype(np.int64).tolist()
    return whole


def _us(ns: int) -> str:
    """Return nanoseconds as microseconds, exactly."""
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


def _text(value: str) -> str:
    # Half a surrogate pair is valid in JSON's letter, but readers reject it.
    return json.dumps(plain_text(value))


def _ranges(cores: list[int]) -> str:
    """Return ascending cores as text: `0-3,8`."""
    parts: list[list[int]] = []
    for core in cores:
        if parts and core == parts[-1][1] + 1:
            parts[-1][1] = core
        else:
            parts.append([core, core])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
