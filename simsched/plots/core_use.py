"""Use of each core by a schedule, on the machine's drawing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.errors import SimschedError
from simsched.plots.machine import draw_machine
from simsched.schedule import Schedule

#: Values that colour cores: the column, its label, and its text.
VALUES = {
    "busy_share": ("busy (% of the makespan)", 100.0),
    "busy_s": ("busy (s)", 1.0),
    "tasks": ("tasks", 1.0),
}


def core_use_frame(schedule: Schedule) -> pd.DataFrame:
    """Return the use of each core.

    Parameters
    ----------
    schedule : Schedule
        Schedule on a machine known to simsched.

    Returns
    -------
    DataFrame
        One row per core: core; tile, domain (where it is); tasks (that it took part in); busy_s (seconds in which tasks
        held it, those of its hardware threads added up); busy_share (of the makespan, over its hardware threads in
        use): the mean over all cores is `Schedule.utilization`.

    Raises
    ------
    SimschedError
        If the machine is unknown.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> schedule = ss.simulate(graph, "generic[cores=2]", "critical-path")
    >>> core_use_frame(schedule)["busy_share"].tolist()
    [1.0, 0.5]
    """
    machine, teams = schedule.require_machine(), schedule.teams
    n_teams, of_team = len(teams.degrees()), teams.sources()
    held_s = np.bincount(schedule.team, schedule.finish_s - schedule.start_s, n_teams)
    tasks = np.bincount(schedule.team, minlength=n_teams)
    cores = teams.indices % machine.n_cores
    busy_s = np.bincount(cores, held_s[of_team], machine.n_cores)
    ways = schedule.n_cores / machine.n_cores
    return pd.DataFrame(
        {
            "core": np.arange(machine.n_cores),
            "tile": machine.structure.tile_of,
            "domain": machine.structure.domain_of,
            "tasks": np.bincount(cores, tasks[of_team], machine.n_cores).astype(np.int64),
            "busy_s": busy_s,
            "busy_share": busy_s / (schedule.makespan_s * ways) if schedule.makespan_s else 0.0 * busy_s,
        }
    )


def core_use(schedule: Schedule, ax: Axes | None = None, value: str = "busy_share") -> Axes:
    """Draw the machine of a schedule, its cores coloured by their use; see `core_use_frame`.

    Any other number per core is drawn by `Machine.draw(values=...)`.

    Parameters
    ----------
    schedule : Schedule
    ax : Axes, optional
        Where to draw; a new figure when not given.
    value : str
        The column: "busy_share", from 0 to 100 %; "busy_s" or "tasks", from 0 to the largest.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If the machine or the column is unknown.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> core_use(ss.simulate(graph, "generic[cores=2]", "critical-path")).get_title(loc="left").split(":")[0]
    'generic[cores=2]'
    """
    if value not in VALUES:
        raise SimschedError(f"value={value!r} is unknown; give one of {', '.join(VALUES)}")
    label, factor = VALUES[value]
    shown = factor * core_use_frame(schedule)[value].to_numpy(np.float64)
    most = 100.0 if value == "busy_share" else float(shown.max())
    return draw_machine(schedule.require_machine(), ax, shown, label, limits=(0.0, most))
