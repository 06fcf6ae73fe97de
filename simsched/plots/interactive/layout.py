"""The page's controls, charts and panels, and the script that connects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simsched.document.html import text
from simsched.explain import REASONS
from simsched.plots.gantt import gantt_title, spans_differ
from simsched.plots.interactive.columns import (
    PARTS,
    Array,
    Rows,
    Rule,
    aborted_columns,
    lost_columns,
    rows,
    rules,
    task_columns,
    team_columns,
    texts,
)
from simsched.plots.interactive.figures import (
    AROUND_PX,
    AXIS_PX,
    LEGEND_PX,
    PANEL_PX,
    add_aborted,
    add_hover,
    add_picture,
    gantt_figure,
    panels,
    rows_px,
    time_range,
)
from simsched.plots.interactive.pages import script
from simsched.units import TimeUnit, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.models import Column, CustomJS, Range1d, Select

    from simsched.schedule import Schedule

EACH, ALL = "one for each chart", "one for all"
#: End of the common range of buttons and panels where each chart has its own axis: a share of each run.
WHOLE = 100.0


@dataclass(frozen=True, eq=False)
class TimeAxes:
    """The time axes of a page.

    Parameters
    ----------
    shared : Range1d
        What buttons move and panels show: time, or percent of each run.
    of : list of Range1d
        The axis of each chart; the shared one, unless each has its own.
    units : list of TimeUnit
        The unit of each chart.
    switch : Select or None
        The choice between one axis for each and one for all.
    """

    shared: Range1d
    of: list[Range1d]
    units: list[TimeUnit]
    switch: Select | None

    @property
    def unit(self) -> str:
        """The initial unit of the shared axis."""
        return "%" if self.switch else self.units[0].name

    def connect(self, draw: CustomJS, lowest: Any) -> None:
        """Synchronise the axes, before the script draws; `lowest` is the panel whose axis shows the unit."""
        from bokeh.models import CustomJS

        if self.switch is None:
            return
        longest = max(
            range(len(self.of)), key=lambda chart: self.of[chart].reset_end / self.units[chart].per_s
        )
        args = {
            "shared": self.shared, "ranges": self.of, "choice": self.switch, "draw": draw, "axis": lowest.xaxis[0],
            "per_s": [unit.per_s for unit in self.units], "ends": [each.reset_end for each in self.of],
            "longest": longest, "unit": self.units[longest].name, "each": EACH,
        }  # fmt: skip
        follow = CustomJS(args=args, code=script("axes.js"), name="axes")
        for changed in (self.shared, *self.of):
            changed.js_on_change("start", follow)
            changed.js_on_change("end", follow)
        self.switch.js_on_change("value", follow)
        lowest.xaxis[0].axis_label = "% of each run"


def time_axes(schedules: Sequence[Schedule]) -> TimeAxes:
    """Return one axis for all schedules, or one for each where their spans differ by more than three times."""
    from bokeh.models import Select

    spans_s = [one.makespan_s for one in schedules]
    if not spans_differ(schedules):
        unit = time_unit(max(spans_s))
        shared = time_range(max(spans_s) * unit.per_s, "time")
        return TimeAxes(shared, [shared] * len(spans_s), [unit] * len(spans_s), None)
    units = [time_unit(span_s) for span_s in spans_s]
    own = [
        time_range(span_s * unit.per_s, f"time {number}")
        for number, (span_s, unit) in enumerate(zip(spans_s, units, strict=True))
    ]
    switch = Select(title="time axes", value=EACH, options=[EACH, ALL], width=150)
    return TimeAxes(time_range(WHOLE, "time"), own, units, switch)


# Buttons: their labels, and their changes of start and end.
MOVES = {
    "zoom in": "s + w / 4, e - w / 4",
    "zoom out": "s - w / 2, e + w / 2",
    "earlier": "s - w / 2, e - w / 2",
    "later": "s + w / 2, e + w / 2",
    "whole run": "-Infinity, Infinity",
}
#: Keyboard users see the focus.
FOCUS = ".bk-btn:focus-visible { outline: 3px solid #0072b2; outline-offset: 1px }"
MOVE = """
const [s, e] = [range.start, range.end], w = e - s
const [low, high] = [range.reset_start, range.reset_end]
let [a, b] = [{move}]
if (b > high) [a, b] = [a - (b - high), high]
if (a < low) [a, b] = [low, Math.min(b + (low - a), high)]
range.setv({{ start: a, end: b }})
"""


def height_px(schedules: Sequence[Schedule]) -> int:
    """Return the height of the page above its tables."""
    charts = sum(rows_px(one.n_cores) + AROUND_PX for one in schedules)
    legends = LEGEND_PX if len(schedules) > 1 else 0
    return 320 + charts + 4 * (PANEL_PX + legends) + AXIS_PX


def layout(schedules: Sequence[Schedule], chosen: int, *, exchanged: bool = False) -> Column:
    """Return everything on the page; the script draws as soon as the width is known, and on every change of view.

    Parameters
    ----------
    schedules : sequence of Schedule
    chosen : int
        Place of the rule that colours the tasks at first.
    exchanged : bool
        Whether other schedules will take the place of these, as `exchange.js` does it.
    """
    from bokeh.layouts import column
    from bokeh.models import CustomJS, Div, LinearColorMapper, Row, Select

    axes = time_axes(schedules)
    reasons = [one.waits for one in schedules]
    coloured = rules(schedules, reasons)
    first: Rule = coloured[chosen]
    mapper = LinearColorMapper(palette=first.palette, low=-0.5, high=len(first.palette) - 0.5)
    picker = Select(title="colour by", value=first.name, options=[rule.name for rule in coloured], width=150)
    legend = Div(text=first.legend, disable_math=True, sizing_mode="stretch_width")
    draw = CustomJS(code=script("draw.js"), name="draw")
    charts: list[dict[str, Any]] = []
    # Once per graph: the names of many tasks are the largest part of a page.
    labels = {id(one.graph): texts(one) for one in schedules}
    place = list(labels).index
    figures: list[Any] = []
    for number, (one, why) in enumerate(zip(schedules, reasons, strict=True)):
        placed, x_range, unit = rows(one), axes.of[number], axes.units[number]
        figure, parts = gantt_figure(placed, x_range, mapper, unit, number)
        parts |= add_picture(figure, max(one.n_cores, 1), number)
        add_hover(figure, parts.pop("boxes"), draw, number)
        codes = [rule.codes[number] for rule in coloured]
        own = {"texts": place(id(one.graph)), "lines": [], "range": x_range}
        charts.append({**parts, **chart_columns(one, placed, why, codes, unit), **own})
        add_aborted(figure, charts[-1]["aborted"], number)
        figures += [_title(one, number), figure]
    below = panels(schedules, charts, axes.shared, draw, exchanged)
    draw.args = {
        "charts": charts,
        "texts": list(labels.values()),
        "range": axes.shared,
        "time": axes.unit,
        "picker": picker,
        "legend": legend,
        "mapper": mapper,
        "rules": chosen_by(coloured),
    }
    axes.connect(draw, below[-1])
    _connect(draw, axes.shared, picker, figures[1])
    choices = [picker] if axes.switch is None else [picker, axes.switch]
    controls = Row(
        children=[*choices, *_buttons(axes.shared)],
        styles={"flex-wrap": "wrap"},
        sizing_mode="stretch_width",
    )
    return column(controls, legend, *figures, *below, sizing_mode="stretch_width")


def chart_columns(
    schedule: Schedule, placed: Rows, waits: pd.DataFrame, codes: Sequence[Array], unit: TimeUnit
) -> dict[str, Any]:
    """Return all that the scripts draw and show of a schedule; `codes` are its colours by each rule."""
    return {
        "tasks": task_columns(schedule, waits, codes, unit),
        "teams": team_columns(schedule, placed),
        "aborted": aborted_columns(schedule, placed, unit),
        "lost": lost_columns(schedule, unit),
        "unit": unit.name,
        "parts": list(PARTS.items()),
        "reasons": list(REASONS),
    }


def chosen_by(coloured: Sequence[Rule]) -> list[dict[str, Any]]:
    """Return the palettes and legends to choose from."""
    return [{"palette": rule.palette, "legend": rule.legend} for rule in coloured]


def title(schedule: Schedule) -> str:
    """Return the markup above a chart."""
    return f"<b>{text(gantt_title(schedule))}</b>"


def _title(schedule: Schedule, number: int) -> Any:
    """Return the title as text of the page, which wraps on a phone and is read aloud."""
    from bokeh.models import Div

    return Div(text=title(schedule), disable_math=True, sizing_mode="stretch_width", name=f"title {number}")


def _connect(draw: CustomJS, x_range: Range1d, picker: Any, figure: Any) -> None:
    # The width is known when the page is laid out: the first moment at which there is something to draw on.
    figure.js_on_change("inner_width", draw)
    x_range.js_on_change("start", draw)
    x_range.js_on_change("end", draw)
    picker.js_on_change("value", draw)


def _buttons(x_range: Range1d) -> list[Any]:
    from bokeh.models import Button, CustomJS

    buttons = []
    for label, move in MOVES.items():
        button = Button(label=label, align="end", width_policy="min", stylesheets=[FOCUS])
        button.js_on_event("button_click", CustomJS(args={"range": x_range}, code=MOVE.format(move=move)))
        buttons.append(button)
    return buttons
