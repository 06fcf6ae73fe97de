"""Bytes and open files that stand for files, and files packed by something else than gzip once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from simsched.errors import FormatError

#: Bytes per read, so that a file of any size takes no memory.
CHUNK_B = 1024 * 1024
NAMELESS = "<bytes>"


class HeldPath(type(Path())):  # type: ignore[misc]  # Path is not itself a class of paths before Python 3.12
    """Path of a temporary file, which messages call as the user's object is called."""

    called = ""

    def __str__(self) -> str:
        return self.called or str(super().__str__())

    def __fspath__(self) -> str:
        return str(super().__str__())


def is_held(value: object) -> bool:
    """Return whether a value is the content of a file, as bytes or as a file that is open, and not its path.

    Examples
    --------
    >>> is_held(b"1 0 0"), is_held("run.json")
    (True, False)
    """
    return isinstance(value, bytes | bytearray | memoryview) or hasattr(value, "read")


@contextmanager
def held(value: Any) -> Iterator[HeldPath]:
    """Hold bytes, or the rest of an open file, in a temporary file, and yield its path.

    Parameters
    ----------
    value : bytes, bytearray, memoryview or binary file
        A file is read from where it stands to its end, and stays open.

    Raises
    ------
    FormatError
        If the file is not a binary one, or reading it fails.

    Examples
    --------
    >>> with held(b"1 0 0") as path:
    ...     print(path, path.read_text())
    <bytes> 1 0 0
    """
    name = getattr(value, "name", "")
    called = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) and name else NAMELESS
    with TemporaryDirectory(prefix="simsched-") as folder:
        path = HeldPath(folder, os.path.basename(called)[-200:].replace("\0", "") or NAMELESS)
        path.called = called
        with Path(os.fspath(path)).open("wb") as file:
            _copy(value, file, called)
        yield path


def _copy(value: Any, file: BinaryIO, called: str) -> None:
    if not hasattr(value, "read"):
        file.write(value)
        return
    try:
        copyfileobj(value, file, CHUNK_B)
    except TypeError:
        raise FormatError(f"{called}: not a binary file; open it with mode 'rb'") from None
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(f"{called}: reading it failed: {error}") from None


#: First bytes of files packed by another program, their names, and the command that unpacks them.
_STARTS = (
    # The bytes here are unpacked once already.
    (b"\x1f\x8b", "gzip data inside gzip data", "gunzip --keep"),
    (b"BZh", "bzip2 data", "bunzip2 --keep"),
    (b"\xfd7zXZ\0", "xz data", "unxz --keep"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "unzstd"),
    (b"\x04\x22\x4d\x18", "lz4 data", "unlz4"),
    (b"\x1f\x9d", "compress data", "uncompress -k"),
    (b"PK\x03\x04", "a zip archive", "unzip"),
    (b"PK\x05\x06", "an empty zip archive", "unzip"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "7z x"),
    (b"Rar!\x1a\x07", "a RAR archive", "unrar x"),
)
#: Byte order marks of texts in UTF-16, as redirections of PowerShell write them.
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
#: A tar archive has no magic at its start, but one in the header of its first member.
_TAR, _TAR_AT = b"ustar", 257


def unpacking(name: str, head: bytes) -> str:
    """Return the format of a packed or UTF-16 file and how to unpack it; "" for any other.

    Parameters
    ----------
    name : str
        The file's, for the command.
    head : bytes
        Its beginning, decompressed where it is gzipped.

    Examples
    --------
    >>> unpacking("run.bz2", b"BZh91AY")
    'this is bzip2 data, which simsched does not unpack; do so first (bunzip2 --keep run.bz2) and give what comes out'
    """
    if head[_TAR_AT:].startswith(_TAR):
        return _advice("a tar archive", f"tar xf {name}")
    if head.startswith(_UTF16):
        return f"this is text in UTF-16, expected UTF-8; iconv -f UTF-16 -t UTF-8 {name} converts it"
    found = next(((what, command) for start, what, command in _STARTS if head.startswith(start)), None)
    return _advice(found[0], f"{found[1]} {name}") if found else ""


def _advice(what: str, command: str) -> str:
    return f"this is {what}, which simsched does not unpack; do so first ({command}) and give what comes out"
