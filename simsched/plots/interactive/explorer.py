"""`explore`: schedules as an interactive chart, in a notebook or as one page, or as one that exchanges its schedule."""

from __future__ import annotations

import json
import secrets
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from simsched.document.html import document, facts_table, framed, listed, text
from simsched.errors import MissingExtraError, SimschedError, require
from simsched.explain import Explanation
from simsched.files import replacing
from simsched.plots.gantt import gantt_title
from simsched.plots.interactive.columns import Array, check_rows, rows, rules, texts
from simsched.plots.interactive.figures import AROUND_PX, AXIS_PX, PANEL_PX, row_labels, rows_px
from simsched.plots.interactive.layout import chart_columns, chosen_by, height_px, layout, title
from simsched.plots.interactive.pages import data, library, script
from simsched.plots.stacked import write_still
from simsched.schedule import Schedule
from simsched.text import counted
from simsched.units import format_time, time_unit

COLOURS = ("kind", "level", "critical path", "wait reason", "executor")

STYLE = "main { max-width: none }"
SHOW = """<script>
Bokeh.embed.embed_item(JSON.parse(document.getElementById("data").textContent))
</script>"""
HOW_TO = (
    "Drag to move along time; point at a task to read what it is and why it started then. "
    "The buttons zoom and move from the keyboard, too."
)


@dataclass(frozen=True, eq=False)
class Explorer:
    """An interactive chart of one or more schedules; made by `explore`. A notebook shows it.

    Parameters
    ----------
    schedules : sequence of Schedule
        From the top down.
    color : str
        Rule that colours the tasks at first.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> chart = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", "fifo").explore()
    >>> with TemporaryDirectory() as folder:
    ...     chart.save(f"{folder}/chart.html")
    >>> chart.html.startswith("<!DOCTYPE html>")
    True
    """

    schedules: Sequence[Schedule]
    color: str = "kind"

    @cached_property
    def html(self) -> str:
        """The page as HTML5: everything is in it, and it loads nothing."""
        return self._page(
            "".join(
                facts_table(f"Schedule {number}" if len(self.schedules) > 1 else "Schedule", one.summary())
                + listed(one.notes)
                for number, one in enumerate(self.schedules, 1)
            )
        )

    def _page(self, below: str = "") -> str:
        names = " and ".join(dict.fromkeys(one.graph.name for one in self.schedules))
        body = (
            f'<p>{text(HOW_TO)}</p>\n<div id="chart" role="group" aria-label="{text(self.description)}"></div>\n'
            f"{below}<script>{library()}</script>\n{data(self.item)}\n{SHOW}\n"
        )
        return document(f"Schedule of {names}", body, STYLE)

    @property
    def item(self) -> str:
        """The charts as JSON for `Bokeh.embed.embed_item`, for an element whose id is "chart"."""
        from bokeh.embed import json_item

        return json.dumps(json_item(layout(self.schedules, COLOURS.index(self.color)), "chart"))

    @property
    def description(self) -> str:
        """Description of the chart in words, for those who cannot see it."""
        return "Gantt chart of tasks over cores. " + "; ".join(
            f"{gantt_title(one)}, {counted(one.graph.n_tasks, 'task')} on {counted(one.n_cores, 'core')}"
            for one in self.schedules
        )

    def save(self, path: str | Path) -> None:
        """Write the page to `path`, a name that ends in .html.

        Raises
        ------
        SimschedError
            If the name ends otherwise, or the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise SimschedError(f"{path}: an interactive chart is a page; give a name that ends in .html")
        page = self.html.encode("utf-8", "backslashreplace")
        with replacing(path) as file:
            file.write(page)

    def __repr__(self) -> str:
        return f"<Explorer: {self.description}>"

    @cached_property
    def _still(self) -> bytes | None:
        """The charts as a static PNG; None without matplotlib."""
        file = BytesIO()
        try:
            write_still(self.schedules, file)
        except MissingExtraError:
            return None
        return file.getvalue()

    def _repr_html_(self) -> str:
        """Return the chart in a frame, its static picture for untrusted notebooks, and all notes."""
        notes = list(dict.fromkeys(note for one in self.schedules for note in one.notes))
        still = f"<p>{text(self.description)}</p>" if self._still is None else self._image(self._still)
        frame = framed(self._page(), self.description, f"height:{height_px(self.schedules)}px", still)
        return frame + (f"<div class='tex2jax_ignore mathjax_ignore'>{listed(notes)}</div>" if notes else "")

    def _image(self, png: bytes) -> str:
        content = b64encode(png).decode()
        return f'<img alt="{text(self.description)}" style="max-width:100%" src="data:image/png;base64,{content}">'

    def _repr_png_(self) -> bytes | None:
        return self._still


def explore(*schedules: Schedule, color: str = "kind") -> Explorer:
    """Return an interactive chart: zoom from the whole run to single tasks, and read why each started when it did.

    Rows are cores, by memory domain or tile, or the lanes of a recorded run. Up to 10,000 rectangles are drawn one by
    one; where more are in sight, so are the longest of them, above an image of the mean colour of each core and bin of
    time. Below are busy cores, running tasks, requested memory traffic (bytes of tasks over their
    time) and ready tasks that wait, as means over what a pixel covers.

    Parameters
    ----------
    *schedules : Schedule
        Several are stacked over one time axis, each from its own first start, with the same colours: two policies,
        recorded and replayed, measured and simulated. Where the longest takes more than three times as long as the
        shortest, each has its own axis, and a switch on the page puts all on one.
    color : str
        Rule that colours the tasks at first, and can be changed on the page: "kind", "level" (seconds from the task
        to the end of the graph), "critical path", "wait reason", "executor".

    Returns
    -------
    Explorer
        A notebook shows it; `save` writes it as one page.

    Raises
    ------
    SimschedError
        If there is no schedule, no such rule, or a schedule of more than 100,000 cores.
    MissingExtraError
        If bokeh is not installed.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
    >>> chart = ss.simulate(graph, "generic[cores=2]", "fifo").explore()
    >>> print(chart.description)
    Gantt chart of tasks over cores. fifo on generic[cores=2], 2x1: makespan 3 s, utilization 50 %, 2 tasks on 2 cores
    """
    if not schedules:
        raise SimschedError("explore() needs a schedule to show; give one or more")
    if color not in COLOURS:
        raise SimschedError(f"color={color!r} is unknown; give one of {', '.join(COLOURS)}")
    for schedule in schedules:
        check_rows(schedule)
    require("bokeh", "interactive", "an interactive chart")
    return Explorer(schedules, color)


#: Types of arrays that a page supports; others are whole numbers that fit the widest of them.
TYPES = {"uint8": "Uint8Array", "uint16": "Uint16Array", "int32": "Int32Array", "float32": "Float32Array",
         "float64": "Float64Array"}  # fmt: skip
#: Bytes at multiples of which arrays begin.
ALIGNED = 8
CONTROLS_PX = 220
NOTHING_ELSE = "main { padding: 0 } h1 { display: none }"


class ExchangedChart:
    """A chart in a frame, and frames that deliver other schedules, as notebook widgets run no script of ours.

    A script in a messenger's frame hands its schedule over to the chart's frame. Neither has a right to the notebook
    around them, nor does the notebook's own page run anything.

    Parameters
    ----------
    schedule : Schedule
        The schedule shown at first.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._first = schedule
        self._key = secrets.token_hex(16)
        self._sent = 0

    def frame(self) -> str:
        """Return the frame as markup, as high as the element around it."""
        from bokeh.embed import json_item
        from bokeh.models import Span

        chart = layout([self._first], 0, exchanged=True)
        base = Span(name="base", dimension="height", line_dash="dashed", line_width=2, visible=False)
        chart.select_one({"name": "chart 0"}).add_layout(base)
        unit = time_unit(self._first.makespan_s)
        page = {"key": self._key, "item": json_item(chart, "chart"), "per_s": unit.per_s}
        body = (
            '<div id="chart" role="group" aria-label="Gantt chart of tasks over cores"></div>\n'
            f"<script>{library()}</script>\n{data(json.dumps(page))}\n"
            f'<script type="module">{script("exchange.js")}</script>\n'
        )
        shown = document("Schedule", body, STYLE + NOTHING_ELSE)
        return framed(shown, "Gantt chart of tasks over cores", "height:100%")

    def messenger(self, why: Explanation, base: Schedule) -> str:
        """Return an invisible frame that delivers another schedule.

        Parameters
        ----------
        why : Explanation
            The schedule, and why its tasks started when they did.
        base : Schedule
            The schedule to compare with: a dashed line marks its end.
        """
        self._sent += 1
        message = {"key": self._key, "number": self._sent, "packed": packed(news(why, base)).decode("ascii")}
        body = f"{data(json.dumps(message))}<script>{script('messenger.js')}</script>"
        return framed(body, "", "display:none")


def page_px(schedule: Schedule) -> int:
    """Return the height of the frame: controls and legend, the chart, four panels."""
    return CONTROLS_PX + _chart_px(schedule) + 4 * PANEL_PX + AXIS_PX


def _chart_px(schedule: Schedule) -> int:
    return rows_px(max(schedule.n_cores, 1)) + AROUND_PX


def news(why: Explanation, base: Schedule) -> dict[str, Any]:
    """Return the data that a page needs to show another schedule; see `exchange.js`."""
    schedule = why.schedule
    span_s = max(schedule.makespan_s, base.makespan_s)
    unit = time_unit(span_s)
    placed = rows(schedule)
    coloured = rules([schedule], [why.tasks], ranked=[base])
    ends = f"; dashed: the base, {format_time(base.makespan_s)}" if base is not schedule else ""
    return {
        "title": title(schedule) + ends,
        "per_s": unit.per_s,
        "time": unit.name,
        "span": span_s * unit.per_s or 1.0,
        "base": base.makespan_s * unit.per_s,
        "apart": base is not schedule,
        "height": _chart_px(schedule),
        "rows": {"n": max(schedule.n_cores, 1), **row_labels(placed)},
        "chart": chart_columns(schedule, placed, why.tasks, [rule.codes[0] for rule in coloured], unit),
        "texts": texts(schedule),
        "rules": chosen_by(coloured),
    }


def packed(message: dict[str, Any]) -> bytes:
    """Return JSON followed by the bytes of its arrays, compressed, in base64."""
    arrays: list[bytes] = []
    size = 0

    def place(array: Array) -> dict[str, Any]:
        nonlocal size
        if str(array.dtype) not in TYPES:
            array = array.astype(np.int32)
        content = array.tobytes()
        arrays.append(content + bytes(-len(content) % ALIGNED))
        size += len(arrays[-1])
        return {"array": TYPES[str(array.dtype)], "at": size - len(arrays[-1]), "n": array.size}

    text = json.dumps(message, default=place).encode()
    text += b" " * (-len(text) % ALIGNED)
    return b64encode(zlib.compress(b"".join([len(text).to_bytes(ALIGNED, "little"), text, *arrays]), 1))
