"""A reproduction as Markdown: tables in the paper's form, simulated numbers beside published ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import floor, log10
from typing import TYPE_CHECKING

from simsched.reproduce.pivots import Layout, pivoted
from simsched.reproduce.published import described
from simsched.reproduce.rows import RATIO, Row, value_text
from simsched.reproduce.summary import summary_text
from simsched.text import printable

if TYPE_CHECKING:
    from simsched.reproduce.published import Quantity
    from simsched.reproduce.reproduction import Reproduction


def markdown(made: Reproduction) -> str:
    """Return the text; see `Reproduction.to_markdown`."""
    published = made.system.published()
    lines = [
        printable(f"# {published.title}: {made.system}"),
        "",
        printable(f"{published.citation}."),
        "",
        summary_text(made.summary()),
        "",
    ]
    if published.inputs:
        lines += [printable(f"Inputs: {described(published.inputs)}."), ""]
    said = "Each cell: simulated (published, error); `in` marks a published number that is an input"
    seen = (
        ", `seen` one that a choice was made with in view" if any(r.use == "seen" for r in made.rows) else ""
    )
    lines += [f"{said}{seen}.", ""]
    for quantity in published.quantities:
        rows = [row for row in made.rows if (row.table, row.quantity) == (quantity.table, quantity.name)]
        if rows:
            lines += _quantity(quantity, rows)
    if made.claims:
        lines += _table(
            ["statement", "where", "holds", "simulated"],
            ([c.words, c.at, "yes" if c.holds else "**no**", c.found] for c in made.claims),
        )
    return "\n".join(lines)


def _quantity(quantity: Quantity, rows: list[Row]) -> Iterator[str]:
    """Yield a title, with what all cases share, and a table."""
    layout = Layout.of(rows, quantity.columns)
    unit = "" if quantity.unit == RATIO else f", {quantity.unit}"
    common = "".join(f", {key} {value_text(rows[0].case[key])}" for key in layout.shared)
    yield printable(f"## {quantity.table}: {quantity.name}{unit}{common}")
    yield ""
    cells = pivoted(rows, layout, _cell)
    columns = list(dict.fromkeys(column for line in cells.values() for column in line))
    titles = [
        f"{layout.across} {column}" if layout.across and i == 0 else column
        for i, column in enumerate(columns)
    ]
    yield from _table(
        [*layout.down, *titles],
        ([*line, *(cells[line].get(column, "") for column in columns)] for line in cells),
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
    if value == 0:
        return "0"
    return f"{value:.{max(decimals, 2 - floor(log10(abs(value))), 0)}f}"


def _table(titles: list[str], lines: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_escaped, titles))} |"
    yield "|" + " --- |" * len(titles)
    for line in lines:
        yield f"| {' | '.join(map(_escaped, line))} |"
    yield ""


def _escaped(text: str) -> str:
    return printable(text).replace("|", "\\|")
