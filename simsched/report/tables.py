"""The tables of a report as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from simsched.document.tables import Table
from simsched.report.parts import Facts, Folded, Part

if TYPE_CHECKING:
    from simsched.report.report import Report


def tables(report: Report) -> dict[str, object]:
    """Return every table by its caption: a list of rows by column, or the facts of one of two columns; all as text."""
    parts = [part for section in report.sections for part in _flat(section.parts)]
    rows = {
        part.caption: [dict(zip(part.columns, row, strict=True)) for row in part.rows]
        for part in parts
        if isinstance(part, Table)
    }
    return {**rows, **{part.caption: _plain(part) for part in parts if isinstance(part, Facts)}}


def _plain(facts: Facts) -> dict[str, str]:
    return {key: str(value) for key, value in facts.facts.items()}


def _flat(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Folded):
            yield from _flat(part.parts)
        else:
            yield part
