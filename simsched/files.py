"""Files: read within bounds, and never from a device; written so that they appear only once complete."""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from simsched.errors import FormatError, SimschedError
from simsched.text import one_line


def no_file(path: Path) -> str:
    """Return why a path is no regular file; reading a pipe would block, and works only once."""
    if str(path) == "-":
        return "standard input is not read; name a file"
    if path.is_dir():
        return "this is a folder; expected a file"
    if path.is_fifo() or path.is_socket() or path.is_char_device() or path.is_block_device():
        return "this is a pipe or a device, not a file; save what it gives to a file first"
    return "this link leads nowhere" if path.is_symlink() else "no such file"


@cache
def _kernel() -> frozenset[int]:
    """Return the devices of the file systems whose files the kernel makes up, some of them without end."""
    return frozenset(os.stat(place).st_dev for place in ("/proc", "/sys") if os.path.ismount(place))


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file for reading bytes; never wait for one that is none.

    Raises
    ------
    FormatError
        If there is no file, or it is a pipe, a device or made up by the kernel, as those in `/proc` are.
    OSError
        If it cannot be opened.
    """
    if not path.is_file():
        raise FormatError(f"{path}: {no_file(path)}")
    # A pipe may take the file's place meanwhile, and to open one waits for its writer.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and found.st_dev not in _kernel():
        return os.fdopen(file, "rb")
    os.close(file)
    raise FormatError(
        f"{path}: this is made by the kernel or a device, not a file; copy what it holds to a file first"
    )


def read_small(path: Path, most_B: int, noun: str) -> bytes:
    """Return the content of a file that is never large.

    Parameters
    ----------
    path : Path
        The file.
    most_B : int
        Its largest size.
    noun : str
        What it is, for the message: `machine file`.

    Raises
    ------
    FormatError
        If it cannot be read, or is larger.
    """
    try:
        with open_regular(path) as file:
            raw = file.read(most_B + 1)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(raw) > most_B:
        raise FormatError(f"{path}: larger than {most_B} bytes, which no {noun} is")
    return raw


#: Parts of a key, as in `a.b.c`; the time that `tomllib` takes for one grows with the square of them.
MOST_PARTS = 256
_BETWEEN = str.maketrans(dict.fromkeys("=,[]{}", "\n") | dict.fromkeys(" \t"))


def parse_toml(path: Path | str, raw: bytes) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises
    ------
    FormatError
        If it is none: also where numbers have thousands of digits, or values are nested too deeply.

    Examples
    --------
    >>> parse_toml("mine.toml", b"cores = 4")
    {'cores': 4}
    """
    try:
        text = raw.decode("utf-8-sig")
        if any(line.count(".") >= MOST_PARTS for line in text.translate(_BETWEEN).split("\n")):
            raise FormatError(f"{path}: not a TOML file: a key of more than {MOST_PARTS} parts")
        return tomllib.loads(text)
    except RecursionError:
        raise FormatError(f"{path}: its values are nested too deeply") from None
    except ValueError as error:  # also of bytes that are not UTF-8, and of numbers too long for Python
        raise FormatError(f"{path}: not a TOML file: {one_line(str(error))}") from None


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
        # The system tells of a link that leads to itself and of a name that is too long; pathlib of 3.14 of neither.
        with suppress(FileNotFoundError):
            path.stat()
    except OSError as error:
        raise SimschedError(f"{path} cannot be written: {error.strerror or error}") from None
    except ValueError as error:  # Python's error for a name with a zero byte
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


def open_to_write(path: Path, mode: str) -> IO[str]:
    """Open a text file for writing that is no device and no pipe, which could wait for ever, and no planted link.

    Raises
    ------
    OSError
        If it is one, or cannot be opened.
    """
    # Path.open takes no opener, and the caller closes the file.
    file = open(path, mode, encoding="utf-8", opener=_without_waiting)  # noqa: SIM115 - see above
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")
    return file


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o666)


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
