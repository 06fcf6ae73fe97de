"""Panels below the charts: lines over the same time, which the script draws from the columns of the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simsched.plots.canvas import plain
from simsched.plots.interactive.colours import css
from simsched.plots.interactive.columns import domain_shares
from simsched.plots.interactive.figures import BORDER_PX, TOOLS
from simsched.plots.palette import OKABE_ITO

if TYPE_CHECKING:
    from bokeh.models import Range1d
    from bokeh.plotting import figure as Figure

    from simsched.schedule import Schedule

PANEL_PX = 120
DASHES = ("solid", "dashed", "dotted", "dotdash")

Chart = dict[str, Any]


def panels(schedules: Sequence[Schedule], charts: Sequence[Chart], x_range: Range1d) -> list[Figure]:
    """Return the panels, a line a schedule in each; the charts are told of their lines."""
    names = [one.policy or "schedule" for one in schedules]
    below = [
        _panel("cores busy", x_range, [(n, c, {"by_team": c["teams"]["width"]}) for n, c in zip(names, charts, strict=True)]),
        _panel("tasks running", x_range, [(n, c, {}) for n, c in zip(names, charts, strict=True)]),
        _panel("ready tasks that wait", x_range, [(n, c, {"waits": True}) for n, c in zip(names, charts, strict=True)]),
    ]  # fmt: skip
    if any("demand" in chart["tasks"] for chart in charts):
        below.insert(2, _traffic(schedules, names, charts, x_range))
    return below


def _traffic(
    schedules: Sequence[Schedule], names: Sequence[str], charts: Sequence[Chart], x_range: Range1d
) -> Figure:
    """Return the panel of memory traffic: a line a schedule, or, of a single schedule, a memory domain."""
    demand = {"column": "demand", "factor": 1e-9}
    known = [(name, chart, one) for name, chart, one in zip(names, charts, schedules, strict=True)
             if "demand" in chart["tasks"]]  # fmt: skip
    lines = [(name, chart, demand) for name, chart, _ in known]
    shares = domain_shares(known[0][2]) if len(known) == 1 else []
    if shares:
        chart = known[0][1]
        lines = [(f"domain {number}", chart, {**demand, "by_team": share}) for number, share in enumerate(shares)]
    return _panel("memory traffic asked for (GB/s)", x_range, lines)


def _panel(title: str, x_range: Range1d, lines: Sequence[tuple[str, Chart, dict[str, Any]]]) -> Figure:
    """Return a panel with a line for each name, chart and recipe."""
    from bokeh.models import ColumnDataSource, DataRange1d, HoverTool
    from bokeh.plotting import figure

    drawn = figure(
        x_range=x_range, y_range=DataRange1d(start=0, range_padding=0.08), height=PANEL_PX, tools=TOOLS,
        active_scroll="xwheel_zoom", active_drag="xpan", toolbar_location=None, sizing_mode="stretch_width",
        min_border_left=BORDER_PX, lod_threshold=None,
    )  # fmt: skip
    drawn.title.update(text=title, text_font_size="12px")
    drawn.yaxis.ticker.desired_num_ticks = 3
    drawn.add_tools(HoverTool(tooltips=[("", "$name"), ("mean", "@y"), ("time", "@x")], mode="vline"))
    named = []
    for place, (name, chart, recipe) in enumerate(lines):
        source = ColumnDataSource({"x": [], "y": []})
        line = drawn.step(
            "x", "y", source=source, mode="after", name=plain(name), line_width=1.3,
            color=css(OKABE_ITO[place % len(OKABE_ITO)]), line_dash=DASHES[place % len(DASHES)],
        )  # fmt: skip
        named.append((name, line))
        recipe = {"column": None, "by_team": None, "waits": False, "factor": 1.0} | recipe
        chart["lines"].append({**recipe, "source": source})
    if len(named) > 1:
        _name_lines(drawn, named)
    return drawn


def _name_lines(drawn: Figure, lines: Sequence[tuple[str, Any]]) -> None:
    from bokeh.core.properties import value
    from bokeh.models import Legend, LegendItem

    items = [LegendItem(label=value(plain(name)), renderers=[line]) for name, line in lines]
    legend = Legend(
        items=items, orientation="horizontal", location="top_right", padding=1, margin=1, glyph_width=16,
        label_text_font_size="11px", background_fill_alpha=0.7, border_line_color=None,
    )  # fmt: skip
    drawn.add_layout(legend)
