"""The reports of a cross-check: its tables, Markdown with them, and a page that also has pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from simsched.document.html import document as html_page, page_parts, text
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
from simsched.execute.crosscheck.frames import kinds_frame
from simsched.execute.crosscheck.verdict import RATIO_BAR, SOURCES, headline, percent, sentences
from simsched.plots.accuracy import accuracy
from simsched.plots.picture import inline_svg
from simsched.plots.stacked import stacked_svg
from simsched.units import format_time

if TYPE_CHECKING:
    from simsched.execute.crosscheck.checked import Checked, CrossCheck
    from simsched.execute.run.execution import Execution

#: Rows of tables of the worst cases, and shown sentences per fact.
WORST = 10


def _by_error(check: CrossCheck) -> list[Checked]:
    """Return the cases, those with the largest error first, then those without one, then the declined."""
    error = check.table["error"].abs()
    order = [check.cases[place] for place in error.sort_values(ascending=False, kind="stable").index]
    return sorted(order, key=lambda case: bool(case.doubt))


def _cases_table(check: CrossCheck) -> Table:
    """Return one row per case, sorted by error; sources as shares of the measured makespan."""
    columns = (
        "graph",
        "policy",
        "layout",
        "measured",
        "spread",
        "runs",
        "dropped",
        "predicted",
        "error",
        *SOURCES.values(),
        "cannot tell here",
    )
    return Table("Cases by error", columns, [_case_row(case) for case in _by_error(check)])


def _case_row(case: Checked) -> tuple[str, ...]:
    execution = case.execution
    return (
        case.graph, case.simulated.policy, case.simulated.layout, format_time(execution.median_s), percent(case.spread),
        f"{len(execution)}", dropped(execution), format_time(case.simulated.makespan_s), _error_of(case),
        *("" if case.doubt else _signed(share) for share in shares(case).values()), case.doubt,
    )  # fmt: skip


def _error_of(case: Checked) -> str:
    """Return the error of a case with its sign, or that it is unknown."""
    return "cannot tell" if case.doubt else _signed(case.error)


def dropped(execution: Execution) -> str:
    """Return the number of dropped runs; where all were disturbed none is dropped, which is stated."""
    return f"{execution.n_dropped}" if execution.undisturbed.any() else "0: all disturbed"


def shares(case: Checked) -> dict[str, float]:
    """Return the error by source, each as a share of the measured makespan; NaN where that is zero."""
    whole_s = case.execution.median_s or float("nan")
    return {name: getattr(case.sources, key) / whole_s for key, name in SOURCES.items()}


def _rankings_table(check: CrossCheck) -> Table:
    """Return the rankings that differ, the most clearly measured first."""
    pairs = check.rankings
    wrong = pairs[pairs["differ"] & ~pairs["agree"]]
    return _pairs("Rankings that differ", wrong, np.log(wrong["measured_ratio"]).abs())


def _ratios_table(check: CrossCheck) -> Table:
    """Return the worst ratios of policies beyond the bar."""
    pairs = check.rankings
    error = pairs["ratio_error"].abs()
    beyond = pairs[pairs["policies"] & (error > RATIO_BAR)]
    caption = f"Worst of {len(beyond)} ratios of policies beyond {percent(RATIO_BAR)}"
    return _pairs(caption, beyond, error[beyond.index], WORST)


def _pairs(caption: str, pairs: pd.DataFrame, worth: pd.Series[float], most: int | None = None) -> Table:
    order = worth.sort_values(ascending=False, kind="stable").index[:most]
    rows = [
        (
            str(row["graph"]), str(row["case_a"]), str(row["case_b"]), f"{row['measured_ratio']:.3f}",
            percent(row["spread_a"]), percent(row["spread_b"]), f"{row['predicted_ratio']:.3f}",
            _signed(row["ratio_error"]),
        )
        for row in pairs.loc[order].to_dict("records")
    ]  # fmt: skip
    columns = ("graph", "A", "B", "measured B / A", "spread A", "spread B", "predicted B / A", "error")
    return Table(caption, columns, rows)


def _all_kinds_table(check: CrossCheck) -> Table:
    """Return one row per kind over all cases."""
    cases = check.conclusive or check.cases
    return _kinds("Kinds of tasks over all cases", kinds_frame(pd.concat([case.tasks for case in cases])))


def _kinds(caption: str, kinds: pd.DataFrame) -> Table:
    rows = [
        (
            row["kind"] or "no kind", f"{row['tasks']}", percent(row["share"]), _signed(row["median_error"]),
            _signed_time(row["error_s"]),
        )
        for row in kinds.head(WORST).to_dict("records")
    ]  # fmt: skip
    more = f" (the {WORST} furthest off of {len(kinds)})" if len(kinds) > WORST else ""
    columns = ("kind", "tasks", "share of the work", "median error", "predicted - measured")
    return Table(caption + more, columns, rows)


def _worst_table(case: Checked) -> Table:
    """Return the tasks of a case with the largest errors, in seconds."""
    tasks = case.tasks
    off_s = tasks["predicted_s"] - tasks["measured_s"]
    worst = tasks.assign(off_s=off_s).loc[
        off_s.abs().sort_values(ascending=False, kind="stable").index[:WORST]
    ]
    rows = [
        (
            f"{row['task']}", row["name"], row["kind"] or "no kind", row["shape"], f"{row['width']}",
            format_time(row["measured_s"]), percent(row["spread"]), format_time(row["predicted_s"]),
            _signed(row["error"]), _signed_time(row["off_s"]), _signed_time(row["start_error_s"]),
        )
        for row in worst.to_dict("records")
    ]  # fmt: skip
    columns = (
        "task",
        "name",
        "kind",
        "shape",
        "width",
        "measured",
        "spread",
        "predicted",
        "error",
        "predicted - measured",
        "start off by",
    )
    return Table(f"Tasks furthest off ({len(rows)} of {len(tasks)})", columns, rows)


def _calibration_facts(check: CrossCheck) -> dict[str, str]:
    """Return the basis of the predictions."""
    calibration = check.calibration
    return {
        "host": str(calibration.host),
        "date": calibration.date,
        "method": calibration.method,
        "ops": f"{len(calibration.ops)}",
        **{
            key.removesuffix("_s").replace("_", " "): _fact(key, value)
            for key, value in calibration.facts.items()
        },
    }


def _fact(key: str, value: float | str) -> str:
    if isinstance(value, str):
        *said, rest = value.split("; ", WORST)
        return "; ".join([*said, f"and {rest.count('; ') + 1} more" if "; " in rest else rest])
    return format_time(value) if key.endswith("_s") else f"{value:.6g}"


def _signed(share: float) -> str:
    """Return a share in percent with its sign."""
    return "unknown" if np.isnan(share) else f"{round(100 * share, 1) + 0.0:+.1f} %"


def _signed_time(seconds: float) -> str:
    """Return a time with its sign and unit."""
    return ("-" if seconds < 0 else "+") + format_time(abs(seconds))


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
    numbers, facts = check.summary(), list(_calibration_facts(check).items())
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
        Section("Case by case", [Folded(_title(case), [*_case(case, most)]) for case in _by_error(check)]),
        Section("Notes", [Bullets(check.notes)]),
        Section("What predictions rest on", [Facts("Calibration", _calibration_facts(check))]),
    ]
    return html_page(TITLE, page_parts(parts), STYLE)


def _tables(check: CrossCheck) -> list[Table]:
    differing = [table for table in (_rankings_table(check), _ratios_table(check)) if table.rows]
    return [_cases_table(check), *differing, _all_kinds_table(check)]


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
    return f"{case.graph}, {case.name}: {_error_of(case)} (spread {percent(case.spread)}, {runs})"


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
    yield from (_kinds("Kinds of tasks", case.kinds), _worst_table(case), Bullets(case.notes))


def _bars(case: Checked) -> str:
    found = case.sources
    seconds = {name: getattr(found, key) for key, name in SOURCES.items()} | {"in all": found.error_s}
    relative = shares(case) | {"in all": case.error}
    shown = {name: f"{_signed_time(s)} ({_signed(relative[name])})" for name, s in seconds.items()}
    return signed_bars("Predicted less measured makespan, by source", seconds, shown)
