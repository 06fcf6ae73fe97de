"""One HTML page of a schedule that needs nothing else: numbers, Gantt chart, notes."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from simsched.plots.svg import gantt_svg
from simsched.text import printable

if TYPE_CHECKING:
    from simsched.schedule import Schedule

STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; color: #222; background: #fff }
main { max-width: 60rem; margin: 0 auto; padding: .5rem }
h1 { font-size: 1.4rem; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin-top: 1.6rem }
table { border-collapse: collapse }
caption { text-align: left; font-weight: 600; padding: .4rem 0 }
th, td { text-align: left; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #ddd }
th, td, li { overflow-wrap: anywhere }
th { font-weight: 400; color: #555 }
td { font-variant-numeric: tabular-nums }
figure { margin: 1rem 0; overflow-x: auto }
figure svg { min-width: 40rem }
"""


def page(schedule: Schedule) -> str:
    """Return the page as HTML5; every text that may come from a file is escaped.

    Raises
    ------
    MissingExtraError
        If matplotlib, which draws the chart, is not installed.
    """
    title = f"Schedule of {schedule.graph.name}"
    numbers = {key: f"{value:.6g}" for key, value in schedule.metrics().items()}
    notes = "".join(f"<li>{_text(note)}</li>" for note in schedule.notes)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{_text(title)}</h1>\n{_table('How it was made', schedule.summary())}\n"
        f"<h2>Gantt chart</h2>\n<figure>{gantt_svg(schedule, 900)}</figure>\n{_table('Metrics', numbers)}\n"
        + (f"<h2>Notes</h2>\n<ul>{notes}</ul>\n" if notes else "")
        + "</main>\n</body>\n</html>\n"
    )


def _table(caption: str, facts: Mapping[str, object]) -> str:
    rows = "".join(f'<tr><th scope="row">{_text(k)}</th><td>{_text(v)}</td></tr>\n' for k, v in facts.items())
    return f"<table>\n<caption>{_text(caption)}</caption>\n<tbody>\n{rows}</tbody>\n</table>"


def _text(value: object) -> str:
    # Control characters are not allowed in HTML, escaped or not.
    return escape(printable(str(value)))
