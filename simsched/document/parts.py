"""The model of a document: sections of text, tables and pictures, whatever it is written as."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from simsched.drawing import Figure

_NUMBER = re.compile(r"[-+±]?(?:\d[\d.,]*(?:e[-+]?\d+)?|inf|nan)(?: ?(?:%|s|ms|µs|ns))?|-?")


class Marked(str):
    """Text that is Markdown already, written by simsched itself; all other text is escaped."""


@dataclass(frozen=True)
class Paragraph:
    """Sentences.

    Parameters
    ----------
    text : str
    strong : bool
        Whether they are the verdict, which is highlighted.
    """

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list.

    Parameters
    ----------
    items : sequence of str
    """

    items: Sequence[str]


@dataclass(frozen=True)
class Facts:
    """A table of two columns: names and values.

    Parameters
    ----------
    caption : str
    facts : mapping of str to object
    """

    caption: str
    facts: Mapping[str, object]


@dataclass(frozen=True)
class Table:
    """A table, every cell of it text on one line.

    Parameters
    ----------
    caption : str
        Empty where the section's title suffices.
    columns : sequence of str
    rows : sequence of sequences of str
        Each as long as `columns`.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def are_numbers(self) -> list[bool]:
        """Whether each column holds numbers alone, which are aligned right.

        Examples
        --------
        >>> Table("", ["op", "takes"], [["MatMul", "3.2 ms"], ["Add", "-"]]).are_numbers
        [False, True]
        """
        return [all(_NUMBER.fullmatch(row[i]) for row in self.rows) for i in range(len(self.columns))]


@dataclass(frozen=True)
class Picture:
    """A drawing, made when a page is written; other output leaves it out.

    Parameters
    ----------
    draw : callable
        Given a figure, draws on it.
    width, height : float
        In CSS pixels.
    alt : str
        Description in words.
    """

    draw: Callable[[Figure], object]
    width: float
    height: float
    alt: str


@dataclass(frozen=True)
class Markup:
    """Other content of a page, such as a chart; other output leaves it out.

    Parameters
    ----------
    make : callable
        Returns HTML made by simsched itself.
    """

    make: Callable[[], str]


@dataclass(frozen=True)
class Folded:
    """Parts that are shown on demand.

    Parameters
    ----------
    title : str
    parts : sequence of parts
    """

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Section:
    """Parts below a heading.

    Parameters
    ----------
    title : str
    parts : sequence of parts
    anchor : str
        Its id on a page; empty where nothing links to it.
    """

    title: str
    parts: Sequence[Part]
    anchor: str = ""


Part = Paragraph | Bullets | Facts | Table | Picture | Markup | Folded | Section


@dataclass(frozen=True)
class Document:
    """A title and the parts below it.

    Parameters
    ----------
    title : str
    parts : sequence of parts
    """

    title: str
    parts: Sequence[Part]

    def tables(self) -> Iterator[Table | Facts]:
        """Yield all tables, those in sections and in folded parts, too.

        Examples
        --------
        >>> document = Document("title", [Section("first", [Paragraph("words"), Table("rows", ["a"], [["1"]])])])
        >>> [table.caption for table in document.tables()]
        ['rows']
        """
        return _tables(self.parts)


def notes_section(notes: Sequence[str]) -> list[Part]:
    """Return a section of notes; nothing where there are none."""
    return [Section("Notes", [Bullets(notes)])] if notes else []


def _tables(parts: Sequence[Part]) -> Iterator[Table | Facts]:
    for part in parts:
        if isinstance(part, Folded | Section):
            yield from _tables(part.parts)
        elif isinstance(part, Table | Facts):
            yield part
