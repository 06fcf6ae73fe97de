"""A chart that stays while its schedule is exchanged: the page, and the messengers of other schedules."""

from __future__ import annotations

import json
import secrets
import zlib
from base64 import b64encode
from typing import Any

import numpy as np

from simsched.document.html import document, framed
from simsched.explain import Explanation
from simsched.plots.interactive.colours import rules
from simsched.plots.interactive.columns import Array, texts
from simsched.plots.interactive.explorer import STYLE
from simsched.plots.interactive.figures import AROUND_PX, row_labels, rows_px
from simsched.plots.interactive.layout import chart_columns, chosen_by, layout, title
from simsched.plots.interactive.pages import data, library, script
from simsched.plots.interactive.panels import AXIS_PX, PANEL_PX
from simsched.plots.interactive.rows import rows
from simsched.schedule import Schedule
from simsched.units import format_time, time_unit

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
    head = len(text).to_bytes(ALIGNED, "little")
    return b64encode(zlib.compress(b"".join([head, text, *arrays]), 1))
