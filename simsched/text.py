"""Text that may come from a file, made fit for a terminal, a page or a picture."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return `text` with every character that cannot be printed as its escape: controls, line ends, lone surrogates.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str, most: int = 200) -> str:
    r"""Return what another library said as a part of a sentence: printable, on one line, and cut where it is long.

    Examples
    --------
    >>> one_line("line 1:\n  bad\x00 value\n", 15)
    'line 1: bad\\x00...'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else f"{line[:most]}..."
