"""Parquet tables of tasks and edges: `NAME.tasks.parquet` and `NAME.edges.parquet`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.errors import FormatError, MissingExtraError
from simsched.files import replacing
from simsched.graph.checks import MAX_WIDTH
from simsched.graph.loading import MAX_EXPANSION, MIN_LIMIT_B, open_plain
from simsched.graph.saving import Subject
from simsched.text import one_line
from simsched.traces.tables.frames import (
    EDGE_COLUMNS,
    EDGES,
    ENDS,
    TASK_COLUMNS,
    TEXTS,
    beside,
    check_header,
    edges_file,
    graph_of,
    to_tables,
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd

    from simsched.graph.taskgraph import TaskGraph

SUFFIX = ".parquet"
MAGIC = b"PAR1"
#: A column of one repeated value takes no space in a file, but does in memory.
MAX_ROWS = 100_000_000


class ParquetTables:
    """Reader and writer of Parquet tables.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     graph.save(f"{folder}/two.tasks.parquet")
    ...     back = ss.load(f"{folder}/two.tasks.parquet")
    >>> back.report.format, back.kinds.to_list(), back.durations_s.tolist(), back.n_edges
    ('parquet', ['load', 'sum'], [1.0, 2.0], 1)
    """

    title = "Parquet tables of tasks and edges"
    dependencies = "the table of edges (edges=, or beside it)"
    times = "duration_s, seconds"
    suffixes = (".tasks.parquet",)
    writes: Subject = "graph"
    options = EDGES

    def recognises(self, head: bytes) -> bool:
        """Recognise the magic number; the columns are at the end, where `read` checks them."""
        return head.startswith(MAGIC)

    def read(self, path: Path, *, edges: str | Path | None = None) -> TaskGraph:
        """Return the graph of two files.

        Parameters
        ----------
        path : Path
            The table of tasks.
        edges : str or Path, optional
            The table of edges.

        Raises
        ------
        FormatError
            If a file is no such table.
        GraphError
            If the tables describe an impossible graph.
        MissingExtraError
            If pyarrow is not installed.
        """
        tasks, ignored = _table(path, TASK_COLUMNS, ("duration_s",))
        ends, more = _table(edges_file(path, edges, SUFFIX), EDGE_COLUMNS, ENDS)
        if "width" in tasks:
            tasks["width"] = _widths(tasks["width"])
        return graph_of(path, tasks, ends, ignored + more, "parquet", SUFFIX)

    def write(self, graph: TaskGraph, path: Path) -> None:
        """Write both tables; raise `SimschedError` if a file cannot be written or is not called NAME.tasks.parquet."""
        _pyarrow()
        companion = beside(path, SUFFIX)
        tasks, edges = to_tables(graph)
        with replacing(path) as file, replacing(companion) as other:
            for frame, to in ((tasks, file), (edges, other)):
                frame.to_parquet(to, engine="pyarrow", index=False)


PARQUET = ParquetTables()


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "formats", "reading and writing Parquet") from None
    return pyarrow


def _table(path: Path, columns: Sequence[str], needed: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the known columns of a file, and the names of the others."""
    arrow = _pyarrow()
    with open_plain(path) as file:
        data = file.read()
    try:
        schema = arrow.parquet.ParquetFile(io.BytesIO(data)).schema_arrow
        # Texts as codes, so that one which repeats is in memory once.
        coded = [field.name for field in schema if field.name in TEXTS and _is_text(arrow, field.type)]
        opened = arrow.parquet.ParquetFile(io.BytesIO(data), read_dictionary=coded)
        check_header(path, schema.names, needed)
        _refuse_bomb(path, opened.metadata, len(data))
        table = opened.read(columns=[column for column in schema.names if column in columns])
        _refuse_long(path, arrow, table)
        frame = table.to_pandas(ignore_metadata=True)
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise FormatError(f"{path}: not a Parquet table: {one_line(str(error))}") from None
    return frame, [column for column in schema.names if column not in columns]


def _widths(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return widths with 1 for unknown ones, which made pandas read whole numbers as floats."""
    if column.dtype.kind != "f":
        return column
    filled = column.fillna(1)
    whole = (filled % 1 == 0) & (filled.abs() <= MAX_WIDTH)
    # Others are rejected where the graph is built.
    return filled.astype("int64") if whole.all() else filled


def _is_text(arrow: Any, kind: Any) -> bool:
    return bool(arrow.types.is_string(kind) or arrow.types.is_large_string(kind))


def _refuse_bomb(path: Path, metadata: Any, size_B: int) -> None:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if metadata.num_rows > MAX_ROWS:
        raise FormatError(f"{path}: {metadata.num_rows} rows; expected at most {MAX_ROWS}")
    if sum(group.total_byte_size for group in groups) > max(MIN_LIMIT_B, MAX_EXPANSION * size_B):
        raise FormatError(f"{path}: grows more than {MAX_EXPANSION} times when decompressed; refused")


def _refuse_long(path: Path, arrow: Any, table: Any) -> None:
    """Reject texts that are short in the file, since they repeat, and long in memory."""
    for column in set(TEXTS) & set(table.column_names):
        length_B = 0
        for chunk in table.column(column).chunks:
            if arrow.types.is_dictionary(chunk.type):
                longest = max((len(str(text)) for text in chunk.dictionary.to_pylist()), default=0)
                length_B += longest * len(chunk)
        if length_B > max(2**31, 100 * table.nbytes):
            raise FormatError(f"{path}: the texts of column {column} take {length_B} bytes; refused")
