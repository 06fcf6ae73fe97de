"""Bytes and open files that stand for files: copied to a temporary one, named as they are."""

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
