"""Untrusted SQLite files, read as plain tables: columns of whole numbers, and texts by number.

The file is opened read-only and immutable. A schema with anything that runs when a table is read (views, triggers,
virtual tables, generated columns) is refused, and an authorizer allows reads alone. A damaged file can name a page many
times: there are no more rows, and no more bytes of text, than the file can hold.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.text import one_line
from simsched.traces.shared.json_stream import shown

Whole = npt.NDArray[np.int64]
MAGIC = b"SQLite format 3\0"
MOST_TEXT_B, MOST_TABLES, MOST_COLUMNS = 16 * 1024 * 1024, 10_000, 2000
#: A row takes this at least.
LEAST_ROW_B = 3
_BLOCK = 1 << 16
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}


class Database:
    """Tables of a file.

    Parameters
    ----------
    path : Path
        The file, for messages.
    connection : sqlite3.Connection
    size_B : int
        Of the file.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, size_B: int) -> None:
        self.path, self._connection, self._size_B = path, connection, size_B
        self._most_rows = min(budget().most(path, "tasks"), size_B // LEAST_ROW_B)
        self.tables = self._columns_of_tables()
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY
        )

    def columns(self, table: str, needed: Sequence[str], others: Sequence[str] = ()) -> dict[str, Whole]:
        """Return columns of a table as whole numbers, -1 where NULL; `others` that it lacks are -1 throughout.

        Raises
        ------
        FormatError
            If the table lacks one that is needed, or a value is not a whole number.
        """
        has = self.tables.get(table, set())
        if lacks := [name for name in needed if name not in has]:
            raise FormatError(
                f"{self.path}: table {table} has no column {lacks[0]}; is this an export of Nsight Systems?"
            )
        names = [*needed, *(name for name in others if name in has)]
        columns = {name: array("q") for name in names}
        count = 0
        for rows in self._blocks(table, names):
            for name, values in zip(names, zip(*rows, strict=True), strict=True):
                columns[name].extend(self._whole(table, name, values, count))
            count += len(rows)
        found = {name: np.frombuffer(column, np.int64) for name, column in columns.items()}
        lacking = np.broadcast_to(np.int64(-1), count)
        return {name: found.get(name, lacking) for name in (*needed, *others)}

    def texts(self, table: str, key: str, value: str) -> dict[int, str]:
        """Return texts by their number; those that are none are left out.

        Raises
        ------
        FormatError
            If there is more text than the file can hold.
        """
        found: dict[int, str] = {}
        length_B = 0
        if {key, value} <= self.tables.get(table, set()):
            for rows in self._blocks(table, [key, value]):
                for number, text in rows:
                    if type(number) is int and isinstance(text, bytes):
                        length_B += len(text)
                        found[number] = plain_text(text)
                if length_B > self._size_B:
                    raise FormatError(
                        f"{self.path}: table {table} has more text than the file has bytes; it is damaged"
                    )
        return found

    def _whole(self, table: str, name: str, values: Sequence[Any], row: int) -> array[int]:
        try:
            return array("q", values)
        except TypeError:
            wrong = next((v for v in values if v is not None and type(v) is not int), None)
            if wrong is not None:
                raise FormatError(
                    f"{self.path}: table {table}: {name} is {shown(wrong)} near row {row}; expected a whole number"
                ) from None
            return array("q", [-1 if value is None else value for value in values])

    def _blocks(self, table: str, names: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        listed = ", ".join(f'"{name}"' for name in names)
        count = 0
        cursor = self._connection.execute(f'SELECT {listed} FROM "{table}"')  # noqa: S608 - our names
        while rows := cursor.fetchmany(_BLOCK):
            count += len(rows)
            if count > self._most_rows:
                raise FormatError(f"{self.path}: table {table} has more than {self._most_rows} rows; refused")
            yield rows

    def _columns_of_tables(self) -> dict[str, set[str]]:
        """Return the columns of each table; raise `FormatError` where the schema has more than plain tables."""
        found: dict[str, set[str]] = {}
        schema = self._connection.execute("SELECT type, name, sql FROM sqlite_master").fetchmany(
            MOST_TABLES + 1
        )
        if len(schema) > MOST_TABLES:
            raise FormatError(f"{self.path}: more than {MOST_TABLES} tables; refused")
        for told in schema:
            kind, name, sql = (plain_text(text) if isinstance(text, bytes) else "" for text in told)
            if kind not in ("table", "index") or " ".join(sql[:100].split()[:2]).upper() == "CREATE VIRTUAL":
                raise FormatError(
                    f"{self.path}: {shown(name)} is a {shown(kind)[1:-1]} that runs code when it is read; refused: "
                    "exports of Nsight Systems have plain tables"
                )
            if kind == "table" and '"' not in name:
                rows = self._connection.execute(f'PRAGMA table_xinfo("{name}")').fetchmany(MOST_COLUMNS)
                if any(row[6] not in (0, None) for row in rows):
                    raise FormatError(
                        f"{self.path}: table {shown(name)} has columns that are computed; refused"
                    )
                found[name] = {"rowid", *(plain_text(row[1]) for row in rows if isinstance(row[1], bytes))}
        return found


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """Open a file.

    Raises
    ------
    FormatError
        If it is no SQLite database, is damaged, or its schema is refused.
    """
    try:
        where = path.resolve().__fspath__()
        connection = sqlite3.connect(
            f"file:{quote(where)}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        try:
            connection.text_factory = bytes
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_TEXT_B)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            for setting in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0"):
                connection.execute(f"PRAGMA {setting}")
            yield Database(path, connection, path.stat().st_size)
        finally:
            connection.close()
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        raise FormatError(
            f"{path}: not a database that SQLite can read: {one_line(str(error))[:200]}"
        ) from None
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from None
