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
