"""A cross-check's report as one HTML page that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.document.html import columns_table, document, facts_table, listed, text
from simsched.document.tables import Table
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
from simsched.plots.bars import signed_bars
from simsched.plots.stacked import stacked_svg
from simsched.plots.svg import inline_svg

if TYPE_CHECKING:
    from simsched.execute.crosscheck.checked import Checked, CrossCheck

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


def page(check: CrossCheck) -> str:
    """Return the page; every text that may come from a file is escaped.

    Raises
    ------
    MissingExtraError
        If matplotlib, which draws the charts, is not installed.
    """
    numbers = check.summary()
    most = min(ALL_RECTANGLES // (2 * len(check.cases)), 1000)
    points = inline_svg(
        lambda figure: accuracy(check.table[check.table["cannot_tell"] == ""], figure.add_subplot()),
        480,
        360,
        "Predicted over measured makespans",
    )
    worst = [table for table in (rankings_table(check), ratios_table(check)) if table.rows]
    return document(
        "Measured and simulated",
        f'<p class="verdict">{text(headline(numbers))}</p>\n{listed(sentences(numbers))}'
        f'<h2>Predicted over measured</h2>\n<figure class="fits">{points}</figure>\n'
        f"<h2>Tables</h2>\n{_table(cases_table(check))}{''.join(map(_table, worst))}{_table(all_kinds_table(check))}"
        f"<h2>Case by case</h2>\n{''.join(_case(case, most) for case in by_error(check))}"
        f"<h2>Notes</h2>\n{listed(check.notes)}"
        f"<h2>What predictions rest on</h2>\n{facts_table('Calibration', calibration_facts(check))}\n",
        STYLE,
    )


def _table(table: Table) -> str:
    return columns_table(*table)


def _case(case: Checked, most: int) -> str:
    execution = case.execution
    title = (
        f"{case.graph}, {case.name}: {error_of(case)} "
        f"(spread {percent(case.spread)}, {len(execution)} runs, dropped {dropped(execution)})"
    )
    both = {NEAREST: execution.schedule, "simulated": case.simulated}
    charts = stacked_svg(both, max_rectangles=most)
    why = f"<p>Cannot tell here: {text(case.doubt)}.</p>\n" if case.doubt else ""
    return (
        f"<details>\n<summary>{text(title)}</summary>\n{why}<figure>{charts}</figure>\n{_sources(case)}"
        f"{_table(kinds_table(case))}{_table(worst_table(case))}"
        f"{listed(case.notes)}</details>\n"
    )


def _sources(case: Checked) -> str:
    found = case.sources
    seconds = {name: getattr(found, key) for key, name in SOURCES.items()} | {"in all": found.error_s}
    relative = shares(case) | {"in all": case.error}
    shown = {name: f"{signed_time(s)} ({signed(relative[name])})" for name, s in seconds.items()}
    apart = (
        f"Of the work done while other tasks ran, {percent(found.told_apart)} is of ops that were also measured alone; "
        "interference of the others counts as kernel times."
    )
    told = f"<p>{text(apart)}</p>\n" if found.told_apart < 1 else ""
    return signed_bars("Predicted less measured makespan, by source", seconds, shown) + told
