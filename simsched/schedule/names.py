"""Names of tasks as a column of a table, a million of them without a million Python objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from simsched.graph.columns import LabelColumn, TextColumn

if TYPE_CHECKING:
    from simsched.graph import TaskGraph


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
        for label, prefix in enumerate(prefixes):
            tasks = np.arange(begin, end, dtype=np.int32)
            if len(prefixes) > 1:
                tasks = tasks[kinds.codes[begin:end] == label]
            _write(data, offsets, tasks, prefix, count)
    return TextColumn(data, offsets)


def _write(data: Any, offsets: Any, tasks: Any, prefix: bytes, digits: int) -> None:
    """Write names of equal length, one row of bytes a task."""
    if not len(tasks):
        return
    first, last = offsets[tasks[0]], offsets[tasks[-1] + 1]
    row = len(prefix) + digits
    adjacent = last - first == len(tasks) * row
    rows = data[first:last].reshape(-1, row) if adjacent else np.empty((len(tasks), row), np.uint8)
    rows[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    rows[:, len(prefix) :] = _decimal(tasks, digits)
    if not adjacent:
        data[offsets[tasks][:, None] + np.arange(row)] = rows


def _decimal(numbers: Any, digits: int) -> Any:
    """Return the last digits of int32 numbers in ASCII, shape (n, digits); four at once, by looking them up."""
    fours = (
        (np.arange(10_000)[:, None] // [1000, 100, 10, 1] % 10 + ord("0"))
        .astype(np.uint8)
        .view(np.uint32)[:, 0]
    )
    places = -(-digits // 4)
    found = np.empty((len(numbers), places), np.uint32)
    rest = numbers
    for place in range(places - 1, -1, -1):
        above = rest // np.int32(10_000)
        found[:, place] = fours[rest - above * np.int32(10_000)]
        rest = above
    return found.view(np.uint8)[:, 4 * places - digits :]
