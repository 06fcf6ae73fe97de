"""Dask's task streams: when and where each task computed, with the low-level graph for the dependences.

Dask fuses tasks when it optimizes a graph and gives some of them new keys, so that neither all keys of the graph are
executed nor all executed ones in the graph; the report says how many match.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from simsched.errors import FormatError, GraphError
from simsched.graph import ImportReport, Recording, TaskGraph
from simsched.graph.loading import find_file
from simsched.traces.dask.stream import Record, kind_of, read_dependences, read_records
from simsched.traces.json_stream import shown
from simsched.traces.lanes import chain
from simsched.traces.options import TOLERANT, flag

MAX_NS = 2**52
#: Keys that were fused away can join each of their inputs with each of their readers.
MAX_STEPS = 8_000_000
_HTML = re.compile(rb"<title>\s*Dask Performance Report")
_GRAPH = re.compile(rb'\{\s*"dependencies"\s*:\s*\{')
_STREAM = re.compile(rb'[\[{].*"startstops"\s*:\s*\[', re.DOTALL)


class DaskReader:
    """Reads Dask's task streams."""

    title = "Dask task stream (JSON), with the dependences of its graph"
    dependences = "graph= (without it a chain a thread)"
    times = "compute steps of the task stream, s"
    options = {  # noqa: RUF012 - the protocol's attribute
        "graph": 'JSON of the low-level graph, {"dependencies": {key: [key, ...]}}; else a chain a thread',
        "tolerant": TOLERANT,
    }

    def recognises(self, head: bytes) -> bool:
        """Tell by records with `startstops`; the performance report and a graph alone are refused with advice."""
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        html = text[:1] == b"<" and _HTML.search(text) is not None
        return html or _GRAPH.match(text) is not None or _STREAM.match(text) is not None

    def read(self, path: Path, *, graph: str | Path | None = None, tolerant: bool | str = False) -> TaskGraph:
        """Return the graph of what was computed.

        Parameters
        ----------
        path : Path
            The task stream, plain or gzipped.
        graph : str or Path, optional
            The dependences of the low-level graph.
        tolerant : bool or str
            Keep what is complete of a cut-off file.

        Raises
        ------
        FormatError
            If a file is malformed, or no task computed.
        GraphError
            If the dependences form a cycle.
        """
        _advise(path)
        report = ImportReport(path.name, "dask")
        records, dropped = read_records(path, report.note if flag(path, "tolerant", tolerant) else None)
        if not records:
            raise FormatError(f"{path}: no record with a compute step; is this client.get_task_stream()?")
        if dropped:
            report.note(f"{dropped} records without a compute step, or that failed, are left out.")
        if graph is None:
            report.note(
                "The task stream alone tells no dependences: the tasks of each thread are a chain. Give the low-level "
                "graph as graph=."
            )
            return _graph(path, records, chain(record.lane for record in records), report)
        if not isinstance(graph, str | Path):
            raise FormatError(
                f"{path}: graph is {shown(graph)}; expected the path of the graph's dependences"
            )
        file = find_file(graph)
        return _graph(path, records, _edges(file, records, read_dependences(file), report), report)


DASK = DaskReader()


def _advise(path: Path) -> None:
    """Refuse what Dask writes and what holds no task stream, saying what to record instead."""
    from simsched.graph.loading import open_plain, read_bounded

    with open_plain(path) as file:
        head = read_bounded(file, 4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"<"):
        raise FormatError(
            f"{path}: a performance report is a page without dependences; save client.get_task_stream() as JSON and "
            "load that (docs/formats/dask.md)"
        )
    if _GRAPH.match(head):
        raise FormatError(
            f"{path}: dependences alone, without times; load the task stream and give this as graph="
        )


def _edges(
    file: Path, records: Sequence[Record], before: Mapping[str, Sequence[str]], report: ImportReport
) -> list[tuple[int, int]]:
    """Return the edges between the executed tasks; through keys of the graph that were not executed."""
    runs: dict[str, list[int]] = {}
    for task, record in enumerate(records):
        runs.setdefault(record.key, []).append(task)
    finishes = {key: sorted((records[task].finish_ns, task) for task in tasks) for key, tasks in runs.items()}
    edges: set[tuple[int, int]] = set()
    steps = 0
    for key, tasks in runs.items():
        seen, todo = {key}, [key]
        while todo:
            for source in before.get(todo.pop(), ()):
                steps += 1
                if steps > MAX_STEPS:
                    raise FormatError(
                        f"{file}: more than {MAX_STEPS} dependences, most of keys that did not run"
                    )
                if source in seen:
                    continue
                seen.add(source)
                if source in runs:
                    edges.update((_latest(finishes[source], records[task].start_ns), task) for task in tasks)
                    steps += len(tasks)
                else:
                    todo.append(source)
    _tell_matches(runs, before, len(records), report)
    return sorted(edges)


def _latest(finishes: Sequence[tuple[int, int]], moment_ns: int) -> int:
    """Return the last of some tasks that had finished at a moment; the first one where none had."""
    count = bisect_right(finishes, moment_ns, key=lambda finish: finish[0])
    return finishes[max(count - 1, 0)][1]


def _tell_matches(
    runs: Mapping[str, Sequence[int]], before: Mapping[str, Sequence[str]], n: int, report: ImportReport
) -> None:
    matched = sum(key in before for key in runs)
    report.facts["graph_keys"] = len(before)
    report.facts["matched_keys"] = matched
    if len(runs) > matched:
        report.note(
            f"{len(runs) - matched} of {len(runs)} executed keys are not in the graph (Dask renames what it fuses): "
            "these tasks have no dependences. Save the optimized graph."
        )
    missing = len(before.keys() - runs.keys())
    if missing:
        report.note(
            f"{missing} keys of the graph were not executed, most fused into others; dependences go through them."
        )
    if n > len(runs):
        report.note(
            f"{n - len(runs)} tasks are repetitions of a key; each waits for the latest one that had finished."
        )


def _graph(
    path: Path, records: Sequence[Record], edges: Sequence[tuple[int, int]], report: ImportReport
) -> TaskGraph:
    origin = records[0].start_ns
    start = np.array([min(r.start_ns - origin, 2 * MAX_NS) for r in records], np.int64)
    finish = np.array([min(r.finish_ns - origin, 2 * MAX_NS) for r in records], np.int64)
    if finish.max() > MAX_NS:
        raise FormatError(f"{path}: the records are more than {MAX_NS / 1e9:g} s apart; expected one run")
    lanes = {lane: i for i, lane in enumerate(dict.fromkeys(r.lane for r in records))}
    report.facts["transfer_s"] = sum(r.transfer_ns for r in records) / 1e9
    report.facts["zero_length_tasks"] = int((start == finish).sum())
    try:
        return TaskGraph.from_edges(
            (finish - start) / 1e9,
            np.array(edges, np.int64).reshape(-1, 2),
            kinds=[kind_of(r.key) for r in records],
            names=[r.key for r in records],
            name=path.name.split(".")[0],
            report=report,
            recording=Recording(
                start / 1e9, finish / 1e9, np.array([lanes[r.lane] for r in records], np.int32), tuple(lanes)
            ),
        )
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None
