"""Writer of WfFormat 1.5: specification and, where durations are known, execution.

Data that the format requires and a graph lacks are written recognisably: `executedAt` is the epoch, and
the makespan of a graph without a recording its critical path.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from simsched.errors import FormatError
from simsched.files import replacing
from simsched.graph.adjacency import Csr
from simsched.graph.columns import plain_text
from simsched.graph.data import read_by
from simsched.graph.recording import RECORDED_ON, measured_on
from simsched.graph.report import KINDS_ARE
from simsched.graph.saving import Writer
from simsched.graph.taskgraph import TaskGraph
from simsched.text import printable
from simsched.traces.shared.attributes import BY_KIND, LANE_NAMES, listed, rows
from simsched.traces.wfformat.layouts import KINDS, MAX_S, OWN, OWN_NUMBERS, OWN_TEXTS, RECORDED
from simsched.version import version

EPOCH = "1970-01-01T00:00:00Z"
SUFFIX = ".wfformat.json"


def _write(graph: TaskGraph, path: Path) -> None:
    """Write a graph with at least one task; `FormatError` if it could not be read, `SimschedError` if not written.

    All columns come back, and the recording: data objects as files, kinds as `category`, and further additions to the
    format under the names of the columns (`OWN_TEXTS`, `OWN_NUMBERS`, seconds by kind of core, names of lanes).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     graph.save(f"{folder}/two.wfformat.json")
    ...     back = ss.load(f"{folder}/two.wfformat.json")
    >>> back.report.format, back.kinds.to_list(), back.durations_s.tolist(), back.n_edges
    ('wfformat', ['load', 'sum'], [1.0, 2.0], 1)
    """
    if not graph.n_tasks:
        raise FormatError(f"{path}: a workflow has at least one task, this graph has none")
    if (graph.durations_s > MAX_S).any():
        task = int((graph.durations_s > MAX_S).argmax())
        raise FormatError(
            f"{path}: task {task} takes {graph.durations_s[task]:g} s; a workflow is read with at most {MAX_S:g} s; "
            "write .simsched, .parquet or .csv"
        )
    with replacing(path) as file:
        origin = measured_on(graph)
        more: dict[str, object] = {} if origin is None else {RECORDED_ON: origin.written}
        more |= {} if graph.recording is None else {LANE_NAMES: graph.recording.lane_names}
        _put(file, {"name": graph.name or "graph", "description": _description(graph), **more})
        file.write(b',"schemaVersion":"1.5","workflow":{"specification":{"tasks":[\n')
        reads, writes = _files(graph)
        specified = (_specified(graph, task, reads, writes) for task in range(graph.n_tasks))
        _put_all(file, (one | added for one, added in zip(specified, _additions(graph), strict=True)))
        if graph.data is not None:
            file.write(b'\n],"files":[\n')
            sizes = enumerate(graph.data.size_B.tolist())
            _put_all(
                file,
                (
                    {"id": _file(i), "sizeInBytes": int(size) if size.is_integer() else size}
                    for i, size in sizes
                    if size >= 0
                ),
            )
        file.write(b"\n]}")
        known = [task for task in range(graph.n_tasks) if not math.isnan(graph.durations_s[task])]
        if known:
            _put(file, {"makespanInSeconds": _makespan_s(graph), "executedAt": EPOCH}, b',"execution":{')
            file.write(b',"tasks":[\n')
            _put_all(file, (_executed(graph, task) for task in known))
            file.write(b"\n]}")
        file.write(b"}}\n")


WFFORMAT_WRITER = Writer(
    title="WfFormat 1.5 of WfCommons",
    suffixes=(SUFFIX,),
    writes="graph",
    write=_write,
)


def _description(graph: TaskGraph) -> str:
    """Return who wrote the file, whether a machine took its seconds, and whose names its kinds are, if not ops'."""
    whose = graph.report.facts.get(KINDS_ARE)
    return (
        f"{OWN}{version()}"
        + RECORDED * (measured_on(graph) is not None)
        + (f"{KINDS}{printable(str(whose))}" if whose else "")
    )


def _put(file: IO[bytes], fields: dict[str, Any], opening: bytes = b"{") -> None:
    """Write the fields of an object that stays open."""
    file.write(opening + json.dumps(fields).encode()[1:-1])


def _put_all(file: IO[bytes], objects: Iterable[dict[str, Any]]) -> None:
    for i, one in enumerate(objects):
        file.write((b",\n" if i else b"") + json.dumps(one).encode())


def _id(task: int) -> str:
    return f"ID{task:07d}"


def _file(number: int) -> str:
    return f"object{number:07d}"


def _files(graph: TaskGraph) -> tuple[Csr | None, Csr | None]:
    """Return the objects that each task reads, and those that it writes; None for a graph without data."""
    if graph.data is None:
        return None, None
    written = np.flatnonzero(graph.data.producer >= 0)
    writers = graph.data.producer[written].astype(np.int64)
    return graph.data.inputs(graph.n_tasks), read_by(graph.n_tasks, writers, written)


def _specified(graph: TaskGraph, task: int, reads: Csr | None, writes: Csr | None) -> dict[str, Any]:
    """Return a task's specification."""
    entry: dict[str, Any] = {
        "name": plain_text(graph.task_name(task)) or _id(task),
        "id": _id(task),
        "parents": [_id(i) for i in graph.predecessors.neighbours(task).tolist()],
        "children": [_id(i) for i in graph.successors.neighbours(task).tolist()],
    }
    if graph.kinds[task]:
        entry["category"] = graph.kinds[task]
    for key, files in (("inputFiles", reads), ("outputFiles", writes)):
        if files is not None:
            entry[key] = [_file(i) for i in files.neighbours(task).tolist()]
    return entry


def _additions(graph: TaskGraph) -> Iterator[dict[str, Any]]:
    """Yield what the format has no place for, of each task: columns that are known, by their names."""
    wanted = (*OWN_TEXTS, *OWN_NUMBERS)
    by_kind = itertools.repeat([]) if graph.seconds_by_kind is None else graph.seconds_by_kind.tolist()
    for row, seconds in zip(rows(graph), by_kind, strict=False):
        found: dict[str, Any] = {column: row[column] for column in wanted if column in row}
        yield found | ({BY_KIND: listed(seconds)} if seconds and not math.isnan(seconds[0]) else {})


def _executed(graph: TaskGraph, task: int) -> dict[str, Any]:
    """Return a task's execution."""
    entry: dict[str, Any] = {
        "id": _id(task),
        "runtimeInSeconds": float(graph.durations_s[task]),
        "coreCount": int(graph.widths[task]),
    }
    if not math.isnan(graph.bytes_B[task]):
        # A graph only has their sum.
        entry |= {"readBytes": float(graph.bytes_B[task]), "writtenBytes": 0}
    return entry


def _makespan_s(graph: TaskGraph) -> float:
    if (run := graph.recording) is not None:
        return float(run.finish_s.max() - run.start_s.min())
    return float(graph.critical_path_s) if not math.isnan(graph.critical_path_s) else 0.0
