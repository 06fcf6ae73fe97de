"""A reproduction as a document: tables in the paper's form, simulated numbers next to published ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import TYPE_CHECKING

from simsched.document.parts import Document, Marked, Paragraph, Part, Section, Table
from simsched.reproduce.pivots import Layout, pivoted
from simsched.reproduce.published import described
from simsched.reproduce.rows import RATIO, Claim, Row, value_text
from simsched.reproduce.summary import summary_text

if TYPE_CHECKING:
    from simsched.reproduce.published import Quantity
    from simsched.reproduce.reproduction import Reproduction

CELLS = "Each cell: simulated (published, error); `in` marks a published number that is an input"
SEEN = ", `seen` one that a choice was made with in view"


def document(made: Reproduction) -> Document:
    """Return the document; see `Reproduction.to_markdown`."""
    published = made.system.published()
    return Document(f"{published.title}: {made.system}", [*_lead(made), *_sections(made)])


def _lead(made: Reproduction) -> Iterator[Part]:
    published = made.system.published()
    yield Paragraph(f"{published.citation}.")
    yield Paragraph(summary_text(made.summary()))
    if published.inputs:
        yield Paragraph(f"Inputs: {described(published.inputs)}.")
    seen = any(row.use == "seen" for row in made.rows)
    yield Paragraph(Marked(f"{CELLS}{SEEN if seen else ''}."))


def _sections(made: Reproduction) -> Iterator[Part]:
    for quantity in made.system.published().quantities:
        rows = [row for row in made.rows if (row.table, row.quantity) == (quantity.table, quantity.name)]
        if rows:
            yield _quantity(quantity, rows)
    if made.claims:
        yield _claims(made.claims)


def _claims(claims: Sequence[Claim]) -> Table:
    rows = [(c.words, c.at, "yes" if c.holds else Marked("**no**"), c.found) for c in claims]
    return Table("", ("statement", "where", "holds", "simulated"), rows)


def _quantity(quantity: Quantity, rows: list[Row]) -> Section:
    """Return a title, with what all cases share, and a table."""
    layout = Layout.of(rows, quantity.columns)
    unit = "" if quantity.unit == RATIO else f", {quantity.unit}"
    common = "".join(f", {key} {value_text(rows[0].case[key])}" for key in layout.shared)
    cells = pivoted(rows, layout, _cell)
    columns = list(dict.fromkeys(column for line in cells.values() for column in line))
    titles = [f"{layout.across} {columns[0]}", *columns[1:]] if layout.across else columns
    lines = [(*line, *(cells[line].get(column, "") for column in columns)) for line in cells]
    return Section(
        f"{quantity.table}: {quantity.name}{unit}{common}", [Table("", (*layout.down, *titles), lines)]
    )


def _cell(row: Row) -> str:
    simulated = _number(row.simulated, row.decimals)
    if row.paper is None:
        return simulated
    published = f"{row.paper:.{max(row.decimals, 0)}f}"
    if row.use == "input":
        return f"{simulated} ({published} in)"
    error = "" if row.relative_error is None else f", {row.relative_error:+.1%}"
    error = ", as printed" if row.as_printed else error
    error += ", seen" if row.use == "seen" else ""
    return f"{simulated} ({published}{error})"


def _number(value: float, decimals: int) -> str:
    """Return a number to three digits, or to more where the paper prints more."""
    return f"{value:.{max(decimals, 2 - floor(log10(abs(value))), 0)}f}" if value else "0"
