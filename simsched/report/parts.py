"""What a report consists of, whatever it is written as: sections of text, tables, pictures and a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simsched.document.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simsched.schedule import Schedule


@dataclass(frozen=True)
class Paragraph:
    """Sentences.

    Parameters
    ----------
    text : str
    """

    text: str


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
    """A table of two columns.

    Parameters
    ----------
    caption : str
    facts : mapping of str to object
    """

    caption: str
    facts: Mapping[str, object]


@dataclass(frozen=True)
class Picture:
    """A drawing, made when it is written.

    Parameters
    ----------
    draw : callable
        Given a figure, draws on it.
    width, height : float
        In CSS pixels.
    alt : str
        What it shows, in words.
    """

    draw: Callable[[Figure], object]
    width: float
    height: float
    alt: str


@dataclass(frozen=True, eq=False)
class Chart:
    """The interactive chart, and the still picture that stands for it.

    Parameters
    ----------
    schedules : mapping of str to Schedule
        What each is called, from the top.
    """

    schedules: Mapping[str, Schedule]


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


Part = Paragraph | Bullets | Facts | Table | Picture | Chart | Folded


@dataclass(frozen=True)
class Section:
    """A section.

    Parameters
    ----------
    anchor : str
        Its id on a page.
    title : str
    parts : sequence of parts
    """

    anchor: str
    title: str
    parts: Sequence[Part]
