"""A report as one HTML page without external files."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.document.html import document, page_parts, text
from simsched.document.parts import Bullets, Paragraph, Section
from simsched.plots.interactive import explore
from simsched.plots.interactive.explorer import HOW_TO
from simsched.plots.interactive.pages import library
from simsched.plots.stacked import stacked_svg
from simsched.version import version

if TYPE_CHECKING:
    from simsched.report.report import Report
    from simsched.schedule import Schedule

HERE = Path(__file__).parent
#: Most tasks of all charts: some 40 bytes each on the page.
MOST_TASKS = 100_000
#: Most rectangles of the static charts, 0.2 kB each; charts of more hold an image.
MOST_RECTANGLES = 500


def page(report: Report) -> str:
    """Return the page; text that may come from a file is escaped.

    Raises
    ------
    MissingExtraError
        If matplotlib or bokeh, which draw, is not installed.
    """
    verdict = (Paragraph(report.headline, strong=True), Bullets(report.sentences))
    sections = [Section("In short", verdict, "verdict"), *report.sections]
    contents = "".join(f'<li><a href="#{one.anchor}">{text(one.title)}</a></li>' for one in sections)
    return document(
        report.title,
        f'<nav aria-label="Contents">\n<ul>{contents}</ul>\n</nav>\n{page_parts(sections)}'
        f"<footer><p>Made by simsched {text(version())}.</p></footer>\n",
        (HERE / "style.css").read_text(encoding="utf-8"),
        '<a class="skip" href="#verdict">Skip to the summary</a>\n',
    )


def chart(schedules: Mapping[str, Schedule]) -> str:
    """Return the still charts of schedules, and the interactive one that takes their place where scripts run."""
    names = f"<p>From the top: {text(', then '.join(schedules))}.</p>"
    still = f'<figure class="still">{stacked_svg(schedules, max_rectangles=MOST_RECTANGLES)}</figure>'
    if shown := _few(list(schedules.values())):
        rest = "<p>The interactive chart shows the first one only.</p>" * (len(shown) < len(schedules))
        return f"{names}{rest}\n{_moving(shown)}{still}"
    instead = (
        "Too many tasks or cores for an interactive chart on this page; schedule.explore() may make one."
    )
    return f"{names}\n<p>{instead}</p>\n{still}"


def _few(schedules: list[Schedule]) -> list[Schedule]:
    """Return the first schedules whose tasks and cores fit in a page."""
    totals = accumulate(max(one.graph.n_tasks, one.n_cores) for one in schedules)
    return [one for one, total in zip(schedules, totals, strict=True) if total <= MOST_TASKS]


def _moving(schedules: list[Schedule]) -> str:
    shown, script = explore(*schedules), (HERE / "unpack.js").read_text(encoding="utf-8")
    return (
        f'{_licence(library())}<div class="moving"><p>{text(HOW_TO)}</p>\n'
        f'<div id="chart" role="group" aria-label="{text(shown.description)}"></div></div>\n'
        f"{_library()}{_packed('data', shown.item)}<script>\n{script}</script>\n"
    )


def _licence(scripts: str) -> str:
    """Return the licence at the head of bokeh's scripts, hidden by packing, as a comment."""
    notice = scripts.partition("/*!")[2].partition("*/")[0]
    return f"<!-- BokehJS, packed below:{notice.replace('--', '- -')}-->\n"


@cache
def _library() -> str:
    return _packed("library", library())


def _packed(name: str, content: str) -> str:
    """Return text as an element that a script unpacks; bokeh's scripts shrink to a third."""
    # Without the time, so that the same report has the same bytes.
    packed = base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()
    return f'<script type="text/plain" id="{name}">{packed}</script>\n'
