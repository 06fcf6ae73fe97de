"""Panels below the charts: lines over the same time, which the script draws from the columns of the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simsched.plots.canvas import plain
from simsched.plots.interactive.colours import css
from simsched.plots.interactive.columns import domain_shares
from simsched.plots.interactive.figures import BORDER_PX, TOOLS
from simsched.plots.interactive.pages import script
from simsched.plots.palette import OKABE_ITO
from simsched.schedule.busy import what_runs

if TYPE_CHECKING:
    from bokeh import plotting
    from bokeh.models import CustomJS, Range1d

    from simsched.schedule import Schedule

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
