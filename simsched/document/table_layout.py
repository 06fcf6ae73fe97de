"""Where the cells of a table go on lines of a given width: cells are folded, then columns go on below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simsched.text import cells_of, folded, shortened

GAP = " "
#: What a column of text keeps at least, where it has more.
LEAST_TEXT = 16
#: Columns that are repeated where a table goes on below, at most.
MOST_KEYS = 2


@dataclass(frozen=True)
class Column:
    """A column as text.

    Parameters
    ----------
    title : str
        Its heading.
    cells : sequence of str
        Its cells, each one line.
    is_text : bool
        Whether it is aligned left and may be folded; numbers are aligned right and are kept whole.
    """

    title: str
    cells: Sequence[str]
    is_text: bool

    @property
    def natural(self) -> int:
        """The width on which nothing is folded."""
        return max(map(cells_of, (self.title, *self.cells)))

    @property
    def least(self) -> int:
        """The width below which numbers, or words of the heading, would be cut."""
        cells = max(map(cells_of, self.cells), default=0)
        words = max(map(cells_of, self.title.split()), default=0)
        return max(min(cells, LEAST_TEXT) if self.is_text else cells, words)


def laid_out(columns: Sequence[Column], width: int | None = None) -> str:
    """Return a table as text, on lines of at most `width` cells of a terminal.

    Headings are folded first, then columns of text; what still does not fit goes on below, beside the first columns
    again. One number that is wider than all of that is not cut.

    Parameters
    ----------
    columns : sequence of Column
        All of one length.
    width : int or None
        Cells of a line; as wide as it gets when None.

    Examples
    --------
    >>> columns = [Column("name", ["a/long/name/of/a/task", "b"], True), Column("seconds", ["1.5", "20"], False)]
    >>> print(laid_out(columns))
    name                  seconds
    a/long/name/of/a/task     1.5
    b                          20
    >>> print(laid_out(columns, 25))
    name              seconds
    a/long/n…f/a/task     1.5
    b                      20
    """
    blocks = [columns] if width is None else _blocks(columns, width)
    return "\n\n".join(_block(block, _widths(block, width)) for block in blocks)


def _blocks(columns: Sequence[Column], width: int) -> list[list[Column]]:
    keys = list(columns[: _n_keys(columns)])
    blocks = [keys]
    for column in columns[len(keys) :]:
        wanted = [*blocks[-1], column]
        if len(blocks[-1]) > len(keys) and _least(wanted) > width:
            blocks.append([*keys, column])
        else:
            blocks[-1] = wanted
    return blocks


def _n_keys(columns: Sequence[Column]) -> int:
    """Return how many of the first columns tell the rows apart."""
    for n in range(1, MOST_KEYS):
        rows = list(zip(*(column.cells for column in columns[:n]), strict=True))
        if len(set(rows)) == len(rows):
            return n
    return min(MOST_KEYS, len(columns))


def _least(columns: Sequence[Column]) -> int:
    return sum(column.least for column in columns) + len(GAP) * (len(columns) - 1)


def _widths(columns: Sequence[Column], width: int | None) -> list[int]:
    """Return a width for each column; the widest that can give gives first, headings of numbers before text."""
    widths = [column.natural for column in columns]
    excess = 0 if width is None else sum(widths) + len(GAP) * (len(columns) - 1) - width
    for is_text in (False, True):
        while excess > 0:
            can = [i for i, c in enumerate(columns) if c.is_text == is_text and widths[i] > c.least]
            if not can:
                break
            widths[max(can, key=widths.__getitem__)] -= 1
            excess -= 1
    return widths


def _block(columns: Sequence[Column], widths: Sequence[int]) -> str:
    rows = [[column.title for column in columns], *zip(*(column.cells for column in columns), strict=True)]
    return "\n".join(line for row in rows for line in _row(columns, widths, row))


def _row(columns: Sequence[Column], widths: Sequence[int], row: Sequence[str]) -> list[str]:
    parts = [_cell(text, width) for text, width in zip(row, widths, strict=True)]
    lines = []
    for i in range(max(map(len, parts))):
        cells = [
            _padded(part[i] if i < len(part) else "", width, column.is_text)
            for part, width, column in zip(parts, widths, columns, strict=True)
        ]
        lines.append(GAP.join(cells).rstrip())
    return lines


def _cell(text: str, width: int) -> list[str]:
    if cells_of(text) <= width:
        return [text]
    return folded(" ".join(shortened(word, width) for word in text.split(" ")), width)


def _padded(text: str, width: int, is_text: bool) -> str:
    space = " " * (width - cells_of(text))
    return text + space if is_text else space + text
