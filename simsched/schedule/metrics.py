"""Numbers of a schedule, each defined in one line with its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.graph.longest_path import longest_path_to_sinks
from simsched.schedule.runs import Events, Runs
from simsched.schedule.steps import busy_cores

if TYPE_CHECKING:
    from simsched.machine.power import Power
    from simsched.schedule.schedule import Schedule


def metrics(schedule: Schedule) -> dict[str, float]:
    """Return the schedule's numbers.

    Returns
    -------
    dict
        makespan_s
            Seconds from the first start to the last finish.
        utilization
            Core-seconds held by runs that finished, over cores times makespan.
        critical_path_s
            Seconds of the longest path through the graph, each task alone on the width it ran with.
        work_core_s
            Core-seconds held by runs that finished.
        lost_core_s
            Core-seconds held by runs that were aborted.
        area_s
            Core-seconds of the tasks, each alone on the width it ran with, over the machine's cores.
        gap_to_bound
            Makespan over the larger of `critical_path_s` and `area_s`, minus 1.
        mean_corunning
            Tasks running at the same time, averaged over the makespan.
        mean_corunning_at_events
            Tasks running at a start or finish, the one that starts or finishes included, averaged over all of these;
            tasks of no length have none.
        max_corunning
            Most tasks running at the same time.
        cores_used
            Cores that ran at least one task.
        queue_wait_s
            Seconds between ready and start, less aborted runs, of all tasks; 0 of recorded ones that started before.
        energy_J
            Joules of the machine over the makespan (`Power`), where it says what it draws.
    """
    runs, lost = Runs.of(schedule), schedule.lost
    busy, lost_s = schedule.finish_s - schedule.start_s, lost.end_s - lost.start_s
    makespan = schedule.makespan_s
    path = float(longest_path_to_sinks(schedule.graph, schedule.alone_s).max(initial=0.0))
    area = float((schedule.alone_s * schedule.widths).sum()) / schedule.n_cores if schedule.n_cores else 0.0
    bound = max(path, area)
    running = Events.of(schedule).running
    found = {
        "makespan_s": makespan,
        "utilization": schedule.utilization,
        "critical_path_s": path,
        "work_core_s": float((busy * schedule.widths).sum()),
        "lost_core_s": lost.core_s(schedule.teams),
        "area_s": area,
        "gap_to_bound": makespan / bound - 1 if bound else 0.0,
        "mean_corunning": float((runs.end_s - runs.start_s).sum()) / makespan if makespan else 0.0,
        "mean_corunning_at_events": float(running.mean()) if len(running) else 0.0,
        "max_corunning": float(running.max(initial=0)),
        "cores_used": float(_cores_used(schedule, runs)),
        "queue_wait_s": float(np.maximum(schedule.start_s - schedule.ready_s, 0.0).sum() - lost_s.sum()),
    }
    if schedule.machine is not None and schedule.machine.power is not None:
        found["energy_J"] = _energy_J(schedule, schedule.machine.power, schedule.machine.n_cores)
    return found


def _cores_used(schedule: Schedule, runs: Runs) -> int:
    """Return how many cores, or lanes of an unknown machine, ran a task."""
    threads = [schedule.teams.neighbours(team) for team in np.unique(runs.team).tolist()]
    n_cores = schedule.n_cores if schedule.machine is None else schedule.machine.n_cores
    return len(np.unique(np.concatenate(threads) % n_cores)) if threads else 0


def _energy_J(schedule: Schedule, power: Power, n_cores: int) -> float:
    """Return the joules of a schedule; runs that were aborted draw power, too."""
    busy = busy_cores(schedule, n_cores)
    seconds, cores = np.diff(busy.time_s), busy.level[:-1]
    ran_s, core_s = float(seconds[cores > 0].sum()), float((seconds * cores).sum())
    return power.energy_J(schedule.makespan_s, ran_s, core_s / n_cores)
