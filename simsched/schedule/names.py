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
    digits = 1 + np.searchsorted(10 ** np.arange(1, 10), np.arange(n), side="right")
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.array([len(p) for p in prefixes], np.int64)[kinds.codes] + digits, out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    for count in range(1, int(digits[-1]) + 1 if n else 1):
        begin, end = 10 ** (count - 1) if count > 1 else 0, min(10**count, n)
        for label, prefix in enumerate(prefixes):
            tasks = np.arange(begin, end, dtype=np.int64)
            if len(prefixes) > 1:
                tasks = tasks[kinds.codes[begin:end] == label]
            _write(data, offsets, tasks, prefix, count)
    return TextColumn(data, offsets)


def _write(data: Any, offsets: Any, tasks: Any, prefix: bytes, digits: int) -> None:
    """Write names of equal length, one row of bytes a task."""
    if not len(tasks):
        return
    rows = np.empty((len(tasks), len(prefix) + digits), np.uint8)
    rows[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    rest = tasks.astype(np.int32)
    for column in range(rows.shape[1] - 1, len(prefix) - 1, -1):
        rest, digit = np.divmod(rest, np.int32(10))
        rows[:, column] = digit + ord("0")
    first, last = offsets[tasks[0]], offsets[tasks[-1] + 1]
    if last - first == rows.size:
        data[first:last] = rows.ravel()
    else:
        data[offsets[tasks][:, None] + np.arange(rows.shape[1])] = rows
