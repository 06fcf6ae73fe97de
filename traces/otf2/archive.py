"""Files of an OTF2 archive: an anchor, global definitions, and events and definitions of each location.

They lie in a folder, or in a tar of one. The format is read in Python: no library has to be installed, and no compiled
code trusts what a file says.

References
----------
OTF2 3.2, OTF2_AnchorFile.c, OTF2_Buffer.c and OTF2_Buffer.h: chunks of fixed size, which begin with their byte order,
and records of a type, a length and fields; whole numbers as the number of their bytes and these bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from simsched.errors import FormatError
from simsched.files import open_regular
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.loading import CHUNK_B, open_plain, read_bounded
from simsched.traces.shared.json_stream import shown

SUFFIX = ".otf2"
BIG, LITTLE = 0x23, 0x42
CHUNK_HEADER, END_OF_CHUNK, END_OF_BUFFER, END_OF_FILE = 3, 0, 1, 2
#: Bytes before the first record of a chunk: its mark, its byte order, the numbers of its first and last event.
HEADER_B = 18
LEAST_CHUNK_B, MOST_CHUNK_B = 256 * 1024, 16 * 1024 * 1024
#: Length of a record that stands in the following eight bytes.
LONG = 0xFF
UNDEFINED = -1
_MAGICS = tuple(bytes([CHUNK_HEADER, order]) + b"OTF2\0" for order in (BIG, LITTLE))
_MOST_ANCHOR_B, _MOST_MEMBERS, _MOST_NAME_B = 1024 * 1024, 100_000, 200
_POSIX, _PLAIN = 1, (0, 1)
_BLOCK_B, _USTAR, _USTAR_AT = 512, b"ustar", 257


class Fields:
    r"""Fields of a record, one after the other.

    Parameters
    ----------
    data : bytes
    at, end : int
        Where they begin and end.
    big : bool
        Whether the first byte of a number is the most significant one.

    Examples
    --------
    >>> fields = Fields(bytes([1, 7, 0, 255]) + b"ab\0", 0, 7, False)
    >>> fields.whole(), fields.whole(), fields.whole(), fields.text()
    (7, 0, -1, 'ab')
    """

    __slots__ = ("at", "big", "data", "end")

    def __init__(self, data: bytes, at: int, end: int, big: bool) -> None:
        self.data, self.at, self.end, self.big = data, at, end, big

    def raw(self, size: int) -> bytes:
        """Return some bytes; raise `IndexError` where the record has fewer."""
        at = self.at
        if at + size > self.end:
            raise IndexError(f"a record of {self.end - at} bytes, too short for its fields")
        self.at = at + size
        return self.data[at : at + size]

    def byte(self) -> int:
        """Return the value of a byte."""
        return self.raw(1)[0]

    def whole(self) -> int:
        """Return a number of up to eight bytes, whose first one tells how many follow; `UNDEFINED` for none."""
        size = self.byte()
        if size == LONG:
            return UNDEFINED
        if size > 8:
            raise IndexError(f"a number of {size} bytes; expected at most 8")
        return self.full(size)

    def full(self, size: int = 8) -> int:
        """Return a number of a fixed number of bytes."""
        return int.from_bytes(self.raw(size), "big" if self.big else "little")

    def values(self, kinds: str) -> tuple[int, ...]:
        """Return several numbers: `b` is a byte, `w` as `whole` reads it."""
        return tuple(self.byte() if kind == "b" else self.whole() for kind in kinds)

    def text(self) -> str:
        """Return a text that ends with a zero byte."""
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise IndexError("a text without an end")
        found = plain_text(self.data[self.at : end])
        self.at = end + 1
        return found


@dataclass(frozen=True)
class _Anchor:
    """Contents of an archive's anchor file."""

    version: str
    events_chunk_B: int
    definitions_chunk_B: int
    machine: str
    creator: str


class Archive:
    """An archive of which files are read.

    Parameters
    ----------
    path : Path
        What the user named, for messages.
    place : Path
        The anchor file.
    """

    def __init__(self, path: Path, place: Path) -> None:
        self.path, self._place = path, place
        #: A packed archive has been counted while it was unpacked.
        self._counted = path != place
        self.anchor = self._anchor()
        self.definitions = f"{place.name.removesuffix(SUFFIX)}.def"

    def member(self, location: int, suffix: str) -> str:
        """Return the name of the file of a location: `traces/3.evt`."""
        return f"{self._place.name.removesuffix(SUFFIX)}/{location}.{suffix}"

    def has(self, name: str) -> bool:
        """Return whether there is a file of a name."""
        return (self._place.parent / name).is_file()

    def check(self, count: int) -> None:
        """Refuse an archive that becomes too much: as many events, or four times as many marks or definitions."""
        budget().check(self.path, count, "tasks")

    def wrong(self, name: str, at: int, problem: str) -> FormatError:
        """Return the error of a file and the place in it."""
        return FormatError(f"{self.path}: {name}: byte {at}: {problem}; is the archive damaged?")

    def chunks(self, name: str, chunk_B: int) -> Iterator[tuple[int, bytes, bool]]:
        """Yield the place of each chunk of a file, its bytes, and whether it has its most significant byte first.

        Raises
        ------
        FormatError
            If there is no such file, or what begins a chunk does not.
        """
        with self._open(name) as stream:
            at = 0
            while chunk := read_bounded(stream, chunk_B):
                if len(chunk) < HEADER_B or chunk[0] != CHUNK_HEADER or chunk[1] not in (BIG, LITTLE):
                    raise self.wrong(name, at, f"no header of a chunk but {shown(chunk[:8])}")
                yield at, chunk, chunk[1] == BIG
                at += len(chunk)

    def records(self, name: str) -> Iterator[tuple[int, int, Fields]]:
        """Yield place, type and fields of each record of a file of definitions.

        Raises
        ------
        FormatError
            If the file is damaged or cut off.
        """
        for begin, chunk, big in self.chunks(name, self.anchor.definitions_chunk_B):
            at = HEADER_B
            while at < len(chunk) and (kind := chunk[at]) != END_OF_CHUNK:
                if kind in (END_OF_FILE, END_OF_BUFFER):
                    return
                try:
                    fields = record(chunk, at + 1, big)
                except IndexError as error:
                    raise self.wrong(name, begin + at, str(error)) from None
                yield begin + at, kind, fields
                at = fields.end
        raise FormatError(
            f"{self.path}: {name}: cut off: its end is missing; was the archive copied completely?"
        )

    @contextmanager
    def _open(self, name: str) -> Iterator[BinaryIO]:
        place = self._place.parent / name
        if not place.is_file():
            raise FormatError(
                f"{self.path}: {name} is missing; an archive is the anchor file {self._place.name}, beside it a "
                "file of definitions and a folder; give the folder of all, or a tar of it"
            )
        try:
            with open_regular(place) as stream:
                if not self._counted:
                    size_B = place.stat().st_size
                    budget().expanded(place, size_B, size_B)
                yield stream
        except OSError as error:
            raise FormatError(f"{self.path}: {name}: {error.strerror or error}") from None

    def _anchor(self) -> _Anchor:
        name = self._place.name
        with self._open(name) as stream:
            data = read_bounded(stream, _MOST_ANCHOR_B)
        if not data.startswith(_MAGICS):
            raise FormatError(
                f"{self.path}: {name}: not the anchor file of an OTF2 archive; it starts with {shown(data[:16])}"
            )
        fields = Fields(data, len(_MAGICS[0]), len(data), data[1] == BIG)
        try:
            _anchor_format, _trace_format, *version = fields.raw(5)
            events_B, definitions_B, substrate, compression = (
                fields.full(),
                fields.full(),
                fields.byte(),
                fields.byte(),
            )
            fields.raw(16)
            machine, creator = fields.text(), fields.text()
        except IndexError as error:
            raise self.wrong(name, fields.at, str(error)) from None
        if substrate != _POSIX or compression not in _PLAIN:
            raise FormatError(
                f"{self.path}: {name}: the files of this archive are packed (SIONlib or zlib), which is not read; "
                "record it with SCOREP_TRACING_USE_SION=false, or convert it (otf2-print shows what it holds)"
            )
        for size_B in (events_B, definitions_B):
            if not LEAST_CHUNK_B <= size_B <= MOST_CHUNK_B:
                raise self.wrong(
                    name, 12, f"chunks of {size_B} bytes; expected {LEAST_CHUNK_B} to {MOST_CHUNK_B}"
                )
        return _Anchor(".".join(map(str, version)), events_B, definitions_B, machine, creator)


def record(chunk: bytes, at: int, big: bool) -> Fields:
    """Return the fields of a record whose length stands at a place; raise `IndexError` where they are cut off."""
    size, begin = chunk[at], at + 1
    if size == LONG:
        size, begin = int.from_bytes(chunk[begin : begin + 8], "big" if big else "little"), begin + 8
    if begin + size > len(chunk):
        raise IndexError(f"a record of {size} bytes, which is cut off")
    return Fields(chunk, begin, begin + size, big)


def is_archive(head: bytes) -> bool:
    r"""Return whether a file is an anchor, or a tar of which one of the first members may belong to an archive.

    Examples
    --------
    >>> is_archive(bytes([3, 0x42]) + b"OTF2\0"), is_archive(b"OTF2")
    (True, False)
    """
    if head.startswith(_MAGICS):
        return True
    return head[_USTAR_AT:].startswith(_USTAR) and any(
        name in head for name in (b".otf2\0", b".evt\0", b"traces.def\0")
    )


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open the archive of an anchor file, or that in a tar, plain or gzipped.

    Raises
    ------
    FormatError
        If it is none, a tar holds none or several, or is cut off.
    """
    with open_plain(path) as stream:
        head = stream.read(_BLOCK_B)
        if head[_USTAR_AT:].startswith(_USTAR):
            with TemporaryDirectory(prefix="simsched-") as folder:
                _unpack(path, head, stream, Path(folder))
                yield Archive(path, _only_anchor(path, Path(folder)))
            return
    yield Archive(path, path)


def _only_anchor(path: Path, folder: Path) -> Path:
    found = sorted(folder.rglob(f"*{SUFFIX}"))
    if len(found) != 1:
        raise FormatError(
            f"{path}: {len(found)} archives of OTF2 in this tar; expected one; pack the folder with one *{SUFFIX}"
        )
    return found[0]


def _unpack(path: Path, head: bytes, stream: BinaryIO, folder: Path) -> None:
    """Write the files of an archive in a tar into a folder, and no other."""
    for _ in range(_MOST_MEMBERS):
        if not head.strip(b"\0"):
            return
        size_B = _octal(path, head[124:136])
        name, kind = b"/".join(filter(None, (_until_zero(head[345:500]), _until_zero(head[:100])))), head[156]
        target = _target(folder, name) if kind in b"0\0" else None
        if target is None:
            _copied(path, stream, size_B, None)
        else:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    _copied(path, stream, size_B, out)
            except OSError as error:
                raise FormatError(f"{path}: {target.name}: {error.strerror or error}") from None
        stream.read(-size_B % _BLOCK_B)
        head = stream.read(_BLOCK_B)
        if head and (len(head) < _BLOCK_B or not head[_USTAR_AT:].startswith(_USTAR)) and head.strip(b"\0"):
            raise FormatError(f"{path}: the tar is damaged: no header where the next file begins")
    raise FormatError(f"{path}: more than {_MOST_MEMBERS} files in this tar; give its folder")


def _copied(path: Path, stream: BinaryIO, size_B: int, out: BinaryIO | None) -> None:
    while size_B:
        if not (part := stream.read(min(size_B, CHUNK_B))):
            raise FormatError(f"{path}: the tar is cut off; was it copied completely?")
        size_B -= len(part)
        if out is not None:
            out.write(part)


def _target(folder: Path, name: bytes) -> Path | None:
    """Return where a file of a tar belongs; None if it is none of an archive's."""
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if not name.endswith((b".otf2", b".def", b".evt")) or b".." in parts or len(parts) > 8:
        return None
    if any(len(part) > _MOST_NAME_B for part in parts):
        return None
    return folder.joinpath(*(part.decode("ascii", "backslashreplace").replace("\\", "_") for part in parts))


def _until_zero(text: bytes) -> bytes:
    return text.partition(b"\0")[0]


def _octal(path: Path, text: bytes) -> int:
    digits = text.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise FormatError(f"{path}: the tar is damaged: a file of {shown(text)} bytes")
    return int(digits, 8)
