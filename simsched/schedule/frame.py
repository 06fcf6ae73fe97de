"""The table of a schedule, one row per task, and the names in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from simsched.graph import LabelColumn, TaskGraph, TextColumn

if TYPE_CHECKING:
    from simsched.schedule.schedule import Schedule


def name_column(graph: TaskGraph) -> Any:
    """Return the tasks' names for a DataFrame: Arrow's strings where pyarrow is installed, else a list."""
    names = graph.names if graph.names is not None else numbered(graph.kinds)
    try:
        import pyarrow as pa
    except ImportError:
        return names.to_list()
    buffers = [None, pa.py_buffer(names.offsets), pa.py_buffer(names.data)]
    strings = pa.Array.from_buffers(pa.large_utf8(), len(names), buffers)
    return pd.array(strings, dtype=pd.Series(["a"]).dtype)


def numbered(kinds: LabelColumn) -> TextColumn:
    """Return the names of tasks that have none, kind and index: `MatMul 17`, or `task 17` where the kind is unknown."""
    n = len(kinds)
    prefixes = [f"{label or 'task'} ".encode() for label in kinds.labels]
    digits = np.repeat(np.arange(1, 11), np.diff(np.minimum([0, *(10 ** np.arange(1, 10)), n], n)))
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.array([len(p) for p in prefixes], np.int64)[kinds.codes] + digits, out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    for count in range(1, int(digits[-1]) + 1 if n else 1):
        begin, end = 10 ** (count - 1) if count > 1 else 0, min(10**count, n)
        shown = [_digit(begin, end, place) for place in range(count - 1, -1, -1)]
        for label, prefix in enumerate(prefixes):
            chosen = kinds.codes[begin:end] == label if len(prefixes) > 1 else slice(None)
            tasks = np.arange(begin, end)[chosen]
            _write(data, offsets, tasks, prefix, [digit[chosen] for digit in shown])
    return TextColumn(data, offsets)


def _write(data: Any, offsets: Any, tasks: Any, prefix: bytes, digits: list[Any]) -> None:
    """Write names of equal length, one row of bytes per task; a column at a time is fastest."""
    if not len(tasks):
        return
    first, last = offsets[tasks[0]], offsets[tasks[-1] + 1]
    row = len(prefix) + len(digits)
    adjacent = last - first == len(tasks) * row
    rows = data[first:last].reshape(-1, row) if adjacent else np.empty((len(tasks), row), np.uint8)
    for column, shown in enumerate((*prefix, *digits)):
        rows[:, column] = shown
    if not adjacent:
        data[offsets[tasks][:, None] + np.arange(row)] = rows


def _digit(begin: int, end: int, place: int) -> Any:
    """Return one decimal digit of the numbers from `begin`, a multiple of 10 ** place, to `end`, in ASCII."""
    value = 10**place
    ten = np.roll(np.frombuffer(b"0123456789", np.uint8), -(begin // value))
    count = -(-(end - begin) // value)
    return np.repeat(np.tile(ten, count // 10 + 1)[:count], value)[: end - begin]


def tasks_frame(schedule: Schedule) -> pd.DataFrame:
    """Return task, name, kind, ready_s, start_s, finish_s, width, executor, first_core and n_cores of every task."""
    graph = schedule.graph
    teams, widths = schedule.teams, schedule.widths
    first = np.full(teams.n, -1, np.int32)
    held = teams.degrees() > 0
    first[held] = teams.indices[teams.indptr[:-1][held]]
    return pd.DataFrame(
        {
            "task": np.arange(graph.n_tasks, dtype=np.int32),
            "name": name_column(graph),
            "kind": pd.Categorical.from_codes(graph.kinds.codes, pd.Index(graph.kinds.labels, dtype=object)),
            "ready_s": schedule.ready_s,
            "start_s": schedule.start_s,
            "finish_s": schedule.finish_s,
            "width": widths,
            "executor": schedule.executor,
            "first_core": first[schedule.team],
            "n_cores": widths,
        }
    )
