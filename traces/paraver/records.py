"""The records about tasks of a Paraver trace, by thread and time."""

from __future__ import annotations

import re
from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.loading import Mend
from simsched.traces.paraver.vocabulary import Event, Header, Thread, Vocabulary, read_header
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import raw_lines

#: 36 years in nanoseconds, so that sums stay within 64 bits.
MAX_NS = 2**60


_RECORD = re.compile(rb"[1-4](?::-?[0-9]{1,20})+")


#: Communicators, domains and the like; comments of tools that cut traces.
_PASSED_OVER = (b"#", b"c:", b"d:", b"i:", b"C:", b"I:")


FIELDS = {b"1": 8, b"3": 15}


FEWEST_EVENT_FIELDS = 8


class Records(NamedTuple):
    """Events of a trace that are about tasks, one row per event, sorted by thread, time and place in the file.

    Parameters
    ----------
    header : Header
    threads : list of triple of int
        Meaning of `thread`.
    thread, time_ns, event, value : int64 arrays
        Where, when, what and its number; values of 2**63 and more are not kept.
    kinds : dict of str to int
        How many records of each kind, and how many events of other types than tasks', for messages.
    """

    header: Header
    threads: list[Thread]
    thread: npt.NDArray[np.int64]
    time_ns: npt.NDArray[np.int64]
    event: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]
    kinds: dict[str, int]


class _Table:
    """Rows in the order of reading."""

    def __init__(self) -> None:
        self.columns = tuple(array("q") for _ in range(4))
        self.threads: dict[Thread, int] = {}
        self.kinds = {"states": 0, "events": 0, "communications": 0, "of_mpi": 0}

    def add(self, fields: list[int], time_ns: int, event: Event, value: int) -> None:
        """Add a row; `fields` are cpu, application, task and thread."""
        thread = self.threads.setdefault((fields[1], fields[2], fields[3]), len(self.threads))
        for column, number in zip(self.columns, (thread, time_ns, int(event), value), strict=True):
            column.append(number)


def read_records(path: Path, vocabulary: Vocabulary, mend: Mend | None = None) -> Records:
    """Return the records about tasks of a trace, plain or gzipped; times in nanoseconds.

    Parameters
    ----------
    path : Path
        The file.
    vocabulary : Vocabulary
        Which numbers are about tasks.
    mend : callable, optional
        If given, a last line that is cut off is left out, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If a line is not a record, or a time is negative or too large.
    """
    table = _Table()
    ahead = raw_lines(path, mend)
    header = read_header(path, next(ahead, (1, b""))[1])
    for line, text in ahead:
        try:
            _add(table, path, line, text, header.unit_ns, vocabulary)
        except FormatError as error:
            if mend is None or text.endswith(b"\n"):
                raise
            mend(f"{error}; it is the last line and was left out")
    columns = [
        np.frombuffer(column, np.int64) if column else np.empty(0, np.int64) for column in table.columns
    ]
    order = np.lexsort((columns[1], columns[0]))
    thread, time_ns, event, value = (column[order] for column in columns)
    return Records(header, list(table.threads), thread, time_ns, event, value, table.kinds)


def _add(table: _Table, path: Path, line: int, text: bytes, unit_ns: int, vocabulary: Vocabulary) -> None:
    record = text.strip()
    if not record or record.startswith(_PASSED_OVER):
        return
    if not _RECORD.fullmatch(record):
        raise FormatError(
            f"{path}: line {line}: {shown(record)} is not a record of Paraver; expected numbers with colons between, "
            "the first of them 1 to 4"
        )
    words = record.split(b":")
    kind = words[0]
    wrong = (
        len(words) < FEWEST_EVENT_FIELDS or len(words) % 2 if kind == b"2" else len(words) != FIELDS.get(kind)
    )
    if wrong and kind != b"4":
        raise FormatError(
            f"{path}: line {line}: a record of kind {kind.decode()} with {len(words)} fields; is it cut off?"
        )
    if kind == b"1":
        table.kinds["states"] += 1
    elif kind == b"2":
        _events(table, path, line, words, unit_ns, vocabulary)
    elif kind == b"3":
        _communication(table, path, line, words, unit_ns, vocabulary)


def _events(
    table: _Table, path: Path, line: int, words: list[bytes], unit_ns: int, vocabulary: Vocabulary
) -> None:
    where: list[int] = []
    for word, text in zip(words[6::2], words[7::2], strict=True):
        number = int(word)
        event = vocabulary.events.get(number)
        table.kinds["events"] += 1
        table.kinds["of_mpi"] += 50_000_000 <= number < 60_000_000
        if event is None:
            continue
        where = where or [int(word) for word in words[1:6]]
        value = int(text)
        if not -(2**63) <= value < 2**63:
            raise FormatError(
                f"{path}: line {line}: event {number} has value {value}, which takes more than 64 bits"
            )
        table.add(where, _time(path, line, where[4], unit_ns), event, value)


def _communication(
    table: _Table, path: Path, line: int, words: list[bytes], unit_ns: int, vocabulary: Vocabulary
) -> None:
    table.kinds["communications"] += 1
    if (event := vocabulary.tag(int(words[14]))) is None:
        return
    fields = [int(word) for word in words[1:]]
    # The runtime records itself; between processes these are messages of MPI with arbitrary tags.
    if fields[1:3] != fields[7:9]:
        return
    if not 0 <= fields[12] < 2**63:
        raise FormatError(f"{path}: line {line}: size {fields[12]}; expected a whole number of 0 or more")
    table.add(fields, _time(path, line, fields[4], unit_ns), event, fields[12])


def _time(path: Path, line: int, time: int, unit_ns: int) -> int:
    if not 0 <= time * unit_ns <= MAX_NS:
        raise FormatError(f"{path}: line {line}: time {time}; expected 0 to {MAX_NS // unit_ns}")
    return time * unit_ns
