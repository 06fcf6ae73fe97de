"""Streaming JSON for the PyTorch readers: one value at a time, exact numbers, bounded memory, clear errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import FormatError, MissingExtraError
from simsched.graph.loading import open_plain

CHUNK_B = 64 * 1024
#: Real traces nest less than ten deep; the parser's memory grows with the square of the depth.
MAX_DEPTH = 100
#: The parser builds one value at a time; the largest real ones are below 1 MB. A text that spans chunks costs it the
#: square of its length.
MAX_VALUE_B = 16 * 1024 * 1024
#: The parser's C code does not survive integers of more digits than Python converts (4300).
MAX_DIGITS = 1000
#: Until the year 2049, so that differences stay within 64 bits of nanoseconds.
MAX_MICROSECONDS = 25 * 10**14
MAX_INTEGER = 2**63
#: Operators of one step, or calls of one execution trace: some gigabytes of memory.
MAX_RECORDS = 2_000_000

_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % MAX_DIGITS)
_STEPS = np.zeros(256, np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1


def shown(value: object, most: int = 60) -> str:
    """Return a value as an error message quotes it, cut where it is long."""
    text = repr(value[: most + 1] if isinstance(value, str) else value)
    return text if len(text) <= most else text[:most] + "..."


@dataclass(frozen=True)
class Place:
    """Where in which file a value stands, for error messages.

    Parameters
    ----------
    file : Path
        The file.
    noun : str
        What the record is: `event`.
    number : int or None
        Which one it is, counted from 0; None where there is only one.
    """

    file: Path
    noun: str
    number: int | None = None

    def error(
        self, problem: str, advice: str = "the file is damaged, or no PyTorch profiler wrote it"
    ) -> FormatError:
        """Return the error that tells the place, the problem and what to do."""
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

    def positive(self, value: object, key: str) -> float:
        """Return `value`, which must be a finite number above zero, as a float."""
        if type(value) not in (int, Decimal) or not 0 < value < 10**300:  # type: ignore[operator]  # numbers by now
            raise self.error(f"{key} is {shown(value)}, expected a number above zero")
        return float(value)  # type: ignore[arg-type]  # numbers by now

    def nanoseconds(self, value: object, key: str) -> int:
        """Return microseconds, a whole or decimal number, as exact integer nanoseconds."""
        if type(value) is int and abs(value) <= MAX_MICROSECONDS:
            return value * 1000
        # The magnitude is looked at first: an integer of a billion digits must never be made.
        if (
            not isinstance(value, Decimal)
            or not value.is_finite()
            or value.adjusted() > 15
            or abs(value) > MAX_MICROSECONDS
        ):
            raise self.error(f"{key} is {shown(value)}, expected microseconds")
        return int(value.scaleb(3).to_integral_value())


class _Guard:
    """Refuses text that would make the parser crash or eat memory: deep nesting, endless numbers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._in_string, self._escape, self._depth = False, b"", 0

    def check(self, chunk: bytes, offset_B: int) -> None:
        outside = self._outside_strings(chunk)
        if _LONG_NUMBER.search(outside):
            raise FormatError(
                f"{self._path}: near byte {offset_B}: a number of more than {MAX_DIGITS} digits; refused"
            )
        depths = np.cumsum(_STEPS[np.frombuffer(outside, np.uint8)], dtype=np.int64) + self._depth
        if len(depths):
            self._depth = int(depths[-1])
            if depths.max() > MAX_DEPTH:
                raise FormatError(
                    f"{self._path}: near byte {offset_B}: values nested more than {MAX_DEPTH} deep; refused"
                )

    def _outside_strings(self, chunk: bytes) -> bytes:
        chunk = (self._escape + chunk).replace(b"\\\\", b"").replace(b'\\"', b"")
        self._escape = b"\\" if chunk.endswith(b"\\") else b""
        pieces = chunk.removesuffix(b"\\").split(b'"')
        outside = b" ".join(pieces[self._in_string :: 2])
        self._in_string ^= len(pieces) % 2 == 0
        return outside


def stream(path: Path, *prefixes: str) -> Iterator[tuple[str, Any]]:
    """Yield (prefix, value) for every value of a JSON file that stands under one of `prefixes`, in file order.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    *prefixes : str
        As ijson writes them: `traceEvents.item` is every element of the top-level array `traceEvents`.

    Raises
    ------
    FormatError
        If the file is not JSON, is cut off, or would need unbounded memory.
    MissingExtraError
        If ijson is not installed.
    """
    try:
        import ijson
    except ImportError:
        raise MissingExtraError("ijson", "formats", "reading PyTorch traces") from None
    queues = {prefix: ijson.sendable_list() for prefix in prefixes}
    parsers = [ijson.items_coro(queue, prefix) for prefix, queue in queues.items()]
    guard, offset_B, last_value_B = _Guard(path), 0, 0
    with open_plain(path) as file:
        while chunk := file.read(CHUNK_B):
            guard.check(chunk, offset_B)
            for parser in parsers:
                _parse(parser.send, path, offset_B, chunk)
            offset_B += len(chunk)
            if any(queues.values()):
                last_value_B = offset_B
                yield from _drained(queues)
            elif offset_B - last_value_B > MAX_VALUE_B:
                raise FormatError(
                    f"{path}: near byte {offset_B}: a value of more than {MAX_VALUE_B} bytes; refused"
                )
    for parser in parsers:
        _parse(parser.close, path, offset_B)
    yield from _drained(queues)


def _drained(queues: dict[str, list[Any]]) -> Iterator[tuple[str, Any]]:
    for prefix, queue in queues.items():
        for value in queue:
            yield prefix, value
        queue.clear()


def _parse(step: Callable[..., object], path: Path, offset_B: int, *chunk: bytes) -> None:
    from ijson import JSONError

    try:
        step(*chunk)
    except StopIteration:
        return
    except (JSONError, UnicodeError, ArithmeticError, ValueError) as error:
        raise FormatError(_story(path, offset_B, error)) from None


def _story(path: Path, offset_B: int, error: Exception) -> str:
    # The parser adds an excerpt of the file on further lines, as bytes where it is not UTF-8.
    said = error.args[0] if error.args else ""
    line = (said.decode("ascii", "replace") if isinstance(said, bytes) else str(error)).strip().split("\n")[0]
    if "premature" in line or "ncomplete" in line:
        return f"{path}: the JSON is cut off at byte {offset_B}; was the copy or the recording interrupted?"
    return f"{path}: not valid JSON near byte {offset_B}: {line[:100] or type(error).__name__}"
