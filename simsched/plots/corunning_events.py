"""How many tasks run at every start and finish: Fig. 4 of concurrency control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.plots.canvas import plain, set_title, shown_axes
from simsched.plots.gantt import gantt_title
from simsched.schedule.events import Events

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.schedule import Schedule


def corunning_events_frame(schedule: Schedule) -> pd.DataFrame:
    """Return how many tasks run at every start and finish.

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
    import pandas as pd

    events = Events.of(schedule)
    return pd.DataFrame({
        "time_s": events.time_s,
        "event": np.where(events.starts, "start", "finish"),
        "task": events.task,
        "tasks_running": events.running,
    })  # fmt: skip


def corunning_events(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Draw how many tasks run at every start and finish, event by event; see `corunning_events_frame`.

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
    ax = shown_axes((10.0, 3.2), ax)
    running = Events.of(schedule).running
    mean = float(running.mean()) if len(running) else 0.0
    ax.plot(
        np.arange(1, len(running) + 1), running, drawstyle="steps-mid", color="#0072B2", linewidth=1,
        label="tasks running",
    )  # fmt: skip
    ax.axhline(mean, color="#D55E00", linestyle="--", linewidth=1, label=f"mean {mean:.3g}")
    ax.set_xlim(0, len(running) + 1)
    ax.set_ylim(0, 1.05 * max(int(running.max(initial=0)), 1))
    ax.set_xlabel("starts and finishes")
    ax.set_ylabel("tasks running")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small", frameon=False
    )
    set_title(ax, plain(gantt_title(schedule), 200))
    return ax
