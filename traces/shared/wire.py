"""Protobuf files of any size, in pieces: whole fields of about a megabyte, each handed to the library at once.

A field costs a fraction of a microsecond here, and memory is that of one piece, whatever the file's size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from simsched.errors import FormatError
from simsched.graph.loading import Mend, open_plain

PIECE_B = 1024 * 1024
#: A packet or event; real ones have some kilobytes, packets of system traces up to a megabyte.
MAX_FIELD_B = 64 * 1024 * 1024
#: Of the fields that are walked one by one, about a million per second.
MAX_FIELDS = 4_000_000
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
#: Bytes of a fixed field, by wire type.
FIXED_B = {FIXED64: 8, FIXED32: 4}
ADVICE = "is the file damaged, or of another format?"


class Field(NamedTuple):
    """Header of a field: its number, its wire type, and the place in the file where its content begins and ends."""

    number: int
    kind: int
    begin: int
    end: int


class Wire:
    """A protobuf file that is read from its beginning to its end.

    Parameters
    ----------
    path : Path
        The file, for messages.
    stream : binary file
        Its bytes, decompressed.
    mend : callable, optional
        If given, a file that is cut off ends after its last whole field, and `mend` is called with a sentence.
    """

    def __init__(self, path: Path, stream: BinaryIO, mend: Mend | None = None) -> None:
        self._path, self._stream, self._mend = path, stream, mend
        self._buffer, self._begin = b"", 0
        #: Place in the file.
        self.at = 0
        self._fields = 0

    def pieces(self, end: int | None = None, *, over: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield whole fields, some at a time, as place and bytes, up to a place; None: up to the end of the file.

        Fields of the number `over` that are longer than a piece are passed over.
        """
        wanted = PIECE_B
        while self._left(end, wanted):
            held = self._held(end)
            length, _ = self._whole(_whole_fields(held, 0, len(held)))
            if length:
                yield self.at, held[:length]
                self._pass(length)
                wanted = PIECE_B
            elif over and (head := header(held[:20])) and head[:2] == (over, BYTES):
                place = self.at
                if not self._skip(self._taken(head, end).end):
                    self._cut_off(place)
                    return
            elif len(held) < wanted or wanted > MAX_FIELD_B:
                self._cut_off(self.at, wanted > MAX_FIELD_B)
                return
            else:
                wanted *= 4

    def fields(self, end: int | None = None, *, only: int = 0) -> Iterator[Field]:
        """Yield fields one by one; what of a content is not read before the next is taken is passed over.

        With `only`, texts and messages of this number: a small file may become millions of others.
        """
        while self._left(end, 20):
            place, count = self.at, 1
            if only:
                length, count = self._whole(
                    _whole_fields(self._buffer, self._begin, self._until(end), only << 3 | BYTES)
                )
                self._pass(length)
            self._fields += count or 1
            if self._fields > MAX_FIELDS:
                raise FormatError(f"{self._path}: more than {MAX_FIELDS} fields; refused")
            if self.at > place:
                continue
            held = self._held(min(place + 20, end or place + 20))
            if (head := header(held)) is None:
                self._whole(_whole_fields(held, 0, len(held)))
                self._cut_off(place)
                return
            field = self._taken(head, end)
            if not only or field[:2] == (only, BYTES):
                yield field
            if not self._skip(field.end):
                self._cut_off(place)
                return

    def messages(self, number: int, end: int | None = None) -> Iterator[Field]:
        """Yield the messages or texts of one number, as `fields` does."""
        return self.fields(end, only=number)

    def _taken(self, head: tuple[int, int, int, int], end: int | None) -> Field:
        """Go on to the content of a field, and return it."""
        number, kind, begin, length = head
        place = self.at
        self._pass(begin)
        if end is not None and self.at + length > end:
            raise self.wrong(place, "a field reaches beyond the message that holds it")
        return Field(number, kind, self.at, self.at + length)

    def _whole(self, found: tuple[int, int]) -> tuple[int, int]:
        """Return length and number of whole fields from here; raise `FormatError` where no field can begin."""
        if found[0] < 0:
            raise self.wrong(self.at - found[0] - 1, "no field of protobuf")
        return found

    def content(self, field: Field) -> bytes:
        """Return the content of a field of bytes, as far as it is there; raise `FormatError` if it is too long."""
        if field.end - field.begin > MAX_FIELD_B:
            raise self.wrong(field.begin, f"a field of {field.end - field.begin} bytes")
        if self._left(field.end, field.end - field.begin) < field.end - field.begin and self._mend is None:
            self._cut_off(field.begin)
        return self._held(field.end)

    def field(self, one: Field) -> bytes:
        """Return a field of bytes as it stands in its message, for `parsed`: a message of one field is a message."""
        return spelled(one.number, self.content(one))

    def wrong(self, place: int, problem: str) -> FormatError:
        """Return the error of a place."""
        return FormatError(f"{self._path}: byte {place}: {problem}; {ADVICE}")

    def _left(self, end: int | None, wanted: int) -> int:
        """Return how many bytes are at hand before `end`, `wanted` unless there are fewer."""
        if end is not None:
            wanted = min(wanted, end - self.at)
        while len(self._buffer) - self._begin < wanted:
            if not (more := self._stream.read(PIECE_B)):
                break
            self._buffer, self._begin = self._buffer[self._begin :] + more, 0
        return min(len(self._buffer) - self._begin, wanted)

    def _held(self, end: int | None) -> bytes:
        return self._buffer[self._begin : self._until(end)]

    def _until(self, end: int | None) -> int:
        return len(self._buffer) if end is None else min(len(self._buffer), self._begin + end - self.at)

    def _pass(self, length: int) -> None:
        self._begin += length
        self.at += length

    def _skip(self, place: int) -> bool:
        """Go on to a place; return whether it is in the file."""
        while self.at < place:
            if not (there := self._left(place, PIECE_B)):
                return False
            self._pass(there)
        return True

    def _cut_off(self, place: int, long: bool = False) -> None:
        if long:
            raise self.wrong(place, f"a field of more than {MAX_FIELD_B} bytes")
        if self._mend is None:
            raise FormatError(
                f"{self._path}: the file is cut off in the field at byte {place}; was it copied completely? "
                "tolerant=true keeps what is complete"
            )
        self._mend(f"the file is cut off in the field at byte {place}; what is complete before that was read")
        # Messages around the one that is cut off end, too.
        while there := self._left(None, PIECE_B):
            self._pass(there)


@contextmanager
def open_wire(path: Path, mend: Mend | None = None) -> Iterator[Wire]:
    """Open a protobuf file, plain or gzipped."""
    with open_plain(path, mend) as stream:
        yield Wire(path, stream, mend)


def header(data: bytes) -> tuple[int, int, int, int] | None:
    r"""Return number and wire type of the first field, and begin and length of its content.

    None where the data end before, or begin with no field; a number has its own bytes as content.

    Examples
    --------
    >>> header(b"\x0a\x03abc"), header(b"\x08\x96\x01"), header(b"\x0a"), header(b"\x0f\x01")
    ((1, 2, 2, 3), (1, 0, 1, 2), None, None)
    """
    tag, at = varint(data, 0)
    kind = tag & 7
    if not at or not tag >> 3:
        return None
    if kind == BYTES:
        length, begin = varint(data, at)
        return (tag >> 3, kind, begin, length) if begin else None
    if kind == VARINT:
        _, end = varint(data, at)
        return (tag >> 3, kind, at, end - at) if end else None
    return (tag >> 3, kind, at, FIXED_B[kind]) if kind in FIXED_B else None


def headers(data: bytes, at: int = 0) -> Iterator[tuple[int, int, int, int]]:
    r"""Yield number and wire type of the fields from a place on, and where the content of each begins and ends.

    Of a field that is cut off, the end is beyond that of the data, and no more follow.

    Examples
    --------
    >>> list(headers(b"\x08\x96\x01\x0a\x03ab"))
    [(1, 0, 1, 3), (1, 2, 5, 8)]
    """
    while found := header(data[at : at + 20]):
        number, kind, begin, length = found
        yield number, kind, at + begin, at + begin + length
        at += begin + length


def varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    r"""Return the number at a place and the place after it; (0, 0) where there is none.

    Examples
    --------
    >>> varint(b"\x96\x01", 0), varint(b"\x96", 0)
    ((150, 2), (0, 0))
    """
    if at < len(data) and data[at] < 128:
        return data[at], at + 1
    value = 0
    for shift, byte in enumerate(data[at : at + 10]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value, at + shift + 1
    return 0, 0


def spelled(number: int, content: bytes) -> bytes:
    r"""Return a field of bytes as it stands in a message.

    Examples
    --------
    >>> spelled(1, b"abc")
    b'\n\x03abc'
    """
    return _number(number << 3 | BYTES) + _number(len(content)) + content


def _number(value: int) -> bytes:
    """Undo `varint`."""
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _whole_fields(data: bytes, first: int, end: int, but: int = -1) -> tuple[int, int]:
    r"""Return length and number of the whole fields from a place to another, up to the first with the tag `but`.

    The length is -1 - p where no field can begin p bytes after the first.

    Examples
    --------
    >>> data = b"\x08\x01\x0a\x03ab"
    >>> _whole_fields(data, 0, 6), _whole_fields(data, 0, 6, but=8), _whole_fields(b"\x08\x01\x0f", 0, 3)
    ((2, 1), (0, 0), (-3, 1))
    """
    at = begin = first
    count = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag >= 128:
                tag, at = _long(data, begin)
            if tag == but:
                break
            kind = tag & 7
            if kind == BYTES:
                length = data[at]
                at += 1
                if length >= 128:
                    length, at = _long(data, at - 1)
                at += length
            elif kind == VARINT:
                _, at = _long(data, at) if data[at] >= 128 else (0, at + 1)
            elif kind in FIXED_B:
                at += FIXED_B[kind]
            else:
                return first - begin - 1, count
            if at > end:
                break
            count += 1
            begin = at
    except IndexError:
        pass
    except OverflowError:
        return first - begin - 1, count
    return begin - first, count


def _long(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place and the place after it; raise `IndexError` where the data end before."""
    value, after = varint(data, at)
    if not after:
        if len(data) - at < 10:
            raise IndexError
        raise OverflowError
    return value, after


def parsed(wire: Wire, message: type[Any], piece: bytes, place: int, mend: Mend | None) -> Any:
    """Return a piece's fields as a message of theirs.

    Parameters
    ----------
    wire : Wire
        The file.
    message : class of messages
        What the fields are of.
    piece, place : bytes, int
        As `Wire.pieces` yields them.
    mend : callable, optional
        If given, fields that are not as the message has them are left out, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If a field is not as the message has it.
    """
    from google.protobuf.message import DecodeError

    whole = message()
    try:
        whole.ParseFromString(piece)
    except DecodeError:
        whole.Clear()
        at = 0
        for end in chain((end for *_, end in headers(piece)), [len(piece)]):
            try:
                one = message()
                one.ParseFromString(piece[at:end])
                whole.MergeFrom(one)
            except DecodeError:
                if mend is None:
                    raise wire.wrong(
                        place + at, "a message that is damaged (tolerant=true passes it over)"
                    ) from None
                mend(f"the message at byte {place + at} is damaged; it was left out")
            at = end
    return whole
