"""Several schedules of one graph above each other: on a common time axis, or one each if spans differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Literal, get_args

from simsched.drawing import Axes, Figure
from simsched.errors import SimschedError
from simsched.files import replacing
from simsched.plots.canvas import Size, colouring, require_matplotlib
from simsched.plots.gantt import (
    BINS,
    MAX_RECTANGLES,
    draw,
    figure_size,
    made_by,
    own_span_s,
    shown_rows,
    spans_differ,
)
from simsched.plots.picture import MAX_VECTOR_RECTANGLES, METADATA, inline_svg, quiet_canvas, save, write_png
from simsched.schedule import Schedule
from simsched.text import counted
from simsched.units import format_time

#: Time axis of a chart; "auto": separate ones where spans differ by more than three times.
TimeAxis = Literal["auto", "one", "own"]
#: Of a figure of several charts, in inches.
HIGHEST_IN = 14.0
#: A notebook keeps every still picture it ever showed: charts of more are an image of bins.
MAX_STILL_RECTANGLES = 20_000


def stacked(
    schedules: Mapping[str, Schedule],
    axes: Sequence[Axes] | None = None,
    *,
    color: str = "kind",
    time_axis: TimeAxis = "auto",
) -> Sequence[Axes]:
    """Draw schedules of one graph one above the other; each starts at 0, and a kind has one colour in all.

    They share a time axis. If the longest takes more than three times as long as the shortest, which would be a thin
    strip there, each has its own axis, with a remark.

    Parameters
    ----------
    schedules : mapping of str to Schedule
        Names and schedules, from the top.
    axes : sequence of Axes, optional
        As many, to draw on; those of a new figure when not given.
    color : str
        As for `gantt`.
    time_axis : {"auto", "one", "own"}
        One time axis for all, or one for each chart; see above.

    Returns
    -------
    sequence of Axes

    Raises
    ------
    SimschedError
        If there are none, their graphs differ in their number of tasks, there are not as many axes, or `time_axis` is
        impossible.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> both = {p: ss.simulate(graph, "generic[cores=2]", p) for p in ("sequential", "critical-path")}
    >>> [ax.get_title(loc="left") for ax in ss.plots.stacked(both)]
    ['sequential: 6 s', 'critical-path: 4 s']
    """
    _require_alike(schedules)
    if time_axis not in get_args(TimeAxis):
        raise SimschedError(
            f"time_axis={time_axis!r} is unknown; give one of {', '.join(get_args(TimeAxis))}"
        )
    own = time_axis == "own" or (time_axis == "auto" and spans_differ(schedules.values()))
    if axes is None:
        axes = _new_axes(schedules, own)
    if len(axes) != len(schedules):
        raise SimschedError(f"{len(axes)} axes for {counted(len(schedules), 'schedule')}; give one for each")
    _draw(schedules, axes, own, color, MAX_RECTANGLES, BINS)
    return axes


def stacked_svg(schedules: Mapping[str, Schedule], width: int = 900, max_rectangles: int = 1000) -> str:
    """Return the charts as one `<svg>` element.

    Parameters
    ----------
    schedules : mapping of str to Schedule
        Names and schedules, from the top.
    width : int
        Width in CSS pixels.
    max_rectangles : int
        Charts of more hold an image instead.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    _require_alike(schedules)
    first, count = next(iter(schedules.values())), len(schedules)
    own = spans_differ(schedules.values())
    rows = max(shown_rows(schedule) for schedule in schedules.values())

    def charts(figure: Figure) -> None:
        _draw(schedules, _below_each_other(figure, count, own), own, "kind", max_rectangles, width)

    # Each chart is as high as the legend next to the upper one, and as the text below an axis.
    each = max(8 * rows, 15 * len(colouring(first, "kind").groups), 45) + 25 * own
    height = min(90 + count * each, width)
    return inline_svg(charts, width, height, f"Gantt charts, from the top: {', '.join(schedules)}")


def save_stacked(schedules: Mapping[str, Schedule], path: Path) -> None:
    """Write the charts by the suffix of `path`: .png, .svg or .pdf.

    Raises
    ------
    SimschedError
        If the suffix is none of these, the schedules are not of one graph, or the file cannot be written.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise SimschedError(f"{path}: pictures are written as {', '.join(f'.{known}' for known in METADATA)}")
    _require_alike(schedules)
    width, height = _size(schedules)
    own = spans_differ(schedules.values())
    with quiet_canvas((width, height)) as figure:
        axes = _below_each_other(figure, len(schedules), own)
        _draw(schedules, axes, own, "kind", MAX_RECTANGLES if kind == "png" else MAX_VECTOR_RECTANGLES, BINS)
        with replacing(path) as file:
            save(figure, file, kind)


def write_still(schedules: Sequence[Schedule], file: IO[bytes]) -> None:
    """Write schedules of any graphs above each other to `file` as PNG, to replace an interactive chart.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    several = len(schedules) > 1
    named = {f"{place}. " * several + made_by(one): one for place, one in enumerate(schedules, 1)}
    own = spans_differ(schedules)
    with quiet_canvas(_size(named)) as figure:
        axes = _below_each_other(figure, len(named), own)
        if len({id(one.graph) for one in schedules}) == 1:
            _draw(named, axes, own, "kind", MAX_STILL_RECTANGLES, BINS)
        else:
            for ax, (name, one) in zip(axes, named.items(), strict=True):
                _draw({name: one}, [ax], own, "kind", MAX_STILL_RECTANGLES, BINS)
        write_png(figure, file)


def _require_alike(schedules: Mapping[str, Schedule]) -> None:
    if not isinstance(schedules, Mapping):
        raise SimschedError(
            f"schedules is {schedules!r:.80}; expected schedules by name, as {{'fifo': schedule}}"
        )
    sizes = {schedule.graph.n_tasks for schedule in schedules.values()}
    if len(sizes) != 1:
        what = f"graphs of {' and '.join(map(str, sorted(sizes)))} tasks" if sizes else "none"
        raise SimschedError(f"schedules of one graph can stand above each other; these are of {what}")


def _new_axes(schedules: Mapping[str, Schedule], own: bool) -> Sequence[Axes]:
    require_matplotlib()
    import matplotlib.pyplot as plt

    return _below_each_other(plt.figure(figsize=_size(schedules), layout="constrained"), len(schedules), own)


def _below_each_other(figure: Figure, count: int, own: bool) -> Sequence[Axes]:
    """Return so many axes, which share their time unless each has its own."""
    return list(figure.subplots(count, 1, sharex=not own, squeeze=False)[:, 0])


def _size(schedules: Mapping[str, Schedule]) -> Size:
    width, height = figure_size(max(shown_rows(schedule) for schedule in schedules.values()))
    return width, min(len(schedules) * height, HIGHEST_IN)


def _draw(
    schedules: Mapping[str, Schedule],
    axes: Sequence[Axes],
    own: bool,
    color: str,
    max_rectangles: int,
    bins: int,
) -> None:
    moved = {name: _from_zero(schedule) for name, schedule in schedules.items()}
    rows = max(shown_rows(schedule) for schedule in moved.values())
    longest_s = max(own_span_s(schedule)[1] for schedule in moved.values())
    colours = colouring(next(iter(moved.values())), color)
    for ax, (name, schedule) in zip(axes, moved.items(), strict=True):
        draw(
            schedule, ax, color=colours, rows=rows, title=f"{name}: {format_time(schedule.makespan_s)}",
            legend=ax is axes[0], max_rectangles=max_rectangles, bins=bins,
            span_s=None if own else (0.0, longest_s),
        )  # fmt: skip
        if own:
            ax.set_xlabel(f"{ax.get_xlabel()}, an axis of its own")
        elif ax is not axes[-1]:
            ax.set_xlabel("")


def _from_zero(schedule: Schedule) -> Schedule:
    first_s = own_span_s(schedule)[0]
    return replace(
        schedule,
        ready_s=schedule.ready_s - first_s,
        start_s=schedule.start_s - first_s,
        finish_s=schedule.finish_s - first_s,
    )
