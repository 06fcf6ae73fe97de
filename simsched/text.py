"""Text from files, made safe for a terminal, a page or a picture."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def printable(text: str) -> str:
    r"""Return `text` with every non-printable character escaped: controls, line ends, lone surrogates.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(number: object, one: str, many: str = "") -> str:
    """Return a number with its noun and what agrees with it, `one` for 1; `many` is the same with an `s` if not given.

    Examples
    --------
    >>> counted(1, "task"), counted(2, "task"), counted(1, "edge is left out", "edges are left out")
    ('1 task', '2 tasks', '1 edge is left out')
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"


#: Characters of one line of an error message.
MOST_LINE = 590
_END = 200


def bounded(text: str) -> str:
    """Return a line of a message as `printable` does, without its middle where it has more than `MOST_LINE` characters.

    Examples
    --------
    >>> len(bounded("task " + "x" * 100_000 + " is unknown")), bounded("task x is unknown")
    (590, 'task x is unknown')
    """
    # Escapes only make it longer.
    line = printable(text if len(text) <= 2 * MOST_LINE else text[:MOST_LINE] + text[-MOST_LINE:])
    return line if len(line) <= MOST_LINE else f"{line[: MOST_LINE - _END - 5]} ... {line[-_END:]}"


def one_line(text: str, most: int = 200) -> str:
    r"""Return another library's message as a part of a sentence: printable, on one line, and cut if long.

    Examples
    --------
    >>> one_line("line 1:\n  bad\x00 value\n", 15)
    'line 1: bad\\x00...'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else f"{line[:most]}..."


def cells_of(text: str) -> int:
    """Return the width of printable text in terminal cells: two for wide characters, none for combining ones.

    Examples
    --------
    >>> cells_of("task"), cells_of("任务")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def shortened(word: str, cells: int) -> str:
    """Return a word on at most so many cells of a terminal, its middle left out if needed.

    Examples
    --------
    >>> shortened("step0/layer1/cell/MatMul", 15)
    'step0/l…/MatMul'
    """
    start, end = word, ""
    if cells_of(word) <= cells:
        return word
    while cells_of(start) > cells // 2:
        start = start[:-1]
    end = word[len(start) :]
    while cells_of(end) > cells - 1 - cells_of(start):
        end = end[1:]
    return f"{start}…{end}"


def distinct(words: Sequence[str], cells: int) -> list[str]:
    """Return words as `shortened` does, on twice as many cells and so on where two that differ would be alike.

    Examples
    --------
    >>> distinct(["generic[cores=4]", "grace"], 9), distinct(["generic[cores=4]", "generic[flops=4]"], 9)
    (['gene…s=4]', 'grace'], ['generic[cores=4]', 'generic[flops=4]'])
    """
    short = [shortened(word, cells) for word in words]
    return short if len({*short}) == len({*words}) else distinct(words, 2 * cells)
