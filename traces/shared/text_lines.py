"""Lines of text files that nobody vouches for: numbered, decoded, bounded in length."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.loading import Mend, open_plain

#: The longest real lines list some thousand dependencies.
MAX_LINE_B = 16 * 1024 * 1024


def lines(path: Path, mend: Mend | None = None) -> Iterator[tuple[int, str]]:
    """Yield each line of a file, plain or gzipped, with its number from 1.

    Parameters
    ----------
    path : Path
        The file.
    mend : callable, optional
        If given, broken compressed data ends the file, and `mend` is told so in a sentence.

    Yields
    ------
    int, str
        The line's number, and the line without what ends it. What is not UTF-8 is kept as its escape.

    Raises
    ------
    FormatError
        If the file cannot be read, or a line is longer than `MAX_LINE_B`.
    """
    for number, raw in raw_lines(path, mend):
        yield number, raw.decode("utf-8", "backslashreplace").rstrip("\r\n")


def raw_lines(path: Path, mend: Mend | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield each line as `lines` does, as bytes and with what ends it: the last line of a cut-off file has no end."""
    with open_plain(path, mend) as stream:
        number = 0
        while raw := stream.readline(MAX_LINE_B + 1):
            number += 1
            if len(raw) > MAX_LINE_B:
                raise FormatError(f"{path}: line {number}: longer than {MAX_LINE_B} bytes; refused")
            yield number, raw
