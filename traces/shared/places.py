"""Checked access to the values of JSON traces and to lines of text files, and where each stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.loading import Mend, open_plain
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.timeline import whole_ns

#: Until the year 2049, so that differences stay within 64 bits of nanoseconds.
MAX_MICROSECONDS = 25 * 10**14
MAX_INTEGER = 2**63


@dataclass(frozen=True)
class Place:
    """Place of a value in a file, for error messages.

    Parameters
    ----------
    file : Path
        The file.
    noun : str
        Kind of the record: `event`.
    number : int or None
        Which one it is, counted from 0; None where there is only one.
    """

    file: Path
    noun: str
    number: int | None = None

    def error(self, problem: str, advice: str = "the file is damaged, or of another format") -> FormatError:
        """Return the error with the place, the problem and what to do."""
        what = self.noun if self.number is None else f"{self.noun} {self.number}"
        return FormatError(f"{self.file}: {what}: {problem}; {advice}")

    def record(self, value: object) -> dict[str, Any]:
        """Return `value`, which must be a JSON object."""
        if not isinstance(value, dict):
            raise self.error(f"expected an object, got {shown(value)}")
        return value

    def array(self, value: object, key: str) -> list[Any]:
        """Return `value`, which must be a JSON array."""
        if not isinstance(value, list):
            raise self.error(f"{key} is {shown(value)}, expected a list")
        return value

    def text(self, value: object, key: str) -> str:
        """Return `value`, which must be a string."""
        if not isinstance(value, str):
            raise self.error(f"{key} is {shown(value)}, expected a text")
        return value

    def integer(self, value: object, key: str) -> int:
        """Return `value`, which must be a whole number of 64 bits."""
        if type(value) is not int or not -MAX_INTEGER <= value < 2 * MAX_INTEGER:
            raise self.error(f"{key} is {shown(value)}, expected a whole number")
        return value

    def positive(self, value: Any, key: str) -> float:
        """Return `value`, which must be a finite number above zero, as a float."""
        if type(value) not in (int, Decimal) or not 0 < value < 10**300:
            raise self.error(f"{key} is {shown(value)}, expected a number above zero")
        return float(value)

    def nanoseconds(self, value: object, key: str) -> int:
        """Return microseconds, a whole or decimal number, as exact integer nanoseconds."""
        if type(value) is int and abs(value) <= MAX_MICROSECONDS:
            return value * 1000
        most_ns = MAX_MICROSECONDS * 1000
        time_ns = whole_ns(value, 1000, -most_ns, most_ns) if isinstance(value, Decimal) else None
        if time_ns is None:
            raise self.error(f"{key} is {shown(value)}, expected microseconds")
        return time_ns


@dataclass(frozen=True)
class ObjectFields:
    """The fields of an object of a file; raise `FormatError` where it is none.

    Parameters
    ----------
    path : Path
        The file.
    where : str
        Place of the object in it, in words.
    values : dict
    """

    path: Path
    where: str
    values: Any

    def __post_init__(self) -> None:
        if not isinstance(self.values, dict):
            raise FormatError(f"{self.path}: {self.where} is {shown(self.values)}; expected an object")

    def wrong(self, key: str, value: object, expected: str) -> FormatError:
        """Return the error of an invalid field."""
        return FormatError(
            f"{self.path}: {self.where} has {shown(key)[1:-1]} {shown(value)}; expected {expected}"
        )


@dataclass(frozen=True, slots=True)
class Line:
    """What a line, or several, of a text file say by name.

    Parameters
    ----------
    file : Path
    line : int
        Number of the first of them, from 1.
    values : dict
    """

    file: Path
    line: int
    values: dict[str, Any]

    def wrong(self, key: str, expected: str) -> FormatError:
        """Return the error of an invalid value."""
        found = shown(self.values[key]) if key in self.values else "missing"
        return FormatError(f"{self.file}: line {self.line}: {key} is {found}; expected {expected}")


def pass_over(path: Path, problem: str, mend: Mend | None, advice: str = ";") -> None:
    """Report that a line was passed over; raise `FormatError` without `mend`."""
    if mend is None:
        raise FormatError(f"{path}: {problem}{advice} tolerant=true passes it over")
    mend(f"{problem}, and was passed over")


#: The longest real lines list some thousand dependencies.
MAX_LINE_B = 16 * 1024 * 1024


def lines(path: Path, mend: Mend | None = None) -> Iterator[tuple[int, str]]:
    """Yield each line of a file, plain or gzipped, with its number from 1.

    Parameters
    ----------
    path : Path
        The file.
    mend : callable, optional
        If given, broken compressed data ends the file, and `mend` is called with a sentence.

    Yields
    ------
    int, str
        The line's number, and the line without its end. Bytes that are not UTF-8 are kept as escapes.

    Raises
    ------
    FormatError
        If the file cannot be read, or a line is longer than `MAX_LINE_B`.
    """
    for number, raw in raw_lines(path, mend):
        yield number, raw.decode("utf-8", "backslashreplace").rstrip("\r\n")


def raw_lines(path: Path, mend: Mend | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield each line as `lines` does, as bytes with its end, which the last line of a cut-off file lacks."""
    with open_plain(path, mend) as stream:
        for number, raw in enumerate(iter(partial(stream.readline, MAX_LINE_B + 1), b""), 1):
            if len(raw) > MAX_LINE_B:
                raise FormatError(f"{path}: line {number}: longer than {MAX_LINE_B} bytes; refused")
            yield number, raw
