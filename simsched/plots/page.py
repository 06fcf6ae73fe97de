"""One HTML page of a schedule that needs nothing else: numbers, Gantt chart, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.document.html import document, facts_table, listed
from simsched.plots.svg import gantt_svg

if TYPE_CHECKING:
    from simsched.schedule import Schedule


def page(schedule: Schedule) -> str:
    """Return the page as HTML5; every text that may come from a file is escaped.

    Raises
    ------
    MissingExtraError
        If matplotlib, which draws the chart, is not installed.
    """
    numbers = {key: f"{value:.6g}" for key, value in schedule.metrics().items()}
    return document(
        f"Schedule of {schedule.graph.name}",
        f"{facts_table('How it was made', schedule.summary())}\n"
        f"<h2>Gantt chart</h2>\n<figure>{gantt_svg(schedule, 900)}</figure>\n{facts_table('Metrics', numbers)}\n"
        + (f"<h2>Notes</h2>\n{listed(schedule.notes)}" if schedule.notes else ""),
    )
