"""A measured and a simulated schedule of one graph, one above the other on one time axis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simsched.plots.gantt import draw, own_span_s, shown_rows
from simsched.plots.palette import colouring
from simsched.plots.svg import inline_svg
from simsched.units import format_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simsched.schedule import Schedule


def pair_svg(measured: Schedule, simulated: Schedule, width: int = 900, max_rectangles: int = 1000) -> str:
    """Return both Gantt charts as one `<svg>` element; a kind has one colour in both, each starts at 0.

    Parameters
    ----------
    measured, simulated : Schedule
        Of one graph.
    width : int
        Width in CSS pixels.
    max_rectangles : int
        Charts of more hold an image instead.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    both = {
        "measured, the run nearest to the median": _from_zero(measured),
        "simulated": _from_zero(simulated),
    }
    rows = max(shown_rows(schedule) for schedule in both.values())
    span_s = (0.0, max(own_span_s(schedule)[1] for schedule in both.values()))
    colours = colouring(measured, "kind")

    def charts(figure: Figure) -> None:
        axes = figure.subplots(2, 1, sharex=True)
        for ax, (name, schedule) in zip(axes, both.items(), strict=True):
            title = f"{name}: {format_time(schedule.makespan_s)}"
            draw(
                schedule, ax, color=colours, rows=rows, title=title, legend=ax is axes[0],
                max_rectangles=max_rectangles, bins=width, span_s=span_s,
            )  # fmt: skip
        axes[0].set_xlabel("")

    # Each chart is as high as the legend beside the upper one.
    height = min(90 + 2 * max(8 * rows, 15 * len(colours.groups), 45), width)
    return inline_svg(charts, width, height, "Gantt charts, measured above simulated")


def _from_zero(schedule: Schedule) -> Schedule:
    first_s = own_span_s(schedule)[0]
    return replace(
        schedule,
        ready_s=schedule.ready_s - first_s,
        start_s=schedule.start_s - first_s,
        finish_s=schedule.finish_s - first_s,
    )
