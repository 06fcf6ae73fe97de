"""Dask's task streams: time and place of each task, with the low-level graph for the dependencies.

Dask fuses tasks when it optimizes a graph and gives some of them new keys, so that neither all keys of the graph are
executed nor all executed ones in the graph; the report counts the matches. `compute` adds a task that collects the
pieces of a result, which depends on all of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.errors import FormatError, GraphError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.contracting import contracted
from simsched.graph.loading import Mend, Reader, open_plain, read_bounded
from simsched.graph.report import KINDS_ARE
from simsched.multimap import multimap
from simsched.text import counted
from simsched.traces.shared.json_stream import shown, stream
from simsched.traces.shared.libraries import GLOBAL_LOCK
from simsched.traces.shared.options import TOLERANT, given, mends_if
from simsched.traces.shared.timeline import LATEST_NS, chain, numbered, recording, whole_ns

_HTML = re.compile(rb"<title>\s*Dask Performance Report")
_GRAPH = re.compile(rb'\{\s*"dependencies"\s*:\s*\{')
#: Name of the last task of `compute`.
_FINAL = "finalize-"
_STREAM = re.compile(rb'[\[{].*"startstops"\s*:\s*\[', re.DOTALL)


#: The token that ends the name of a key: `add-e3ef5546f06aef12fa5ca644e696c1c3`.
_TOKEN = re.compile(r"-[0-9a-f]{8,}$")


@dataclass(frozen=True)
class _Record:
    """One execution of a task.

    Parameters
    ----------
    key : str
        The task's key, a tuple as Python writes it.
    lane : str
        Worker and thread.
    start_ns, finish_ns : int
        Of the computation, since the epoch.
    transfer_ns : int
        Length of the transfers before it.
    """

    key: str
    lane: str
    start_ns: int
    finish_ns: int
    transfer_ns: int


def _read_records(path: Path, mend: Mend | None) -> tuple[list[_Record], int]:
    """Return the records of a task stream by start, and the number of failed or not computed ones.

    Raises
    ------
    FormatError
        If a record is malformed.
    """
    found, dropped = [], 0
    for place, (_, value) in enumerate(stream(path, "item", "task_stream.item", mend=mend)):
        if not isinstance(value, dict):
            raise FormatError(f"{path}: record {place} is {shown(value)}; expected an object")
        if (record := _record(f"{path}: record {place}", value)) is None:
            dropped += 1
        else:
            found.append(record)
    return sorted(found, key=lambda r: (r.start_ns, r.finish_ns)), dropped


def _read_dependencies(path: Path) -> dict[str, list[str]]:
    """Return the dependencies of each key, from `{"dependencies": {key: [key, ...]}}` or the inner object.

    Raises
    ------
    FormatError
        If it is no such file.
    """
    for _, value in stream(path, ""):
        inner = value.get("dependencies", value) if isinstance(value, dict) else value
        if not isinstance(inner, dict):
            break
        return {plain_text(key): _keys(f"{path}: task {shown(key)}", before) for key, before in inner.items()}
    raise FormatError(
        f'{path}: expected {{"dependencies": {{key: [key, ...]}}}}, as docs/formats/dask.md writes it'
    )


def _keys(where: str, before: object) -> list[str]:
    if not isinstance(before, list):
        raise FormatError(f"{where} depends on {shown(before)}; expected a list of keys")
    return [_key_text(where, key) for key in before]


def _key_text(where: str, key: object) -> str:
    """Return a key as text; JSON makes lists of tuples.

    Examples
    --------
    >>> _key_text("", ["x-1", 0, ["y", 2]])
    "('x-1', 0, ('y', 2))"
    """
    if isinstance(key, list):
        return plain_text(repr(_tuples(key)))
    if not isinstance(key, str | int):
        raise FormatError(f"{where} has key {shown(key)}; expected a string or a list")
    return plain_text(key)


def _tuples(key: object) -> object:
    return tuple(map(_tuples, key)) if isinstance(key, list) else key


def kind_of(key: str) -> str:
    """Return the function of a task, from its key.

    Examples
    --------
    >>> kind_of("('add-e3ef5546f06aef12', 0, 0)"), kind_of("inc-0123456789abcdef")
    ('add', 'inc')
    """
    name = key.removeprefix("('").partition("'")[0] if key.startswith("('") else key
    return name[:-64] + _TOKEN.sub("", name[-64:])


def _record(where: str, value: Mapping[str, Any]) -> _Record | None:
    steps = value.get("startstops")
    if not isinstance(steps, list | None):
        raise FormatError(f"{where} has startstops {shown(steps)}; expected a list")
    key = _key_text(where, value.get("key"))
    spans: dict[str, list[tuple[int, int]]] = {}
    for step in steps or []:
        action, start, stop = _step(where, step)
        spans.setdefault(action, []).append((start, stop))
    if value.get("status", "OK") != "OK" or "compute" not in spans:
        return None
    start, finish = min(s for s, _ in spans["compute"]), max(f for _, f in spans["compute"])
    transfer = sum(f - s for s, f in spans.get("transfer", ()))
    lane = f"{plain_text(value.get('worker'))} thread {shown(value.get('thread'))}"
    return _Record(key, lane, start, finish, transfer)


def _step(where: str, step: object) -> tuple[str, int, int]:
    """Return an action with its start and end in nanoseconds; older versions write a list."""
    parts: Sequence[object] = ()
    if isinstance(step, dict):
        parts = [step.get(name) for name in ("action", "start", "stop")]
    elif isinstance(step, list):
        parts = step[:3]
    if len(parts) != 3 or not isinstance(parts[0], str):
        raise FormatError(f"{where} has the step {shown(step)}; expected action, start and stop")
    start, stop = (_ns(where, value) for value in parts[1:])
    if stop < start:
        raise FormatError(f"{where} stops at {parts[2]} s, before it starts at {parts[1]} s")
    return parts[0], start, stop


def _ns(where: str, value: object) -> int:
    moment = None if isinstance(value, str) else whole_ns(value, 10**9, 0, LATEST_NS)
    if moment is None:
        raise FormatError(f"{where} has the time {shown(value)}; expected seconds since 1970")
    return moment


def _recognises(head: bytes) -> bool:
    """Recognise records with `startstops`; performance reports and graphs alone get advice."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    html = text[:1] == b"<" and _HTML.search(text) is not None
    return html or _GRAPH.match(text) is not None or _STREAM.match(text) is not None


def _read(path: Path, *, graph: str | Path | None = None, tolerant: bool | str = False) -> TaskGraph:
    """Return the graph of the computed tasks.

    Parameters
    ----------
    path : Path
        The task stream, plain or gzipped.
    graph : str or Path, optional
        The dependencies of the low-level graph.
    tolerant : bool or str
        Keep the complete part of a cut-off file.

    Raises
    ------
    FormatError
        If a file is malformed, or no task computed.
    GraphError
        If the dependencies form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''[{"key": "load", "worker": "w", "thread": 1,
    ... "startstops": [{"action": "compute", "start": 10.0, "stop": 11.0}]},
    ... {"key": "sum", "worker": "w", "thread": 1,
    ... "startstops": [{"action": "compute", "start": 11.0, "stop": 13.0}]}]'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "stream.json").write_text(text)
    ...     graph = ss.load(Path(folder, "stream.json"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('dask', ['load', 'sum'], [1.0, 2.0], 1)
    """
    _advise(path)
    report = ImportReport(path.name, "dask", {KINDS_ARE: "functions"})
    records, dropped = _read_records(path, mends_if(path, tolerant, report))
    if not records:
        raise FormatError(f"{path}: no record with a compute step; is this client.get_task_stream()?")
    report.note(
        f"{counted(dropped, 'record')} without a compute step, or failed, left out.",
        when=dropped,
    )
    if graph is None:
        report.doubt(
            "The task stream alone records no dependencies: the tasks of each thread are a chain. Give the low-level "
            "graph as graph=."
        )
        edges = chain(record.lane for record in records)
    else:
        file = given(path, "graph", graph, "the graph's dependencies")
        edges = _edges(file, records, _read_dependencies(file), report)
    threads = {record.lane for record in records}
    report.doubt(GLOBAL_LOCK, when=len({lane.rpartition(" thread ")[0] for lane in threads}) < len(threads))
    return _graph(path, records, edges, report)


DASK = Reader(
    title="Dask task stream (JSON), with the dependencies of its graph",
    dependencies="graph= (without it a chain a thread)",
    times="compute steps of the task stream, s",
    options={
        "graph": 'JSON of the low-level graph, {"dependencies": {key: [key, ...]}}; else a chain a thread',
        "tolerant": TOLERANT,
    },
    recognises=_recognises,
    read=_read,
)


def _advise(path: Path) -> None:
    """Reject Dask's files without a task stream, with advice on what to record instead."""
    with open_plain(path) as file:
        head = read_bounded(file, 4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"<"):
        raise FormatError(
            f"{path}: a performance report is a page without dependencies; save client.get_task_stream() as JSON and "
            "load that (docs/formats/dask.md)"
        )
    if _GRAPH.match(head):
        raise FormatError(
            f"{path}: dependencies alone, without times; load the task stream and give this as graph="
        )


def _edges(
    file: Path, records: Sequence[_Record], before: Mapping[str, Sequence[str]], report: ImportReport
) -> list[tuple[int, int]]:
    """Return the edges between the executed tasks; through keys of the graph that were not executed."""
    runs = multimap((record.key, task) for task, record in enumerate(records))
    report.facts["graph_keys"] = len(before)
    before = _with_final(runs, before)
    finishes = {key: sorted((records[task].finish_ns, task) for task in tasks) for key, tasks in runs.items()}
    keys = list(
        dict.fromkeys(
            (*runs, *before, *(source for edges_in_file in before.values() for source in edges_in_file))
        )
    )
    index = {key: i for i, key in enumerate(keys)}
    edges_in_file = ((index[source], index[key]) for key, sources in before.items() for source in sources)
    try:
        joined = contracted(
            edges_in_file,
            [key in runs for key in keys],
            budget().most(file, "edges"),
            called=lambda node: repr(keys[node]),
        )
    except GraphError as error:
        raise GraphError(f"{file}: {error}") from None
    _tell_matches(runs, before, len(records), report)
    return sorted({
        (_latest(finishes[keys[a]], records[task].start_ns), task)
        for a, b in joined if a != b for task in runs[keys[b]]
    })  # fmt: skip


def _with_final(
    runs: Mapping[str, Sequence[int]], before: Mapping[str, Sequence[str]]
) -> Mapping[str, Sequence[str]]:
    """Return the dependencies with those of the task that collects the result, on all final tasks."""
    final = [key for key in runs if key.startswith(_FINAL) and key not in before]
    needed = {source for sources in before.values() for source in sources}
    pieces = [key for key in before if key not in needed]
    return {**before, final[0]: pieces} if len(final) == 1 else before


def _latest(finishes: Sequence[tuple[int, int]], moment_ns: int) -> int:
    """Return the last of some tasks finished by a given moment; the first one where none was."""
    return finishes[max(bisect_right(finishes, moment_ns, key=lambda finish: finish[0]) - 1, 0)][1]


def _tell_matches(
    runs: Mapping[str, Sequence[int]], before: Mapping[str, Sequence[str]], n: int, report: ImportReport
) -> None:
    matched = sum(key in before for key in runs)
    report.facts["matched_keys"] = matched
    report.note(
        f"{len(runs) - matched} of {len(runs)} executed keys are not in the graph (Dask renames what it fuses): "
        "these tasks have no dependencies. Save the optimized graph, and run it by compute(optimize_graph=False).",
        when=len(runs) > matched,
    )
    missing = len(before.keys() - runs.keys())
    report.note(
        f"{counted(missing, 'key')} of the graph not executed, most fused into others; dependencies go through them.",
        when=missing,
    )
    report.note(
        f"{counted(n - len(runs), 'repetition')} of keys; each waits for the latest one that had finished.",
        when=n > len(runs),
    )


def _graph(
    path: Path, records: Sequence[_Record], edges: Sequence[tuple[int, int]], report: ImportReport
) -> TaskGraph:
    starts, finishes = [r.start_ns for r in records], [r.finish_ns for r in records]
    report.facts.update(
        transfer_s=sum(r.transfer_ns for r in records) / 1e9,
        zero_length_tasks=sum(r.start_ns == r.finish_ns for r in records),
    )
    return TaskGraph.from_edges(
        [(r.finish_ns - r.start_ns) / 1e9 for r in records],
        edges,
        kinds=[kind_of(r.key) for r in records],
        names=[r.key for r in records],
        name=path.name.split(".")[0],
        report=report,
        recording=recording(path, starts, finishes, *numbered([r.lane for r in records])),
    )
