"""The figures of an interactive chart: one canvas per schedule, and panels below that share its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.plots.canvas import OKABE_ITO, plain
from simsched.plots.interactive.columns import Rows, css, domain_shares
from simsched.plots.interactive.pages import script
from simsched.schedule.steps import what_runs

if TYPE_CHECKING:
    from bokeh import plotting
    from bokeh.models import ColorMapper, CustomJS, Range1d

    from simsched.schedule import Schedule
    from simsched.units import TimeUnit

#: Columns of the picture that replaces more rectangles than the canvas holds, as in draw.js.
BINS = 1000
ROW_PX, LOWEST_PX, HIGHEST_PX = 14, 90, 560
# Tools, axis and its label.
AROUND_PX = 80
LABEL_PX = 12
BORDER_PX = 76
TOOLS = "xpan,xwheel_zoom,xbox_zoom,ywheel_zoom,reset,save"
HOVER = [("task", "name"), ("kind", "kind"), ("shape", "shape"), ("scope", "scope"), ("time", "time"),
         ("on", "where"), ("why then", "why"), ("waited", "waited")]  # fmt: skip


def rows_px(rows: int) -> int:
    """Return the height of that many rows."""
    return min(max(ROW_PX * rows, LOWEST_PX), HIGHEST_PX)


def time_range(span: float, name: str) -> Range1d:
    """Return a time axis, from 0; one unit long where no time passes."""
    from bokeh.models import Range1d

    span = span or 1.0
    return Range1d(
        0.0,
        span,
        reset_start=0.0,
        reset_end=span,
        name=name,
        bounds=(-0.02 * span, 1.02 * span),
        min_interval=span * 1e-9,
    )


def gantt_figure(
    rows: Rows, x_range: Range1d, mapper: ColorMapper, unit: TimeUnit, number: int
) -> tuple[plotting.figure, dict[str, Any]]:
    """Return an empty chart, and its parts that the script fills."""
    from bokeh.models import ColumnDataSource, Range1d
    from bokeh.plotting import figure

    n = max(len(rows.row_of), 1)
    height = rows_px(n)
    chart = figure(
        x_range=x_range, y_range=Range1d(n - 0.5, -0.5, bounds=(-0.5, n - 0.5)), height=height + AROUND_PX, tools=TOOLS,
        active_scroll="xwheel_zoom", active_drag="xpan", lod_threshold=None,
        sizing_mode="stretch_width", min_border_left=BORDER_PX, toolbar_location="above",
        name=f"chart {number}",
    )  # fmt: skip
    chart.xaxis.axis_label = f"time ({unit.name})"
    _name_rows(chart, row_labels(rows), number)
    boxes = ColumnDataSource(
        {name: [] for name in ("left", "right", "top", "bottom", "colour", "at")}, name=f"rectangles {number}"
    )
    drawn = chart.quad(
        left="left", right="right", top="top", bottom="bottom", source=boxes, line_color="white", line_width=0.5,
        line_alpha=0, fill_color={"field": "colour", "transform": mapper},
    )  # fmt: skip
    drawn.nonselection_glyph = None
    return chart, {"rectangles": boxes, "glyph": drawn.glyph, "boxes": drawn, "figure": chart}


def add_picture(chart: plotting.figure, rows: int, number: int) -> dict[str, Any]:
    """Add the picture that replaces too many rectangles; the script fills it."""
    from bokeh.models import ColumnDataSource

    pixels = np.zeros((rows, BINS), np.uint32)
    source = ColumnDataSource({"image": [pixels], "x": [0.0], "dw": [1.0]}, name=f"picture pixels {number}")
    drawn = chart.image_rgba(
        "image", x="x", y=-0.5, dw="dw", dh=rows, source=source, name=f"picture {number}"
    )
    return {"picture": source, "picture_renderer": drawn}


def add_aborted(chart: plotting.figure, edges: dict[str, Any], number: int) -> None:
    """Add the runs that were aborted, hatched as on paper."""
    from bokeh.models import ColumnDataSource

    source = ColumnDataSource(edges, name=f"aborted {number}")
    chart.quad(
        left="left", right="right", top="top", bottom="bottom", source=source, fill_color="white",
        line_color="#8c8c8c", line_width=0.5, hatch_pattern="right_diagonal_line", hatch_color="#8c8c8c",
    )  # fmt: skip


def add_hover(chart: plotting.figure, boxes: Any, draw: CustomJS, number: int) -> None:
    """Add the text on the task under the pointer, by tell.js; bokeh escapes it."""
    from bokeh.models import CustomJSHover, HoverTool

    tell = CustomJSHover(args={"draw": draw, "chart": number}, code=script("fitting.js") + script("tell.js"))
    tips = [(label, f"@at{{{what}}}") for label, what in HOVER]
    chart.add_tools(
        HoverTool(renderers=[boxes], tooltips=tips, formatters={"@at": tell}, point_policy="follow_mouse")
    )


def row_labels(rows: Rows) -> dict[str, Any]:
    """Return the groups labelled at the rows, as many as there is room for, and the lines between them."""
    step = max(-(-LABEL_PX * len(rows.names) // rows_px(max(len(rows.row_of), 1))), 1)
    return {
        "centres": rows.centres[::step],
        "names": [plain(name, 14) for name in rows.names[::step]],
        "borders": rows.borders,
        "label": rows.label,
    }


def _name_rows(chart: plotting.figure, labels: dict[str, Any], number: int) -> None:
    from bokeh.models import CustomJSTickFormatter, FixedTicker

    chart.yaxis.ticker = FixedTicker(ticks=labels["centres"], name=f"row centres {number}")
    # A formatter's result is drawn literally: a name from a file starts no formula, as `$$` would.
    chart.yaxis.formatter = CustomJSTickFormatter(
        args={"centres": labels["centres"], "names": labels["names"]},
        code="return names[centres.indexOf(tick)] ?? ''", name=f"row names {number}",
    )  # fmt: skip
    chart.yaxis.axis_label = labels["label"]
    chart.ygrid.ticker = FixedTicker(ticks=labels["borders"], name=f"row borders {number}")
    chart.ygrid.grid_line_color = "#bbbbbb"
    chart.xgrid.grid_line_color = None


PANEL_PX = 105
LEGEND_PX = 20
#: Height of the numbers below the lowest panel, and of their unit, where it is shown.
AXIS_PX = 40
DASHES = ("solid", "dashed", "dotted", "dotdash")

Chart = dict[str, Any]
#: Terms of the sum for a line: 1 while a task runs, times a column of tasks, of teams and a factor.
PLAIN: Chart = {"column": None, "by_team": None, "waits": False, "factor": 1.0}
DEMAND: Chart = {"column": "demand", "factor": 1e-9}
TRAFFIC = "memory traffic asked for (GB/s)"


def panels(
    schedules: Sequence[Schedule], charts: Sequence[Chart], x_range: Range1d, draw: CustomJS, exchanged: bool
) -> list[plotting.figure]:
    """Return the panels, one line per schedule in each; the charts get references to their lines.

    Where schedules are exchanged, the panels are those that any schedule fills: of memory traffic one line, which
    is out of sight while no bytes are known.
    """
    names = [one.policy or "schedule" for one in schedules]
    if len(set(names)) < len(names):
        names = [f"{place}. {name}" for place, name in enumerate(names, 1)]
    named = list(zip(names, charts, strict=True))
    # Where schedules are exchanged, they may come from other machines.
    whats = {"cores"} if exchanged else {what_runs(schedule) for schedule in schedules}
    what = whats.pop() if len(whats) == 1 else "cores or hardware threads"
    below = [
        _panel(
            f"{what} busy", x_range, draw, [(name, c, {"by_team": c["teams"]["width"]}) for name, c in named]
        ),
        _panel("tasks running", x_range, draw, [(name, c, {}) for name, c in named]),
        _panel("ready tasks that wait", x_range, draw, [(name, c, {"waits": True}) for name, c in named]),
    ]
    known = any("demand" in chart["tasks"] for chart in charts)
    if exchanged:
        below.insert(2, _panel(TRAFFIC, x_range, draw, [(name, c, DEMAND) for name, c in named]))
        below[2].update(name="traffic", visible=known)
    elif known:
        below.insert(2, _traffic(schedules, names, charts, x_range, draw))
    for each in below[:-1]:
        # The lowest one has the numbers for all.
        each.xaxis.major_label_text_font_size = "0px"
    below[-1].height += AXIS_PX
    return below


def _traffic(
    schedules: Sequence[Schedule],
    names: Sequence[str],
    charts: Sequence[Chart],
    x_range: Range1d,
    draw: CustomJS,
) -> plotting.figure:
    """Return the panel of memory traffic: one line per schedule, or, for only one, per memory domain."""
    known = [(name, chart, one) for name, chart, one in zip(names, charts, schedules, strict=True)
             if "demand" in chart["tasks"]]  # fmt: skip
    lines = [(name, chart, DEMAND) for name, chart, _ in known]
    if len(known) == 1 and (shares := domain_shares(known[0][2])):
        lines = [(domain, known[0][1], {**DEMAND, "by_team": share}) for domain, share in shares.items()]
    return _panel(TRAFFIC, x_range, draw, lines)


def _panel(
    title: str, x_range: Range1d, draw: CustomJS, lines: Sequence[tuple[str, Chart, dict[str, Any]]]
) -> plotting.figure:
    """Return a panel with a line for each name, chart and recipe."""
    from bokeh.models import ColumnDataSource, CustomJSHover, DataRange1d, HoverTool
    from bokeh.plotting import figure

    drawn = figure(
        x_range=x_range, y_range=DataRange1d(start=0, range_padding=0.08), height=PANEL_PX, tools=TOOLS,
        active_scroll="xwheel_zoom", active_drag="xpan", toolbar_location=None, sizing_mode="stretch_width",
        min_border_left=BORDER_PX, lod_threshold=None,
    )  # fmt: skip
    drawn.title.update(text=title, text_font_size="12px")
    drawn.yaxis.ticker.desired_num_ticks = 3
    tell = CustomJSHover(args={"draw": draw}, code=script("fitting.js") + script("tell_panel.js"))
    tips = [("", "$name"), ("mean", "@y{mean}"), ("time", "@x{time}")]
    drawn.add_tools(HoverTool(tooltips=tips, formatters={"@x": tell, "@y": tell}, mode="vline"))
    named = []
    for place, (name, chart, recipe) in enumerate(lines):
        source = ColumnDataSource({"x": [], "y": []}, name=f"{title} {place}")
        line = drawn.step(
            "x", "y", source=source, mode="after", name=plain(name), line_width=1.3,
            color=css(OKABE_ITO[place % len(OKABE_ITO)]), line_dash=DASHES[place % len(DASHES)],
        )  # fmt: skip
        named.append((name, line))
        chart["lines"].append(PLAIN | recipe | {"source": source})
    if len(named) > 1:
        _name_lines(drawn, named)
    return drawn


def _name_lines(drawn: plotting.figure, lines: Sequence[tuple[str, Any]]) -> None:
    from bokeh.core.properties import value
    from bokeh.models import Legend, LegendItem

    items = [LegendItem(label=value(plain(name)), renderers=[line]) for name, line in lines]
    legend = Legend(
        items=items, orientation="horizontal", location="left", padding=1, margin=1, glyph_width=16,
        label_text_font_size="11px", border_line_color=None,
    )  # fmt: skip
    drawn.add_layout(legend, "above")
    drawn.height += LEGEND_PX
