"""The reports of a cross-check: Markdown with its tables, and a page that also has pictures and all cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from simsched.document.html import document as html_page, text
from simsched.document.page import page_parts
from simsched.document.parts import (
    Bullets,
    Document,
    Facts,
    Folded,
    Markup,
    Paragraph,
    Part,
    Section,
    Table,
    notes_section,
)
from simsched.execute.crosscheck.tables import (
    all_kinds_table,
    by_error,
    calibration_facts,
    cases_table,
    dropped,
    error_of,
    kinds_table,
    rankings_table,
    ratios_table,
    shares,
    signed,
    signed_time,
    worst_table,
)
from simsched.execute.crosscheck.verdict import SOURCES, headline, percent, sentences
from simsched.plots.accuracy import accuracy
from simsched.plots.picture import inline_svg
from simsched.plots.stacked import stacked_svg

if TYPE_CHECKING:
    from simsched.execute.crosscheck.checked import Checked, CrossCheck

# Okabe and Ito's blue and vermilion, as in the other pictures; the side shows the sign, too.
ABOVE, BELOW = "#0072B2", "#D55E00"
HALF = 100.0


def signed_bars(caption: str, numbers: Mapping[str, float], shown: Mapping[str, str]) -> str:
    """Return a table: a name, a bar to the right or left of the middle line, and the number.

    Parameters
    ----------
    caption : str
        Plain text; escaped, as all names are.
    numbers : mapping of str to float
        By name; the longest bar is that of the largest. Numbers that are not finite have none.
    shown : mapping of str to str
        Each number as text.
    """
    largest = max((abs(number) for number in numbers.values() if isfinite(number)), default=0.0)
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{_bar(number, largest)}</td><td>{text(shown[name])}</td></tr>\n'
        for name, number in numbers.items()
    )
    return (
        f'<div class="bars" style="overflow-x:auto">\n<table>\n<caption>{text(caption)}</caption>\n<tbody>\n{rows}'
        "</tbody>\n</table>\n</div>\n"
    )


def _bar(number: float, largest: float) -> str:
    length = HALF * abs(number) / largest if largest and isfinite(number) else 0.0
    left, colour = (HALF, ABOVE) if number > 0 else (HALF - length, BELOW)
    return (
        f'<svg viewBox="0 0 {2 * HALF:g} 14" width="{2 * HALF:g}" height="14" aria-hidden="true">'
        f'<rect x="{left:.1f}" y="2" width="{length:.1f}" height="10" fill="{colour}"/>'
        f'<rect x="{HALF - 0.5:g}" y="0" width="1" height="14" fill="#222"/></svg>'
    )


TITLE = "Measured and simulated"
#: Rectangles of all Gantt charts together, 0.2 kB each; one has at most a thousand.
ALL_RECTANGLES = 4000
NEAREST = "measured, the run nearest to the median"
STYLE = """
.verdict { font-weight: 600 }
td { vertical-align: top }
details { border-top: 1px solid #ddd; padding: .4rem 0 }
summary { cursor: pointer; overflow-wrap: anywhere }
div > table { font-size: .85rem }
div > table td, div > table th { white-space: nowrap }
.bars th, .bars td { padding-right: .6rem }
.bars svg { display: block; max-width: 22vw }
.fits svg { min-width: 0 }
"""


def document(check: CrossCheck) -> Document:
    """Return the report without pictures: its conclusions, and its tables."""
    numbers, facts = check.summary(), list(calibration_facts(check).items())
    tables = [*_tables(check), Table("Calibration", ("fact", "value"), facts)]
    sections = [Section(table.caption, [replace(table, caption="")]) for table in tables]
    verdict = (Paragraph(headline(numbers)), Bullets(sentences(numbers)))
    return Document(TITLE, [*verdict, *sections, *notes_section(check.notes)])


def page(check: CrossCheck) -> str:
    """Return the page; text that may come from a file is escaped.

    Raises
    ------
    MissingExtraError
        If matplotlib, which draws the charts, is not installed.
    """
    numbers = check.summary()
    most = min(ALL_RECTANGLES // (2 * len(check.cases)), 1000)
    parts: list[Part] = [
        Paragraph(headline(numbers), strong=True),
        Bullets(sentences(numbers)),
        Section("Predicted over measured", [Markup(lambda: _points(check))]),
        Section("Tables", _tables(check)),
        Section("Case by case", [Folded(_title(case), [*_case(case, most)]) for case in by_error(check)]),
        Section("Notes", [Bullets(check.notes)]),
        Section("What predictions rest on", [Facts("Calibration", calibration_facts(check))]),
    ]
    return html_page(TITLE, page_parts(parts), STYLE)


def _tables(check: CrossCheck) -> list[Table]:
    differing = [table for table in (rankings_table(check), ratios_table(check)) if table.rows]
    return [cases_table(check), *differing, all_kinds_table(check)]


def _points(check: CrossCheck) -> str:
    conclusive = check.table[check.table["cannot_tell"] == ""]
    points = inline_svg(
        lambda figure: accuracy(conclusive, figure.add_subplot()),
        480,
        360,
        "Predicted over measured makespans",
    )
    return f'<figure class="fits">{points}</figure>'


def _title(case: Checked) -> str:
    runs = f"{len(case.execution)} runs, dropped {dropped(case.execution)}"
    return f"{case.graph}, {case.name}: {error_of(case)} (spread {percent(case.spread)}, {runs})"


def _case(case: Checked, most: int) -> Iterator[Part]:
    if case.doubt:
        yield Paragraph(f"Cannot tell here: {case.doubt}.")
    both = {NEAREST: case.execution.schedule, "simulated": case.simulated}
    yield Markup(lambda: f"<figure>{stacked_svg(both, max_rectangles=most)}</figure>")
    yield Markup(lambda: _bars(case))
    apart = case.sources.told_apart
    if apart < 1:
        yield Paragraph(
            f"Of the work done while other tasks ran, {percent(apart)} is of ops that were also measured alone; "
            "interference of the others counts as kernel times."
        )
    yield from (kinds_table(case), worst_table(case), Bullets(case.notes))


def _bars(case: Checked) -> str:
    found = case.sources
    seconds = {name: getattr(found, key) for key, name in SOURCES.items()} | {"in all": found.error_s}
    relative = shares(case) | {"in all": case.error}
    shown = {name: f"{signed_time(s)} ({signed(relative[name])})" for name, s in seconds.items()}
    return signed_bars("Predicted less measured makespan, by source", seconds, shown)
