"""Parquet tables of tasks and edges: `NAME.tasks.parquet` and `NAME.edges.parquet`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.errors import FormatError, MissingExtraError
from simsched.files import replacing
from simsched.graph.budget import budget
from simsched.graph.checks import MAX_WIDTH
from simsched.graph.loading import Reader, open_plain
from simsched.graph.saving import Writer
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


def _read(path: Path, *, edges: str | Path | None = None) -> TaskGraph:
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
    tasks, ignored = _table(path, TASK_COLUMNS, ("duration_s",))
    ends, more = _table(edges_file(path, edges, SUFFIX), EDGE_COLUMNS, ENDS)
    if "width" in tasks:
        tasks["width"] = _widths(tasks["width"])
    return graph_of(path, tasks, ends, ignored + more, "parquet", SUFFIX)


def _write(graph: TaskGraph, path: Path) -> None:
    """Write both tables; raise `SimschedError` if a file cannot be written or is not called NAME.tasks.parquet.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> with TemporaryDirectory() as folder:
    ...     ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]).save(f"{folder}/two.tasks.parquet")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['two.edges.parquet', 'two.tasks.parquet']
    """
    _pyarrow()
    companion = beside(path, SUFFIX)
    tasks, edges = to_tables(graph)
    with replacing(path) as file, replacing(companion) as other:
        for frame, to in ((tasks, file), (edges, other)):
            frame.to_parquet(to, engine="pyarrow", index=False)


PARQUET = Reader(
    title="Parquet tables of tasks and edges",
    dependencies="the table of edges (edges=, or beside it)",
    times="duration_s, seconds",
    options=EDGES,
    recognises=lambda head: head.startswith(MAGIC),
    read=_read,
)


PARQUET_WRITER = Writer(
    title="Parquet tables of tasks and edges",
    suffixes=(".tasks.parquet",),
    writes="graph",
    write=_write,
)


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
        check_header(path, schema.names, needed)
        kept = [field for field in schema if field.name in columns]
        # Texts as codes, so that one which repeats is in memory once.
        coded = [field.name for field in kept if _is_text(arrow, field.type)]
        opened = arrow.parquet.ParquetFile(io.BytesIO(data), read_dictionary=coded)
        _refuse_bomb(path, arrow, opened.metadata, kept, "edges" if needed == ENDS else "tasks")
        table = _decoded(path, arrow, opened.read(columns=[field.name for field in kept]))
        frame = table.to_pandas(ignore_metadata=True)
    except MemoryError:
        raise
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
    types = arrow.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def _refuse_bomb(path: Path, arrow: Any, metadata: Any, kept: Sequence[Any], what: str) -> None:
    """Reject a file that would be too large in memory, by its footer, before a column is read."""
    held = budget()
    held.check(path, metadata.num_rows, what)
    held.check(path, metadata.num_columns * metadata.num_row_groups, "columns")
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    held.check(path, sum(max(group.total_byte_size, 0) for group in groups), "bytes")
    for field in kept:
        if arrow.types.is_nested(field.type):
            raise FormatError(
                f"{path}: column {field.name!r} holds {field.type!s:.80}; expected plain values"
            )
        if arrow.types.is_fixed_size_binary(field.type):
            held.check(path, field.type.byte_width * metadata.num_rows, "bytes")


def _decoded(path: Path, arrow: Any, table: Any) -> Any:
    """Return a table whose texts are not too long; those that are short in the file may repeat without end.

    Columns in `TEXTS` stay codes, others become the texts themselves.
    """
    from pyarrow import compute

    for number, column in enumerate(table.column_names):
        chunks = table.column(column).chunks
        if not any(arrow.types.is_dictionary(chunk.type) for chunk in chunks):
            continue
        length_B = sum(
            compute.sum(compute.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
            for chunk in chunks
            if _is_text(arrow, chunk.dictionary.type)
        )
        budget().check(path, length_B, "bytes")
        if column not in TEXTS:
            decoded = arrow.chunked_array([chunk.dictionary_decode() for chunk in chunks])
            table = table.set_column(number, column, decoded)
    return table
