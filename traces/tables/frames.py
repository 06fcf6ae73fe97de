"""A task graph as two tables, of tasks and of edges, and back: the common part of CSV and Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, Recording, TaskGraph, data_columns
from simsched.graph.checks import recording
from simsched.graph.columns import plain_text
from simsched.graph.interop import COLUMNS, KIND_COLUMN
from simsched.graph.loading import find_file
from simsched.graph.recording import RECORDED_ON
from simsched.graph.report import KINDS_ARE
from simsched.text import counted
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import written_origin
from simsched.traces.shared.options import given

if TYPE_CHECKING:
    import pandas as pd

TIMES = ("start_s", "finish_s")
#: Seconds on each kind of core.
KIND_COLUMNS = tuple(KIND_COLUMN(kind) for kind in range(64))
#: All columns that are read, with the label of a task first.
TASK_COLUMNS = (
    "task",
    *COLUMNS,
    *data_columns.ENDS,
    *TIMES,
    "lane",
    "lane_name",
    KINDS_ARE,
    RECORDED_ON,
    *KIND_COLUMNS,
)
ENDS = ("before", "after")
EDGE_COLUMNS = (*ENDS, *data_columns.COLUMNS)
NUMBERS = ("duration_s", "flops", "bytes_B", *data_columns.ENDS, *TIMES, *KIND_COLUMNS)
WHOLE = ("width",)
TEXTS = ("name", "kind", "shape", "scope", "lane_name", KINDS_ARE, RECORDED_ON)
MAX_LANES = 1_000_000
EDGES = {  # the option of both readers
    "edges": "the table of edges; when not given, NAME.edges.* beside NAME.tasks.*",
}


def edges_file(path: Path, edges: object, suffix: str) -> Path:
    """Return the file of edges that goes with a file of tasks.

    Parameters
    ----------
    path : Path
        The file of tasks.
    edges : str, Path or None
        The file of edges as given; None for the one next to `path`, by name.
    suffix : str
        `.csv` or `.parquet`.

    Raises
    ------
    FormatError
        If it was not given and `path` is not called `NAME.tasks.SUFFIX`, or there is none.
    """
    if edges is not None:
        return given(path, "edges", edges, "the table of edges")
    try:
        return find_file(beside(path, suffix))
    except FormatError as error:
        raise FormatError(
            f"{error}; give the table of edges as edges=, one with a header alone if there are none"
        ) from None


def beside(path: Path, suffix: str) -> Path:
    """Return the name of the file of edges for `NAME.tasks.SUFFIX`.

    Raises
    ------
    FormatError
        If the file of tasks is not called so.

    Examples
    --------
    >>> beside(Path("a.tasks.csv"), ".csv").name
    'a.edges.csv'
    """
    if (stem := _stem(path, suffix)) is None:
        raise FormatError(f"{path}: tasks and edges are two files; call this one NAME.tasks{suffix}")
    return path.with_name(f"{stem}.edges{suffix}")


def _stem(path: Path, suffix: str) -> str | None:
    """Return the name before `.tasks.SUFFIX`; None for other names."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    whole = f".tasks{suffix}"
    return name[: -len(whole)] if name.lower().endswith(whole) else None


def to_tables(graph: TaskGraph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of a graph: those of `TaskGraph.to_frames`, with more columns.

    These are `task`, the recording, and, the same in each row, the machine that recorded the durations and, where kinds
    are names from a program, whose. A warning tells of data objects that are in neither table.
    """
    data_columns.tell_lost(graph)
    tasks, edges = graph.to_frames()
    tasks = tasks.reset_index()
    if (run := graph.recording) is not None:
        tasks["start_s"], tasks["finish_s"], tasks["lane"] = run.start_s, run.finish_s, run.lanes
        tasks["lane_name"] = [run.lane_names[lane] for lane in run.lanes.tolist()]
    if KINDS_ARE in graph.report.facts:
        tasks[KINDS_ARE] = str(graph.report.facts[KINDS_ARE])
    if graph.recorded_on is not None:
        tasks[RECORDED_ON] = graph.recorded_on.written
    return tasks, edges


def check_header(path: Path, columns: Iterable[str], needed: Sequence[str]) -> None:
    """Reject a table without a required column, or with one twice.

    Raises
    ------
    FormatError
        Naming the column.
    """
    has = list(columns)
    missing = [column for column in needed if column not in has]
    if missing:
        raise FormatError(
            f"{path}: no column {missing[0]!r}; its columns are {', '.join(shown(c) for c in has[:20])}."
            f"{_suspected(has, missing[0])}"
        )
    twice = next((c for c in has if c in TASK_COLUMNS + EDGE_COLUMNS and has.count(c) > 1), None)
    if twice is not None:
        raise FormatError(f"{path}: two columns {twice!r}; drop or rename one")


def _suspected(has: Sequence[str], missing: str) -> str:
    if "ready_s" in has:
        return " This looks like a table of a schedule, which holds no graph; .simsched and other formats of graphs do."
    if any(missing in re.split(r"[;\t ]", column) for column in has):
        return " Separate columns by commas alone, without spaces."
    return ""


def graph_of(
    path: Path, tasks: pd.DataFrame, edges: pd.DataFrame, ignored: Sequence[str], format: str, suffix: str
) -> TaskGraph:
    """Return the graph of two tables whose columns have their types.

    Parameters
    ----------
    path : Path
        The file of tasks.
    tasks, edges : DataFrame
        Columns out of `TASK_COLUMNS` and `EDGE_COLUMNS`.
    ignored : sequence of str
        Columns of the files that were not read.
    format, suffix : str
        Of the file.

    Raises
    ------
    FormatError, GraphError
        If a value is impossible; the message has the file.
    """
    report = ImportReport(path.name, format)
    if KINDS_ARE in tasks and (whose := plain_text(next(iter(tasks[KINDS_ARE].dropna()), ""))):
        report.facts[KINDS_ARE] = whose
    report.note(
        f"Not kept, as task graphs have no such columns: {', '.join(shown(c) for c in ignored[:20])}.",
        when=ignored,
    )
    frame = tasks[[c for c in ("task", *COLUMNS, *data_columns.ENDS, *KIND_COLUMNS) if c in tasks]]
    graph = TaskGraph.from_frames(frame, edges, name=_stem(path, suffix) or path.name.split(".")[0])
    origin = next(iter(tasks[RECORDED_ON].dropna()), None) if RECORDED_ON in tasks else None
    graph = replace(
        graph, recording=recording(_recording(path, tasks), graph.n_tasks), report=report,
        recorded_on=written_origin(path, origin),
    )  # fmt: skip
    unknown = int(np.isnan(graph.durations_s).sum()) if "duration_s" in tasks else 0
    report.note(f"{counted(unknown, 'task has', 'tasks have')} no duration_s: it is unknown.", when=unknown)
    return graph


def _recording(path: Path, tasks: pd.DataFrame) -> Recording | None:
    """Return when and where the tasks ran, where the table has all of it."""
    has = [column for column in (*TIMES, "lane") if column in tasks]
    if not has:
        return None
    if len(has) < 3:
        raise FormatError(
            f"{path}: a recording has the columns start_s, finish_s and lane; there is only {has}"
        )
    lanes, names = _lanes(path, tasks)
    times = [tasks[column].to_numpy() for column in TIMES]
    return Recording(times[0], times[1], lanes, names)


def _lanes(path: Path, tasks: pd.DataFrame) -> tuple[Any, tuple[str, ...]]:
    """Return the lane of each task and the names of all: whole numbers are kept, texts numbered in order."""
    absent = tasks["lane"].isna() | (tasks["lane"] == "")
    if absent.any():
        raise FormatError(
            f"{path}: row {int(absent.argmax()) + 1} has no lane; a recording tells where every task ran"
        )
    values = tasks["lane"].tolist()
    if not all(type(value) is int for value in values):
        table: dict[str, int] = {}
        codes = [table.setdefault(str(value), len(table)) for value in values]
        return np.array(codes, np.int32), tuple(table)
    if values and not 0 <= min(values) <= max(values) < MAX_LANES:
        raise FormatError(
            f"{path}: lanes are {min(values)} to {max(values)}; expected 0 to {MAX_LANES - 1}, or names"
        )
    names = [f"lane {lane}" for lane in range(max(values, default=-1) + 1)]
    if "lane_name" in tasks:
        for lane, name in tasks[["lane", "lane_name"]].dropna().itertuples(index=False):
            names[lane] = str(name)
    return np.array(values, np.int32), tuple(names)
