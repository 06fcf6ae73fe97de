"""Gantt chart of a schedule: the tasks on each core over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import commonprefix
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.drawing import Axes
from simsched.errors import SimschedError
from simsched.graph.taskgraph import Seconds
from simsched.plots.canvas import Colouring, colouring, outside_legend, plain, set_title, shown_axes, verbatim
from simsched.plots.rectangles import (
    Rectangles,
    TeamRuns,
    count_rectangles,
    density,
    of_teams,
    rectangles,
    team_runs,
)
from simsched.schedule import Schedule
from simsched.schedule.runs import first_start_s
from simsched.text import counted
from simsched.units import TimeUnit, format_time, time_unit

#: More labels than these would overlap in a chart of 7 inches; rows are numbered then.
MOST_NAMED = 32
LONGEST_NAME = 24


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Write a name next to each row, the first at the top."""
    ax.set_yticks(range(len(names)), short_names(names), fontsize="small", parse_math=False, usetex=False)


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without their common path; of a long one, its end.

    Examples
    --------
    >>> short_names(["/host:0/CPU:0 lane 0", "/host:0/CPU:0 lane 1"])
    ['CPU:0 lane 0', 'CPU:0 lane 1']
    """
    shared = commonprefix(list(names)).rfind("/") + 1  # noqa: RUF071 - names that end alike are not folders
    return [plain(_end(name[shared:] or name)) for name in names]


def _end(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else "…" + name[1 - LONGEST_NAME :]


# Above this many rectangles each is far below a pixel, and an image shows the same.
MAX_RECTANGLES = 100_000
BINS = 1500
# Below this a thin white outline separates neighbours of one colour.
MAX_OUTLINED = 3000
#: Look of runs that were aborted.
ABORTED: dict[str, Any] = {"facecolor": "white", "edgecolor": "0.55", "hatch": "////", "linewidth": 0.3}
#: Of charts above each other: spans that differ by more times have a time axis each.
APART_TIMES = 3.0
# Of the time axis; an outline would hide a rectangle that is narrower.
LEAST_OUTLINED = 1 / 400


def gantt(
    schedule: Schedule,
    ax: Axes | None = None,
    *,
    color: str | npt.ArrayLike = "kind",
    max_rows: int | None = None,
    title: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw every task over its cores, or the lanes of a recording; the first is at the top. Aborted runs are hatched.

    Charts of more than 100,000 rectangles are drawn as an image of cores by 1,500 bins of time, in which the
    colour of a point is the mean of the colours of the tasks there, and white is idle time.

    Parameters
    ----------
    schedule : Schedule
    ax : Axes, optional
        Where to draw; a new figure when not given.
    color : str or array_like of float, shape (n,)
        "kind" (the 8 kinds that hold most core-seconds, and the others grey), "executor" (colours repeat
        after 8), "critical" (the tasks of a longest path through the graph, each task alone on its width),
        "depth", or one number per task, shown by a colour bar; NaN is grey.
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

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], kinds=["Conv2D", "MatMul", "MatMul"])
    >>> ax = ss.plots.gantt(ss.simulate(graph, "generic[cores=2]", "critical-path"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['MatMul', 'Conv2D']
    """
    if max_rows is not None and max_rows < 1:
        raise SimschedError(f"max_rows={max_rows}: draw at least one core")
    rows = shown_rows(schedule, max_rows)
    ax = shown_axes(figure_size(rows), ax)
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
    color: str | npt.ArrayLike | Colouring = "kind",
    rows: int,
    title: str | None = None,
    legend: bool = True,
    max_rectangles: int = MAX_RECTANGLES,
    bins: int = BINS,
    span_s: tuple[float, float] | None = None,
) -> None:
    """Draw on `ax`; see `gantt`. Above `max_rectangles` an image of `bins` columns replaces them.

    The time axis is `span_s`, from the first start to the last finish when not given.
    """
    chart = _Chart(
        schedule,
        ax,
        colouring(schedule, color),
        team_runs(schedule.teams, rows),
        rows,
        own_span_s(schedule) if span_s is None else span_s,
    )
    note = ""
    if count_rectangles(schedule, chart.runs) > max_rectangles:
        chart.image(bins)
        note = f"; one column: {format_time((chart.span_s[1] - chart.span_s[0]) / bins)}, colours blended"
    else:
        chart.rectangles()
    chart.aborted()
    chart.frame(note)
    set_title(ax, plain(gantt_title(schedule) if title is None else title, 200))
    if legend:
        chart.explain_colours()


def own_span_s(schedule: Schedule) -> tuple[float, float]:
    """Return the first start and the last finish."""
    if not schedule.graph.n_tasks:
        return 0.0, 0.0
    return first_start_s(schedule), float(schedule.finish_s.max())


def spans_differ(schedules: Iterable[Schedule]) -> bool:
    """Return whether the longest schedule takes more than three times as long as the shortest that takes time."""
    spans_s = [one.makespan_s for one in schedules if one.makespan_s > 0]
    return bool(spans_s) and max(spans_s) > APART_TIMES * min(spans_s)


def made_by(schedule: Schedule) -> str:
    """Return the origin of the schedule: policy, machine and layout, as far as they are known."""
    made = schedule.policy or "schedule"
    if schedule.machine is not None:
        made += f" on {schedule.machine.spec}"
    if schedule.layout:
        made += f", {schedule.layout}"
    return made


def gantt_title(schedule: Schedule) -> str:
    """Return the default title: policy, machine and layout, makespan and utilization."""
    makespan, busy = format_time(schedule.makespan_s), f"{100 * schedule.utilization:.0f} %"
    aborted = f", {counted(len(schedule.lost), 'aborted run')}" if len(schedule.lost) else ""
    return f"{made_by(schedule)}: makespan {makespan}, utilization {busy}{aborted}"


@dataclass(frozen=True, eq=False)
class _Chart:
    """The content of a drawing, and its place."""

    schedule: Schedule
    ax: Axes
    colours: Colouring
    runs: TeamRuns
    rows: int
    span_s: tuple[float, float]

    @cached_property
    def unit(self) -> TimeUnit:
        """Unit of the time axis."""
        return time_unit(self.span_s[1] - self.span_s[0])

    @property
    def limits(self) -> tuple[float, float]:
        """Ends of the time axis; one unit long where no time passes."""
        left, right = (seconds * self.unit.per_s for seconds in self.span_s)
        return left, right if right > left else left + 1

    def rectangles(self) -> None:
        """Draw every rectangle."""
        from matplotlib.collections import PolyCollection

        boxes = rectangles(self.schedule, self.runs)
        left, right = self.schedule.start_s[boxes.task], self.schedule.finish_s[boxes.task]
        corners = self.corners(boxes, left, right)
        edges: dict[str, Any] = {"edgecolors": "none"}
        if len(boxes) <= MAX_OUTLINED:
            least = LEAST_OUTLINED * (self.limits[1] - self.limits[0])
            shown = (right - left) * self.unit.per_s >= least
            edges = {"edgecolors": "white", "linewidths": np.where(shown, 0.3, 0.0)}
        drawn = PolyCollection(corners, facecolors=self.colours.rgb[boxes.task], **edges)  # type: ignore[arg-type] # corners in one array are faster
        self.ax.add_collection(drawn, autolim=False)

    def corners(self, boxes: Rectangles, left_s: Seconds, right_s: Seconds) -> Seconds:
        """Return the corners of rectangles, shape (rectangles, 4, 2)."""
        # A gap between rows separates teams, as long as a row is a few pixels high.
        gap = 0.06 if self.rows <= 128 else 0.0
        left, right = left_s * self.unit.per_s, right_s * self.unit.per_s
        top, bottom = boxes.first - 0.5 + gap, boxes.first + boxes.length - 0.5 - gap
        return np.stack([left, top, left, bottom, right, bottom, right, top], axis=1).reshape(-1, 4, 2)

    def aborted(self) -> None:
        """Draw runs that were aborted."""
        from matplotlib.collections import PolyCollection

        if not len(lost := self.schedule.lost):
            return
        boxes = of_teams(lost.team, self.runs)
        corners = self.corners(boxes, lost.start_s[boxes.task], lost.end_s[boxes.task])
        drawn = PolyCollection(corners, **ABORTED)  # type: ignore[arg-type] # corners in one array are faster
        self.ax.add_collection(drawn, autolim=False)

    def image(self, bins: int) -> None:
        """Draw the mean colour of each core and bin of time."""
        # Each task takes away from white what its colour lacks, for the share of the bin it fills.
        image = 1.0 + density(
            self.schedule,
            self.runs,
            self.colours.rgb - 1.0,
            rows=self.rows,
            bins=bins,
            span_s=self.span_s,
        )
        extent = (*self.limits, self.rows - 0.5, -0.5)
        self.ax.imshow(np.clip(image, 0.0, 1.0), extent=extent, aspect="auto", interpolation="antialiased")

    def frame(self, note: str) -> None:
        """Draw the axes, with a note next to the unit of time."""
        from matplotlib.ticker import MaxNLocator

        ax, n_cores = self.ax, self.schedule.n_cores
        ax.set_xlim(*self.limits)
        ax.set_ylim(self.rows - 0.5, -0.5)
        names = self.schedule.lane_names
        named = bool(names) and self.rows <= MOST_NAMED
        what = "lane" if names else "core"
        if named:
            _name_rows(ax, names[: self.rows])
        else:
            ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.set_xlabel(f"time ({self.unit.name}){note}")
        if self.rows < n_cores:
            ax.set_ylabel(f"{what} (first {self.rows} of {n_cores})")
        elif not named:
            ax.set_ylabel(what)
        ax.spines[["top", "right"]].set_visible(False)
        if not self.schedule.graph.n_tasks:
            ax.text(0.5, 0.5, "no tasks", transform=ax.transAxes, ha="center", va="center")

    def explain_colours(self) -> None:
        """Draw the legend or the colour bar."""
        from matplotlib.patches import Patch

        groups, aborted = self.colours.groups, [Patch(**ABORTED)] if len(self.schedule.lost) else []
        if self.colours.bar is not None:
            bar = self.ax.figure.colorbar(self.colours.bar, ax=self.ax, pad=0.01)
            bar.set_label(plain(self.colours.bar_label))
            verbatim(bar.ax.yaxis.label)
        elif groups:
            patches = [Patch(color=rgb) for _, rgb in groups] + aborted
            outside_legend(self.ax, patches, [name for name, _ in groups] + ["aborted"] * len(aborted))
