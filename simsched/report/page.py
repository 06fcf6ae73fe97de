"""A report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.document.html import columns_table, document, facts_table, listed, text
from simsched.document.tables import Table
from simsched.plots.interactive import Explorer, explore
from simsched.plots.interactive.explorer import HOW_TO
from simsched.plots.interactive.pages import library
from simsched.plots.stacked import stacked_svg
from simsched.plots.svg import inline_picture
from simsched.report.parts import Bullets, Chart, Facts, Folded, Paragraph, Part, Picture
from simsched.version import version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simsched.report.report import Report
    from simsched.schedule import Schedule

HERE = Path(__file__).parent
#: Tasks of all charts: some 40 bytes each on the page.
MOST_TASKS = 100_000
#: Rectangles of the still charts, 0.2 kB each; charts of more hold an image.
MOST_RECTANGLES = 500


def page(report: Report) -> str:
    """Return the page; every text that may come from a file is escaped.

    Raises
    ------
    MissingExtraError
        If matplotlib or bokeh, which draw, is not installed.
    """
    links = [("verdict", "In short"), *((section.anchor, section.title) for section in report.sections)]
    contents = "".join(f'<li><a href="#{anchor}">{text(title)}</a></li>' for anchor, title in links)
    verdict = (
        f'<section id="verdict" aria-labelledby="verdict-title">\n<h2 id="verdict-title">In short</h2>\n'
        f'<p class="verdict">{text(report.headline)}</p>\n{listed(report.sentences)}</section>\n'
    )
    sections = "".join(_section(one.anchor, one.title, one.parts) for one in report.sections)
    return document(
        report.title,
        f'<nav aria-label="Contents">\n<ul>{contents}</ul>\n</nav>\n{verdict}{sections}'
        f"<footer><p>Made by simsched {text(version())}.</p></footer>\n",
        (HERE / "style.css").read_text(encoding="utf-8"),
        '<a class="skip" href="#verdict">Skip to the summary</a>\n',
    )


def _section(anchor: str, title: str, parts: Iterable[Part]) -> str:
    return (
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n<h2 id="{anchor}-title">{text(title)}</h2>\n'
        f"{''.join(map(_part, parts))}</section>\n"
    )


def _part(part: Part) -> str:
    match part:
        case Paragraph():
            made = f"<p>{text(part.text)}</p>"
        case Bullets():
            made = listed(part.items)
        case Facts():
            made = facts_table(part.caption, part.facts)
        case Table():
            made = columns_table(*part)
        case Folded():
            inside = "".join(map(_part, part.parts))
            made = f"<details>\n<summary>{text(part.title)}</summary>\n{inside}</details>"
        case Picture():
            made = f"<figure>{inline_picture(part.draw, part.width, part.height, part.alt)}</figure>"
        case Chart():
            made = _chart(part.schedules)
    return f"{made}\n"


def _chart(schedules: Mapping[str, Schedule]) -> str:
    """Return the still charts, and the interactive one that takes their place where scripts run."""
    names = f"<p>From the top: {text(', then '.join(schedules))}.</p>"
    still = f'<figure class="still">{stacked_svg(schedules, max_rectangles=MOST_RECTANGLES)}</figure>'
    if shown := _few(list(schedules.values())):
        rest = "<p>The interactive chart shows the first one only.</p>" * (len(shown) < len(schedules))
        return f"{names}{rest}\n{_moving(explore(*shown))}{still}"
    instead = "Too many tasks for an interactive chart on this page; schedule.explore() makes one."
    return f"{names}\n<p>{instead}</p>\n{still}"


def _few(schedules: list[Schedule]) -> list[Schedule]:
    """Return the first schedules whose tasks a page can hold."""
    total, shown = 0, []
    for one in schedules:
        total += one.graph.n_tasks
        if total > MOST_TASKS:
            break
        shown.append(one)
    return shown


def _moving(chart: Explorer) -> str:
    script = (HERE / "unpack.js").read_text(encoding="utf-8")
    return (
        f'{_licence(library())}<div class="moving"><p>{text(HOW_TO)}</p>\n'
        f'<div id="chart" role="group" aria-label="{text(chart.description)}"></div></div>\n'
        f"{_packed('library', library())}{_packed('data', chart.item)}<script>\n{script}</script>\n"
    )


def _licence(scripts: str) -> str:
    """Return the licence at the head of bokeh's scripts, which packing hides, as a comment."""
    notice = scripts.partition("/*!")[2].partition("*/")[0]
    return f"<!-- BokehJS, packed below:{notice.replace('--', '- -')}-->\n"


def _packed(name: str, content: str) -> str:
    """Return text as an element that a script unpacks; bokeh's scripts take a third of their size so."""
    # Without the time, so that the same report has the same bytes.
    packed = base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()
    return f'<script type="text/plain" id="{name}">{packed}</script>\n'
