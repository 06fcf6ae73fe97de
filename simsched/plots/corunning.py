"""Tasks running and cores busy over time, and tasks running at every start and finish, as one paper shows them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import open_axes, plain, set_title
from simsched.plots.gantt import gantt_title
from simsched.schedule import Schedule
from simsched.schedule.runs import Events, Runs
from simsched.schedule.steps import what_runs
from simsched.units import time_unit


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
