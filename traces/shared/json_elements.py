"""The elements of one long array of a JSON file, decoded to a type at C speed; the rest by ijson.

A trace is one array of a million small objects in an object of few members. The text is cut between elements, by the
depth of the brackets outside texts, and each piece of about a megabyte is decoded by msgspec, which makes no objects of
fields that the type does not have. Text before and after the array is parsed as if the array were empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError, require
from simsched.graph.loading import Mend, open_plain
from simsched.traces.shared.json_stream import (
    MAX_DEPTH,
    MAX_VALUE_B,
    STEPS,
    Parser,
    chunks,
    cut_off,
    give_up,
    too_deep,
)

if TYPE_CHECKING:
    import msgspec

COMMA, OPENING = ord(","), ord("[")
_QUOTE = ord('"')
_MARKS = STEPS != 0
_MARKS[[_QUOTE, COMMA]] = True


@dataclass(frozen=True, slots=True)
class _Marks:
    """Brackets and commas outside texts: their places, their kinds, and the depth after each."""

    at: npt.NDArray[np.intp]
    kind: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.int64]

    @classmethod
    def of(cls, text: bytes, depth: int) -> _Marks:
        """Find them in a text that begins outside texts, `depth` deep."""
        if b"\\" in text:
            text = text.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        codes = np.frombuffer(text, np.uint8)
        at = np.flatnonzero(_MARKS[codes])
        kind = codes[at]
        quote = kind == _QUOTE
        outside = ~(quote | np.logical_xor.accumulate(quote))
        kind = kind[outside]
        return cls(at[outside], kind, np.cumsum(STEPS[kind], dtype=np.int64) + depth)

    def commas(self, depth: int) -> npt.NDArray[np.intp]:
        """Return where the commas of one depth are."""
        return np.extract((self.kind == COMMA) & (self.depth == depth), self.at)


T = TypeVar("T")
CHUNK_B = 1024 * 1024
#: Most repetitions of a name in an object; each time the rest of a chunk is scanned again.
MAX_ARRAYS = 16
_NO_COMMAS = np.zeros(0, np.intp)
_BYTE = re.compile(r" \(byte (\d+)\)")
_ELEMENT = re.compile(r" - at `\$\[(\d+)\].*")


class Elements(Generic[T]):
    """The elements of an array at the top of a JSON file, or a member of the object there, in file order.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    key : str or None
        Name of the array; a file that is an array has no names. None: the file must be one.
    decoder : msgspec.json.Decoder
        Of a list of elements.
    members : tuple of str
        Other members of the object that are wanted, by their prefixes as ijson writes them.
    mend : callable, optional
        As for `simsched.traces.shared.json_stream.stream`.
    unclosed : callable, optional
        If given, for formats that allow it: the list that is the file may lack its end after an object, and `unclosed`
        is called with a sentence.

    Iterating yields lists of elements, and raises `FormatError` where the file is not JSON, is cut off or would need
    unbounded memory. Then `members` holds the values next to the array.
    """

    def __init__(
        self,
        path: Path,
        key: str | None,
        decoder: msgspec.json.Decoder[list[T]],
        members: tuple[str, ...] = (),
        mend: Mend | None = None,
        unclosed: Mend | None = None,
    ) -> None:
        self.members: dict[str, Any] = {}
        self._path, self._decoder, self._mend, self._unclosed = path, decoder, mend, unclosed
        self._around = Parser(path, *(members or (key or "item",)))
        self._opening = None if key is None else re.compile(rb'"%s"\s*:\s*\[' % re.escape(key.encode()))
        self._text, self._offset_B, self._count = b"", 0, 0
        #: Depth of the elements while within the array; before and after it, 0, and depth of the text's beginning.
        self._base, self._depth, self._after_comma = 0, 0, False
        self._arrays = 0

    def __iter__(self) -> Iterator[list[T]]:
        try:
            with open_plain(self._path, self._mend) as file:
                for chunk in chunks(file, self._mend, CHUNK_B):
                    self._text += chunk
                    yield from self._progress()
                    if len(self._text) > MAX_VALUE_B:
                        raise FormatError(
                            f"{self._path}: near byte {self._offset_B}: a value of more than {MAX_VALUE_B} bytes; "
                            "refused"
                        )
            yield self._end()
        except _MalformedError as problem:
            yield problem.complete
            give_up(problem.error, self._mend)

    def _progress(self) -> Iterator[list[T]]:
        """Decode what is complete of the text."""
        while True:
            marks = _Marks.of(self._text, self._depth)
            if len(marks.depth) and marks.depth.max() > MAX_DEPTH:
                raise too_deep(self._path, self._offset_B)
            if self._base:
                closing = np.flatnonzero(marks.depth < self._base)[:1]
                end = int(marks.at[closing[0]]) if len(closing) else None
                commas = marks.commas(self._base)
                yield self._elements(commas if end is None else commas[commas < end], end)
            else:
                end = self._found(marks)
                # The array's name, its colon and its bracket have no comma between them: text may be cut after any.
                last = np.flatnonzero(marks.kind == COMMA)[-1:]
                if end is not None:
                    self._arrays += 1
                    if self._arrays > MAX_ARRAYS:
                        raise FormatError(
                            f"{self._path}: near byte {self._offset_B}: the array of events begins for the "
                            f"{self._arrays}th time; the file is damaged"
                        )
                    self._skip(end + 1, self._base)
                elif len(last):
                    self._skip(int(marks.at[last[0]]) + 1, int(marks.depth[last[0]]))
            if end is None:
                return

    def _found(self, marks: _Marks) -> int | None:
        """Look for the array; return its start."""
        opens = marks.at[(marks.kind == OPENING) & (marks.depth == 2)]
        if not self._depth and len(marks.kind) and marks.kind[0] == OPENING:
            self._base = 1
            return int(marks.at[0])
        for found in self._opening.finditer(self._text) if self._opening else ():
            at = found.end() - 1
            place = np.searchsorted(opens, at)
            if place < len(opens) and opens[place] == at:
                self._base = 2
                return at
        return None

    def _skip(self, length: int, depth: int) -> None:
        """Pass text outside the array to the other parser; the rest begins `depth` deep."""
        text = self._take(length)
        self._depth = depth
        self._parse(text)

    def _parse(self, text: bytes) -> None:
        self._around.check(text)
        try:
            self._around.feed(text, self._offset_B - len(text))
        except FormatError as error:
            raise _MalformedError(error) from None
        finally:
            self.members.update(self._around.values())

    def _take(self, length: int) -> bytes:
        taken, self._text = self._text[:length], self._text[length:]
        self._offset_B += length
        return taken

    def _elements(self, commas: npt.NDArray[np.intp], end: int | None) -> list[T]:
        """Decode the elements before the last comma, or before the end of the array."""
        last = int(commas[-1]) if len(commas) else None
        upto = last if end is None else end
        if upto is None:
            return []
        text = self._take(upto)
        nothing = end is not None and not self._after_comma and not text.strip()
        elements = [] if nothing else self._decoded(text, commas)
        if end is None:
            self._take(1)
            self._after_comma = True
        else:
            self._depth, self._base, self._after_comma = self._base, 0, False
        return elements

    def _decoded(self, text: bytes, commas: npt.NDArray[np.intp]) -> list[T]:
        try:
            elements = self._decoder.decode(b"[" + text + b"]")
        except (ValueError, ArithmeticError, RecursionError) as error:
            raise _MalformedError(self._story(error, len(text)), self._complete(text, commas)) from None
        if not elements:
            raise _MalformedError(self._story(ValueError("nothing before a comma or bracket"), len(text)))
        self._count += len(elements)
        return elements

    def _complete(self, text: bytes, commas: npt.NDArray[np.intp]) -> list[T]:
        """Return the elements before the first malformed one."""
        found: list[T] = []
        if self._mend is None:
            return found
        for start, stop in pairwise([0, *(int(c) + 1 for c in commas), len(text) + 1]):
            try:
                found += self._decoder.decode(b"[" + text[start : stop - 1] + b"]")
            except (ValueError, ArithmeticError, RecursionError):
                break
        return found

    def _story(self, error: Exception, length: int) -> FormatError:
        said = str(error).split("\n")[0]
        if found := _ELEMENT.search(said):
            return FormatError(
                f"{self._path}: element {self._count + int(found[1])}: {_ELEMENT.sub('', said)[:100]}; "
                "the file is damaged"
            )
        at = self._offset_B - length + (int(found[1]) - 1 if (found := _BYTE.search(said)) else 0)
        said = "text that is not UTF-8" if isinstance(error, UnicodeError) else _BYTE.sub("", said)[:100]
        return FormatError(f"{self._path}: not valid JSON near byte {at}: {said}")

    def _end(self) -> list[T]:
        """Process the rest at the end of the file; return the elements in it."""
        if self._base:
            if self._unclosed is not None and self._between_elements():
                rest = self._decoded(self._take(len(self._text)), _NO_COMMAS) if self._text.strip() else []
                self._unclosed(
                    "the list lacks its end, which the format allows; what was still to come is not known"
                )
                return rest
            rest = [] if self._mend is None else self._complete(self._text, _NO_COMMAS)
            raise _MalformedError(cut_off(self._path, self._offset_B + len(self._text)), rest)
        self._parse(self._take(len(self._text)))
        try:
            self._around.close()
        except FormatError as error:
            raise _MalformedError(error) from None
        self.members.update(self._around.values())
        return []

    def _between_elements(self) -> bool:
        """Return whether the file is a list that lacks nothing but its end."""
        depths = _Marks.of(self._text, self._depth).depth
        whole = not len(depths) or depths[-1] == 1
        return self._base == 1 and bool(whole) and self._text.rstrip()[-1:] in (b"", b"}")


def objects(
    path: Path,
    key: str | None,
    members: tuple[str, ...] = (),
    mend: Mend | None = None,
    unclosed: Mend | None = None,
) -> tuple[dict[str, Any], Iterator[Any]]:
    """Return the other members, filled while its elements are taken, and an array's elements as plain values.

    Numbers with a decimal point are `Decimal`, exact.

    Parameters
    ----------
    path, key, members, mend, unclosed
        As for `Elements`.

    Raises
    ------
    FormatError
        As for `Elements`.
    MissingExtraError
        If msgspec is not installed.
    """
    require_msgspec()
    import msgspec

    decoder = msgspec.json.Decoder(list[Any], float_hook=Decimal)
    elements = Elements(path, key, decoder, members, mend, unclosed)
    return elements.members, chain.from_iterable(elements)


class _MalformedError(Exception):
    """End of the valid JSON, with the elements before it."""

    def __init__(self, error: FormatError, complete: list[Any] | None = None) -> None:
        self.error, self.complete = error, complete or []


def require_msgspec() -> None:
    """Raise `MissingExtraError` if msgspec is not installed."""
    require("msgspec", "formats", "reading JSON traces")
