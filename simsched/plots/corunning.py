"""Tasks running, cores busy and live bytes over time, and tasks running at every start and finish, as in one paper."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import open_axes, outside_legend, plain, set_title
from simsched.plots.gantt import gantt_title
from simsched.schedule import MemoryUse, Schedule
from simsched.schedule.runs import Events, Runs
from simsched.schedule.steps import what_runs
from simsched.units import format_bytes, time_unit


def corunning_frame(schedule: Schedule) -> pd.DataFrame:
    """Return the running tasks from each change to the next.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    DataFrame
        time_s
            Instants at which a task starts or finishes, ascending and distinct.
        tasks_running
            Tasks that run from then on; 0 in the last row.
        cores_busy
            Cores that they hold: the sum of their widths, so that a core that two tasks share counts twice.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> ss.plots.corunning_frame(ss.simulate(graph, "generic[cores=2]", "fifo")).values.tolist()
    [[0.0, 2.0, 2.0], [1.0, 2.0, 2.0], [2.0, 1.0, 1.0], [4.0, 0.0, 0.0]]
    """
    runs = Runs.of(schedule)
    widths = schedule.teams.degrees()[runs.team].astype(np.int64)
    times, where = np.unique(np.concatenate([runs.start_s, runs.end_s]), return_inverse=True)
    ones = np.ones(len(widths), np.int64)
    steps = [np.zeros(len(times), np.int64), np.zeros(len(times), np.int64)]
    np.add.at(steps[0], where, np.concatenate([ones, -ones]))
    np.add.at(steps[1], where, np.concatenate([widths, -widths]))
    return pd.DataFrame(
        {"time_s": times, "tasks_running": np.cumsum(steps[0]), "cores_busy": np.cumsum(steps[1])}
    )


def corunning(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Draw the numbers of running tasks and busy cores over time; see `corunning_frame`.

    Parameters
    ----------
    schedule : Schedule
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> ss.plots.corunning(ss.simulate(graph, "generic[cores=2]", "fifo")).get_xlabel()
    'time (s)'
    """
    ax = open_axes((10.0, 3.2), ax)
    frame, what = corunning_frame(schedule), what_runs(schedule)
    unit = time_unit(schedule.makespan_s)
    time = frame["time_s"].to_numpy() * unit.per_s
    busy = frame["cores_busy"].to_numpy()
    ax.fill_between(time, busy, step="post", color="#56B4E9", alpha=0.35, linewidth=0)
    # Wider than lines on top of it: tasks of one core are as many as their cores.
    ax.plot(time, busy, drawstyle="steps-post", color="#56B4E9", linewidth=3.5, label=f"{what} busy")
    ax.plot(
        time,
        frame["tasks_running"],
        drawstyle="steps-post",
        color="#D55E00",
        linewidth=1.5,
        label="tasks running",
    )
    ax.axhline(
        schedule.n_cores, color="black", linestyle=":", linewidth=1, label=f"{schedule.n_cores} {what}"
    )
    if len(time) and time[-1] > time[0]:
        ax.set_xlim(time[0], time[-1])
    ax.set_ylim(0, 1.05 * max(schedule.n_cores, int(busy.max(initial=0)), 1))
    ax.set(xlabel=f"time ({unit.name})", ylabel="count")
    ax.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small", frameon=False
    )
    set_title(ax, plain(gantt_title(schedule), 200))
    return ax


def corunning_events_frame(schedule: Schedule) -> pd.DataFrame:
    """Return the number of running tasks at every start and finish.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    DataFrame
        One row an event, in order of time; tasks of no length have none.

        time_s
            When.
        event
            `start` or `finish`; at one instant tasks finish before others start.
        task
            Index of the task.
        tasks_running
            Tasks that run then, the one that starts or finishes included. Their mean is
            `mean_corunning_at_events` of `Schedule.metrics`.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> events = ss.plots.corunning_events_frame(ss.simulate(graph, "generic[cores=2]", "fifo"))
    >>> events[["time_s", "event", "task"]].values.tolist()[-2:]
    [[2.0, 'finish', 1], [4.0, 'finish', 2]]
    """
    events = Events.of(schedule)
    return pd.DataFrame({
        "time_s": events.time_s,
        "event": np.where(events.starts, "start", "finish"),
        "task": events.task,
        "tasks_running": events.running,
    })  # fmt: skip


def corunning_events(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Draw the number of running tasks at every start and finish; see `corunning_events_frame`.

    Parameters
    ----------
    schedule : Schedule
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> ss.plots.corunning_events(ss.simulate(graph, "generic[cores=2]", "fifo")).get_xlabel()
    'starts and finishes'
    """
    ax = open_axes((10.0, 3.2), ax)
    running = Events.of(schedule).running
    mean = float(running.mean()) if len(running) else 0.0
    ax.plot(
        np.arange(1, len(running) + 1), running, drawstyle="steps-mid", color="#0072B2", linewidth=1,
        label="tasks running",
    )  # fmt: skip
    ax.axhline(mean, color="#D55E00", linestyle="--", linewidth=1, label=f"mean {mean:.3g}")
    ax.set_xlim(0, len(running) + 1)
    ax.set_ylim(0, 1.05 * max(int(running.max(initial=0)), 1))
    ax.set(xlabel="starts and finishes", ylabel="tasks running")
    ax.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small", frameon=False
    )
    set_title(ax, plain(gantt_title(schedule), 200))
    return ax


#: Places that are drawn, those with the highest peaks.
MOST_PLACES = 8
#: A size of more than so many times the highest peak is written and not drawn, as the bytes would be a line at 0.
FAR = 10


def memory_frame(use: MemoryUse) -> pd.DataFrame:
    """Return the bytes at each place over time, one row for each change: place, time_s, bytes_B (from then on).

    Parameters
    ----------
    use : MemoryUse
        From `Schedule.memory`.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], edge_bytes=4e6)
    >>> memory_frame(ss.simulate(graph, "generic[cores=2]", "fifo").memory()).values.tolist()
    [[0.0, 0.0, 4000000.0], [0.0, 3.0, 0.0]]
    """
    curves = [use.curve(place) for place in range(len(use.peak))]
    return pd.DataFrame({
        "place": np.repeat(np.arange(len(curves)), [len(times_s) for times_s, _ in curves]),
        "time_s": np.concatenate([times_s for times_s, _ in curves]),
        "bytes_B": np.concatenate([bytes_B for _, bytes_B in curves]),
    })  # fmt: skip


def memory(use: MemoryUse, ax: Axes | None = None) -> Axes:
    """Draw the bytes at each place over time, and the size of the place, where it is known, as a dashed line.

    A size far above the highest peak is in the legend only. Of more than eight places those with the highest peaks are
    drawn.

    Parameters
    ----------
    use : MemoryUse
        From `Schedule.memory`.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], edge_bytes=4e6)
    >>> ss.plots.memory(ss.simulate(graph, "generic[cores=2]", "fifo").memory()).get_ylabel()
    'live bytes (MB)'
    """
    ax = open_axes((10.0, 3.2), ax)
    peak, curves = use.peak, [use.curve(place) for place in range(len(use.peak))]
    shown = peak.sort_values("peak_B", ascending=False, kind="stable").head(MOST_PLACES).sort_index()
    sizes, most_B = set(shown["size_B"]), float(peak["peak_B"].max())
    end_s = max(float(times_s[-1]) for times_s, _ in curves)
    unit, (name, per_B) = time_unit(end_s), _byte_unit(most_B)
    lines = []
    for place in shown.index:
        times_s, bytes_B = curves[place]
        # Outputs stay: each curve goes on to the end.
        time = np.append(times_s, end_s) * unit.per_s
        lines += ax.plot(time, np.append(bytes_B, bytes_B[-1]) * per_B, drawstyle="steps-post", linewidth=1.5)
    labels = shown["name"].tolist()
    if len(sizes) == 1 and np.isfinite(size_B := sizes.pop()):
        lines.append(ax.axhline(size_B * per_B, color="black", linestyle="--", linewidth=1))
        labels.append("size of each" if len(peak) > 1 else "size")
        if size_B > FAR * most_B > 0:
            labels[-1] += f": {format_bytes(size_B)}, beyond the picture"
            ax.set_ylim(top=1.1 * most_B * per_B)
    ax.set_ylim(bottom=0)
    ax.set(xlabel=f"time ({unit.name})", ylabel=f"live bytes ({name})")
    outside_legend(ax, lines, labels)
    set_title(ax, plain(f"Memory of {use.graph.name}", 200))
    return ax


def _byte_unit(bytes_B: float) -> tuple[str, float]:
    """Return the largest unit in which some bytes are at least 1, and its number per byte."""
    units = (("TB", 1e-12), ("GB", 1e-9), ("MB", 1e-6), ("kB", 1e-3))
    return next((unit for unit in units if bytes_B * unit[1] >= 1), ("B", 1.0))
