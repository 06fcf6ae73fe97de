"""Text for a terminal or a pipe: tables, and whole documents; lines of a terminal's width are laid out by rich."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from io import StringIO
from typing import Literal, NamedTuple

from simsched.document.parts import Bullets, Document, Facts, Folded, Paragraph, Part, Section, Table
from simsched.errors import MissingExtraError
from simsched.text import cells_of, printable

#: Least width of a layout.
LEAST_WIDTH = 40
#: Least width of a column of text, where it has more.
LEAST_TEXT = 16
#: Least width of a line's text next to a name.
LEAST_BESIDE = 30
#: Prefix of a line: a note's mark, or a name and the spaces that align the text after it.
_HEAD = re.compile(r"\s*(?:note: |- |\S+(?: \S+)*\s{2,})?")


def width() -> int | None:
    """Return how many cells a line may have: COLUMNS, else those of the terminal.

    None where output goes elsewhere, or rich, which fits lines to a width, is not installed.
    """
    if sys.stdout is None or not sys.stdout.isatty() or find_spec("rich") is None:
        return None
    return max(shutil.get_terminal_size().columns, LEAST_WIDTH)


def fitted(line: str, cells: int | None, head: int | None = None) -> str:
    r"""Return a line folded at words, continued below the text and not below the name before it.

    Parameters
    ----------
    line : str
    cells : int or None
        Cells of a line of the terminal; the line stays as it is when None.
    head : int or None
        Characters of the name and the spaces after it; recognised by two or more spaces when None.

    Examples
    --------
    >>> print(fitted("  layout        one team of all cores, or many", 36))
      layout        one team of all
                    cores, or many
    """
    if cells is None or cells_of(line) <= cells:
        return line
    found = _HEAD.match(line)
    end = min(
        head if head is not None else found.end() if found else 0, max(cells // 2, cells - LEAST_BESIDE)
    )
    # Columns have a space between them.
    columns = [_Column("", [line[:end].removesuffix(" ")], is_whole=True)] if end else []
    return _rendered([*columns, _Column("", [line[end:]])], cells)


def facts_lines(facts: Mapping[str, object]) -> list[str]:
    """Return names and values in two columns.

    Examples
    --------
    >>> facts_lines({"tasks": 3, "makespan": "4 s"})
    ['tasks     3', 'makespan  4 s']
    """
    longest = max(map(len, facts), default=0)
    return [f"{name:<{longest}}  {value}" for name, value in facts.items()]


def document_text(document: Document, cells: int | None = None) -> str:
    """Return a document on lines of a terminal, without its pictures.

    Examples
    --------
    >>> table = Table("", ["op", "time"], [["MatMul", "3 ms"]])
    >>> print(document_text(Document("Report", [Section("Ops", [table])])))
    # Report
    <BLANKLINE>
    ## Ops
    <BLANKLINE>
    op     time
    MatMul 3 ms
    """
    return f"{_lines([f'# {document.title}'], cells)}\n\n{parts_text(document.parts, cells)}"


def parts_text(parts: Iterable[Part], cells: int | None = None) -> str:
    """Return parts of a document on lines of the given cells, without pictures; None for unlimited lines."""
    return "\n\n".join(filter(None, (_part(part, cells) for part in parts)))


def _part(part: Part, cells: int | None) -> str:
    text = ""
    match part:
        case Paragraph():
            text = _lines([part.text], cells)
        case Bullets():
            text = _lines((f"- {item}" for item in part.items), cells)
        case Facts():
            text = _lines([part.caption] * bool(part.caption) + facts_lines(part.facts), cells)
        case Table():
            text = _lines([part.caption, ""] * bool(part.caption), cells) + table_text(part, cells)
        case Section() | Folded() if inside := parts_text(part.parts, cells):
            text = f"{_lines([f'## {part.title}'], cells)}\n\n{inside}"
    return text


def _lines(lines: Iterable[str], cells: int | None) -> str:
    return "\n".join(fitted(printable(line), cells) for line in lines)


class _Column(NamedTuple):
    """A column: numbers are aligned right and kept whole, text is aligned left and may be folded."""

    title: str
    cells: Sequence[str]
    is_number: bool = False
    is_whole: bool = False

    @property
    def natural(self) -> int:
        """The width without any folding."""
        return max(map(cells_of, (self.title, *self.cells)))

    @property
    def least(self) -> int:
        """The width below which numbers, or words of the heading, would be folded."""
        cells = max(map(cells_of, self.cells), default=0)
        words = max(map(cells_of, self.title.split()), default=0)
        return max(cells if self.is_number else min(cells, LEAST_TEXT), words)

    def padded(self) -> list[str]:
        """Return heading and cells, all of one width."""
        spaces = ((cell, " " * (self.natural - cells_of(cell))) for cell in (self.title, *self.cells))
        return [space + cell if self.is_number else cell + space for cell, space in spaces]


def table_text(table: Table, cells: int | None = None) -> str:
    """Return a table as text, without its caption, on lines of at most so many cells of a terminal.

    Headings and text are folded; the rest continues below, next to the first columns again.

    Parameters
    ----------
    table : Table
    cells : int or None
        Cells of a line; None for unlimited.

    Examples
    --------
    >>> table = Table("", ["name", "seconds"], [["a/long/name/of/a/task", "1.5"], ["b", "20"]])
    >>> print(table_text(table))
    name                  seconds
    a/long/name/of/a/task     1.5
    b                          20
    >>> print(table_text(table, 25))
    name              seconds
    a/long/name/of/a/     1.5
    task
    b                      20
    """
    columns = [
        _Column(printable(title), [printable(row[i]) for row in table.rows], is_number)
        for i, (title, is_number) in enumerate(zip(table.columns, table.are_numbers, strict=True))
    ]
    if cells is None or _total(column.natural for column in columns) <= cells:
        lines = zip(*(column.padded() for column in columns), strict=True)
        return "\n".join(" ".join(line).rstrip() for line in lines)
    return "\n\n".join(_rendered(_whole(block, cells), cells) for block in _blocks(columns, cells))


def _total(widths: Iterable[int]) -> int:
    """Return the width of columns with a space between them."""
    return sum(width + 1 for width in widths) - 1


def _blocks(columns: Sequence[_Column], cells: int) -> list[list[_Column]]:
    """Return the columns of each table of a width, which all begin with those that distinguish the rows."""
    first = columns[0].cells if columns else []
    keys = list(columns[: 1 if len({*first}) == len(first) else 2])
    blocks = [keys]
    for column in columns[len(keys) :]:
        wanted = [*blocks[-1], column]
        if len(wanted) > len(keys) + 1 and _total(one.least for one in wanted) > cells:
            wanted = [*keys, column]
            blocks.append(wanted)
        blocks[-1] = wanted
    return blocks


def _whole(columns: Sequence[_Column], cells: int) -> list[_Column]:
    """Return columns whose numbers are not folded, unless there is no room even so: no value is cut."""
    if _total(column.least for column in columns) > cells:
        return list(columns)
    return [
        one._replace(title=one.title.replace(" ", "\n"), is_whole=True) if one.is_number else one
        for one in columns
    ]


def _rendered(columns: Sequence[_Column], cells: int) -> str:
    """Return what rich makes of columns, without colours and other escape codes."""
    try:
        from rich.console import Console
        from rich.table import Table as Grid
        from rich.text import Text
    except ImportError:
        raise MissingExtraError("rich", "cli", "text of a given width") from None

    grid = Grid(
        box=None, pad_edge=False, collapse_padding=True, show_header=any(one.title for one in columns)
    )
    for one in columns:
        justify: Literal["left", "right"] = "right" if one.is_number else "left"
        grid.add_column(Text(one.title), justify=justify, overflow="fold", no_wrap=one.is_whole)
    for row in zip(*(column.cells for column in columns), strict=True):
        grid.add_row(*map(Text, row))
    file = StringIO()
    Console(file=file, width=cells, color_system=None, force_jupyter=False, legacy_windows=False).print(grid)
    return "\n".join(line.rstrip() for line in file.getvalue().removesuffix("\n").split("\n"))
