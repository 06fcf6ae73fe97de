"""Gantt chart of a schedule: what ran on which core, when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.errors import SimschedError
from simsched.plots.canvas import outside_legend, plain, set_title, shown_axes, verbatim
from simsched.plots.density import density
from simsched.plots.palette import Colouring, colouring
from simsched.plots.rectangles import TeamRuns, count_rectangles, rectangles, team_runs
from simsched.plots.units import TimeUnit, format_time, time_unit

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from simsched.schedule import Schedule

# Above this many rectangles each is far below a pixel, and an image says the same.
MAX_RECTANGLES = 100_000
BINS = 1500


def gantt(
    schedule: Schedule,
    ax: Axes | None = None,
    *,
    color: str | npt.ArrayLike = "kind",
    max_rows: int | None = None,
    title: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw every task over the cores that ran it; core 0 is at the top.

    Charts of more than 100,000 rectangles are drawn as an image of cores by 1,500 bins of time, in which the
    colour of a point is the mean of the colours of the tasks there, and white stands for idle time.

    Parameters
    ----------
    schedule : Schedule
    ax : Axes, optional
        Where to draw; a new figure when not given.
    color : str or array_like of float, shape (n,)
        "kind" (the 8 kinds that hold most core-seconds, and the others grey), "executor" (colours repeat after
        8), "critical" (the tasks of a longest path through the graph, each task alone on its width), "depth",
        or one number a task, shown by a colour bar; NaN is grey.
    max_rows : int, optional
        Draw the first `max_rows` cores only.
    title : str, optional
        Policy, machine, layout, makespan and utilization when not given.
    legend : bool
        Draw the legend or the colour bar.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If `color` or `max_rows` is impossible.
    MissingExtraError
        If matplotlib is not installed.
    """
    if max_rows is not None and max_rows < 1:
        raise SimschedError(f"max_rows={max_rows}: draw at least one core")
    rows = shown_rows(schedule, max_rows)
    ax = shown_axes(figure_size(rows)) if ax is None else ax
    draw(schedule, ax, color=color, rows=rows, title=title, legend=legend)
    return ax


def shown_rows(schedule: Schedule, max_rows: int | None = None) -> int:
    """Return the number of rows of a chart."""
    return max(schedule.n_cores if max_rows is None else min(schedule.n_cores, max_rows), 1)


def figure_size(rows: int) -> tuple[float, float]:
    """Return a figure's width and height in inches for a chart of `rows` cores."""
    return 10.0, min(max(1.6 + 0.12 * rows, 2.4), 7.0)


def draw(
    schedule: Schedule,
    ax: Axes,
    *,
    color: str | npt.ArrayLike = "kind",
    rows: int,
    title: str | None = None,
    legend: bool = True,
    max_rectangles: int = MAX_RECTANGLES,
    bins: int = BINS,
) -> None:
    """Draw on `ax`; see `gantt`. Above `max_rectangles` an image of `bins` columns stands for them."""
    colours = colouring(schedule, color)
    runs = team_runs(schedule.teams, rows)
    span = _span(schedule)
    unit = time_unit(span[1] - span[0])
    if count_rectangles(schedule, runs) > max_rectangles:
        _draw_image(schedule, ax, runs, colours, rows, bins, span, unit)
    else:
        _draw_rectangles(schedule, ax, runs, colours, rows, unit)
    _frame(ax, schedule, rows, span, unit)
    set_title(ax, plain(gantt_title(schedule) if title is None else title, 200))
    if legend:
        _explain_colours(ax, colours)


def gantt_title(schedule: Schedule) -> str:
    """Return the default title: how it was scheduled, makespan and utilization."""
    made = schedule.policy or "schedule"
    if schedule.machine is not None:
        made += f" on {schedule.machine.spec}"
    if schedule.layout:
        made += f", {schedule.layout}"
    return f"{made}: makespan {format_time(schedule.makespan_s)}, utilization {100 * schedule.utilization:.0f} %"


def _span(schedule: Schedule) -> tuple[float, float]:
    if not schedule.graph.n_tasks:
        return 0.0, 0.0
    return float(schedule.start_s.min()), float(schedule.finish_s.max())


def _draw_rectangles(
    schedule: Schedule, ax: Axes, runs: TeamRuns, colours: Colouring, rows: int, unit: TimeUnit
) -> None:
    from matplotlib.collections import PolyCollection

    boxes = rectangles(schedule, runs)
    # A gap between rows tells teams apart, as long as a row is a few pixels high.
    gap = 0.06 if rows <= 128 else 0.0
    left, right = schedule.start_s[boxes.task] * unit.per_s, schedule.finish_s[boxes.task] * unit.per_s
    top, bottom = boxes.first - 0.5 + gap, boxes.first + boxes.length - 0.5 - gap
    corners = np.stack([left, top, left, bottom, right, bottom, right, top], axis=1).reshape(-1, 4, 2)
    few = len(boxes) <= 3000
    edges = {"edgecolors": "white", "linewidths": 0.3} if few else {"edgecolors": "none"}
    ax.add_collection(PolyCollection(corners, facecolors=colours.rgb[boxes.task], **edges), autolim=False)


def _draw_image(
    schedule: Schedule, ax: Axes, runs: TeamRuns, colours: Colouring, rows: int, bins: int,
    span: tuple[float, float], unit: TimeUnit,
) -> None:  # fmt: skip
    # Each task takes away from white what its colour lacks, for the share of the bin it fills.
    image = 1.0 + density(schedule, runs, rows, bins, colours.rgb - 1.0, span)
    left, right = span[0] * unit.per_s, span[1] * unit.per_s
    if right <= left:
        right = left + 1
    ax.imshow(
        np.clip(image, 0.0, 1.0), extent=(left, right, rows - 0.5, -0.5), aspect="auto",
        interpolation="antialiased",
    )  # fmt: skip


def _frame(ax: Axes, schedule: Schedule, rows: int, span: tuple[float, float], unit: TimeUnit) -> None:
    from matplotlib.ticker import MaxNLocator

    left, right = span[0] * unit.per_s, span[1] * unit.per_s
    ax.set_xlim(left, right if right > left else left + 1)
    ax.set_ylim(rows - 0.5, -0.5)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel(f"time ({unit.name})")
    ax.set_ylabel("core" if rows >= schedule.n_cores else f"core (first {rows} of {schedule.n_cores})")
    ax.spines[["top", "right"]].set_visible(False)
    if not schedule.graph.n_tasks:
        ax.text(0.5, 0.5, "no tasks", transform=ax.transAxes, ha="center", va="center")


def _explain_colours(ax: Axes, colours: Colouring) -> None:
    from matplotlib.patches import Patch

    if colours.bar is not None:
        bar = ax.figure.colorbar(colours.bar, ax=ax, pad=0.01)
        bar.set_label(plain(colours.bar_label))
        verbatim(bar.ax.yaxis.label)
    elif colours.groups:
        outside_legend(ax, [Patch(color=rgb) for _, rgb in colours.groups], [name for name, _ in colours.groups])
