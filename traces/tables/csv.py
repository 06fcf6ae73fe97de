"""CSV tables of tasks and edges: `NAME.tasks.csv` and `NAME.edges.csv`.

Numbers are written with all their digits and come back bit by bit. Texts are kept unchanged, also those that a
spreadsheet would treat as a formula; nothing here ever runs them.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.errors import FormatError
from simsched.files import replacing
from simsched.graph.budget import budget
from simsched.graph.loading import CHUNK_B, HEAD_B, Reader, open_plain, read_bounded
from simsched.graph.saving import Writer
from simsched.text import one_line
from simsched.traces.shared.json_stream import shown
from simsched.traces.tables.frames import (
    EDGE_COLUMNS,
    EDGES,
    ENDS,
    NUMBERS,
    TASK_COLUMNS,
    TEXTS,
    WHOLE,
    beside,
    check_header,
    edges_file,
    graph_of,
    to_tables,
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd

    from simsched.graph.taskgraph import TaskGraph

SUFFIX = ".csv"
#: Forms of an empty cell in a column of numbers.
UNKNOWN = {"", "nan", "na", "n/a", "null", "none"}


def _read(path: Path, *, edges: str | Path | None = None) -> TaskGraph:
    """Return the graph of two files, plain or gzipped.

    Parameters
    ----------
    path : Path
        The table of tasks.
    edges : str or Path, optional
        The table of edges.

    Raises
    ------
    FormatError
        If a file is no such table; the message gives row and column.
    GraphError
        If the tables describe an impossible graph.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     graph.save(f"{folder}/two.tasks.csv")
    ...     back = ss.load(f"{folder}/two.tasks.csv")
    >>> back.report.format, back.kinds.to_list(), back.durations_s.tolist(), back.n_edges
    ('csv', ['load', 'sum'], [1.0, 2.0], 1)
    """
    tasks, ignored = _table(path, TASK_COLUMNS, ("duration_s",))
    companion = edges_file(path, edges, SUFFIX)
    ends, more = _table(companion, EDGE_COLUMNS, ENDS)
    for column in tasks:
        if column in NUMBERS:
            tasks[column] = _numbers(path, column, tasks[column])
        elif column in WHOLE:
            tasks[column] = _whole(path, column, tasks[column].replace("", "1"))
    tasks, ends = _labelled(companion, tasks, _with_data(companion, ends))
    if "lane" in tasks and (lanes := _as_labels(tasks["lane"])) is not None:
        tasks["lane"] = lanes
    return graph_of(path, tasks, ends, ignored + more, "csv", SUFFIX)


def _write(graph: TaskGraph, path: Path) -> None:
    """Write both tables; raise `SimschedError` if a file cannot be written or is not called NAME.tasks.csv.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> with TemporaryDirectory() as folder:
    ...     ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]).save(f"{folder}/two.tasks.csv")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['two.edges.csv', 'two.tasks.csv']
    """
    companion = beside(path, SUFFIX)
    tasks, edges = to_tables(graph)
    with replacing(path) as file, replacing(companion) as other:
        for frame, to in ((tasks, file), (edges, other)):
            # Quoted texts survive line ends in them.
            frame.to_csv(to, index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


CSV = Reader(
    title="CSV tables of tasks and edges",
    dependencies="the table of edges (edges=, or beside it)",
    times="duration_s, seconds",
    options=EDGES,
    recognises=lambda head: any(
        # A schedule's column, ready_s, is recognised for the sake of the message that there is no graph in it.
        {"duration_s", "ready_s"} & set(re.split(r"[;\t ]+", cell))
        for cell in _header(head)
    ),
    read=_read,
)


CSV_WRITER = Writer(
    title="CSV tables of tasks and edges",
    suffixes=(".tasks.csv",),
    writes="graph",
    write=_write,
)


def _header(head: bytes) -> list[str]:
    """Return the cells of the first line; none where it is not a text."""
    try:
        text = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode()
        return next(csv.reader(io.StringIO(text)), [])
    except (UnicodeDecodeError, csv.Error):
        return []


def _table(path: Path, columns: Sequence[str], needed: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the known columns of a file as texts, and the names of the others."""
    import pandas as pd

    with open_plain(path) as file:
        head = read_bounded(file, HEAD_B)
    if len(head) == HEAD_B and b"\n" not in head:
        raise FormatError(f"{path}: a header of more than {HEAD_B} bytes; refused")
    header = _header(head)
    check_header(path, header, needed)
    budget().check(path, len(header), "columns")
    _refuse_long(path, "edges" if needed == ENDS else "tasks")
    if len(header) == 1:
        _refuse_blank_lines(path)
    try:
        with open_plain(path) as file, warnings.catch_warnings():
            # A row with more cells than the header would lose them with only a warning.
            warnings.simplefilter("error")
            frame = pd.read_csv(
                file,
                dtype=str,
                na_filter=False,
                index_col=False,
                encoding="utf-8-sig",
            )
    except UnicodeDecodeError as error:
        around = error.object[max(error.start - 20, 0) : error.start + 10]
        raise FormatError(
            f"{path}: {around!r} is not UTF-8; save the table as such, or convert it: iconv -f CP1252 -t UTF-8 takes "
            "what Windows writes"
        ) from None
    except Warning:
        raise FormatError(
            f"{path}: not a CSV table: its first row has more cells than the header; a text with commas in it "
            "needs quotes"
        ) from None
    except (ValueError, OverflowError) as error:  # pandas' own errors are ValueErrors
        raise FormatError(f"{path}: not a CSV table: {one_line(str(error))}") from None
    kept = [column for column in header if column in columns]
    if lost := [column for column in kept if column not in frame]:
        raise FormatError(
            f"{path}: line 1: column {shown(lost[0])} is cut by quotes or line ends in the header; write it as one line"
        )
    # pandas reads categories that look like numbers as numbers.
    few = dict.fromkeys((column for column in kept if column in TEXTS and column != "name"), "category")
    return frame[kept].astype(few), [column for column in header if column not in columns]


def _refuse_long(path: Path, what: str) -> None:
    """Reject a table of too many lines, or cells in a line: a byte in the file, up to 1.5 kB in memory."""
    rows, cells, cuts = 0, 0, _cuts_at_nul()
    with open_plain(path) as file:
        while part := file.read(CHUNK_B):
            data = np.frombuffer(part, np.uint8)
            if cuts and not data.all():
                raise FormatError(
                    f"{path}: a NUL byte, at which {cuts} cuts texts; upgrade it, or take the byte out"
                )
            ends = np.flatnonzero((data == ord("\n")) | (data == ord("\r")))
            commas = np.cumsum(data == ord(","))
            in_lines = np.diff(commas[ends], prepend=-cells, append=commas[-1])
            budget().check(path, int(in_lines.max()) + 1, "columns")
            rows, cells = rows + max(part.count(b"\n"), part.count(b"\r")), int(in_lines[-1])
            budget().check(path, rows - 1, what)


def _cuts_at_nul() -> str:
    """Return pandas and its version if its tables lose the rest of a text after a NUL byte, else nothing."""
    import pandas as pd

    probe = pd.read_csv(io.StringIO('text\n"a\0b"\n'))
    return "" if probe["text"][0] == "a\0b" else f"pandas {pd.__version__}"


def _refuse_blank_lines(path: Path) -> None:
    """Reject a blank line between others: in a table of one column it may be a task without any data."""
    blank = 0
    with open_plain(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip() and blank:
                raise FormatError(
                    f'{path}: line {blank}: blank; in a table of one column write "" for what is unknown'
                )
            blank = blank or (0 if line.strip() else number)


def _numbers(path: Path, column: str, texts: pd.Series[Any]) -> Any:
    """Return a column as float64, exactly as Python reads each number; NaN for an empty cell."""
    cells = texts.tolist()
    values = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        try:
            # Python also accepts 1_000 as a number.
            values[row] = float(cell.replace("_", "x"))
        except ValueError:
            if cell.strip().lower() not in UNKNOWN:
                raise _wrong(path, column, row, cell, "a number, or nothing where it is unknown") from None
    return values


def _whole(path: Path, column: str, texts: pd.Series[Any]) -> Any:
    if (values := _as_whole(texts)) is None:
        # pandas writes floats where other cells of a column are unknown.
        texts = texts.replace({r"^([0-9]+)\.0+$": r"\1"}, regex=True)
        values = _as_whole(texts)
    if values is None:
        row, cell = next((i, c) for i, c in enumerate(texts.tolist()) if not _is_whole(c))
        raise _wrong(path, column, row, cell, "a whole number")
    return values


def _is_whole(cell: object) -> bool:
    text = str(cell).removeprefix("-")
    return text.isascii() and text.isdigit() and len(text) <= 18


def _as_whole(texts: pd.Series[Any]) -> Any | None:
    """Return a column as int64; None where a cell is not a whole number."""
    cells = texts.tolist()
    return np.array([int(c) for c in cells], np.int64) if all(map(_is_whole, cells)) else None


def _as_labels(texts: pd.Series[Any]) -> Any | None:
    """Return a column as int64; None where a cell is a text that the number does not give back, such as 01."""
    numbers = _as_whole(texts)
    return None if numbers is None or list(map(str, numbers.tolist())) != texts.tolist() else numbers


def _wrong(path: Path, column: str, row: int, cell: object, expected: str) -> FormatError:
    return FormatError(
        f"{path}: row {row + 1} after the header has {column} {shown(cell)}; expected {expected}"
    )


def _with_data(path: Path, edges: pd.DataFrame) -> pd.DataFrame:
    """Return the edges with bytes as numbers, and objects as numbers, where all of them are, or as texts."""
    if "bytes_B" in edges:
        edges["bytes_B"] = _numbers(path, "bytes_B", edges["bytes_B"])
    if "object" in edges:
        texts = edges["object"].replace("", "-1")
        numbers = _as_labels(texts)
        edges["object"] = texts.where(texts != "-1", None) if numbers is None else numbers
    return edges


def _labelled(path: Path, tasks: pd.DataFrame, edges: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables with the labels of tasks as numbers, where all of them are, or as texts."""
    columns = [edges[c] for c in ENDS] + ([tasks["task"]] if "task" in tasks else [])
    numbers = [_as_labels(column) if "task" in tasks else _as_whole(column) for column in columns]
    if all(column is not None for column in numbers):
        edges = edges.assign(before=numbers[0], after=numbers[1])
        return (tasks.assign(task=numbers[2]) if "task" in tasks else tasks), edges
    if "task" not in tasks:
        for column in ENDS:
            edges[column] = _whole(path, column, edges[column])
    return tasks, edges
