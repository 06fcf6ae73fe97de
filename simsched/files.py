"""Files that appear only once complete."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from simsched.errors import SimschedError


def check_place(path: Path) -> None:
    """Check that a file may be written here, before there is content to write.

    Raises
    ------
    SimschedError
        If the folder does not exist, or the name is that of a folder, or of nothing that can be a file.
    """
    try:
        if not path.parent.is_dir():
            raise SimschedError(f"{path}: there is no folder {path.parent}; create it first")
        if path.is_dir():
            raise SimschedError(f"{path} is a folder; give the name of a file")
        path.resolve()
    except OSError as error:
        raise SimschedError(f"{path} cannot be written: {error.strerror or error}") from None
    except (RuntimeError, ValueError) as error:
        # Python's errors for a link that leads to itself, and for a name with a zero byte.
        raise SimschedError(f"{path} cannot be written: {error}") from None


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file to write; it takes the name `path` once complete, and vanishes if anything fails.

    A durable one is on the disk when it takes its name, and so is the name: it outlasts a loss of power.

    Raises
    ------
    SimschedError
        If the folder does not exist, or the file cannot be written there.
    """
    check_place(path)
    path = path.resolve()
    if path.exists() and not path.is_file():
        # A device or a pipe is written, never replaced.
        try:
            with path.open("wb") as file:
                yield file
        except OSError as error:
            raise SimschedError(f"{path} cannot be written: {error.strerror or error}") from error
        return
    # Next to the target, because a rename is only atomic within one file system; by a name that nobody else has or
    # can know: neither another thread that writes the same file, nor whoever plants a link there.
    part = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
        if durable:
            _keep_names(path.parent)
    except OSError as error:
        raise SimschedError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def open_regular(path: Path, mode: str) -> IO[Any]:
    """Open a file that is neither a device nor a pipe, which could wait for ever; text in UTF-8.

    To be written, it is no link, either: somebody may have planted it.

    Raises
    ------
    OSError
        If it is one, or cannot be opened.
    """
    encoding = None if "b" in mode else "utf-8"
    # Path.open takes no opener, and the caller closes the file.
    file = open(path, mode, encoding=encoding, opener=_without_waiting)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")
    return file


def _without_waiting(name: str, flags: int) -> int:
    written = flags & (os.O_WRONLY | os.O_RDWR)
    return os.open(name, flags | os.O_NONBLOCK | (os.O_NOFOLLOW if written else 0), 0o666)


def read_bounded(path: Path, most_B: int) -> bytes:
    """Return the content of a file of at most `most_B` bytes.

    Raises
    ------
    SimschedError
        If it is longer, a device or a pipe, or cannot be read.
    """
    try:
        with open_regular(path, "rb") as file:
            content: bytes = file.read(most_B + 1)
    except OSError as error:
        raise SimschedError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(content) > most_B:
        raise SimschedError(f"{path} cannot be read: it is longer than {most_B} bytes")
    return content


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a text in UTF-8 as `replacing` does; half of a character pair, which it lacks, as an escape."""
    with replacing(path, durable=durable) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _keep_names(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
