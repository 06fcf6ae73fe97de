"""Busy cores over time: each counts once, however many of its threads run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.graph.adjacency import entries
from simsched.policy.rank_policy import FAIR
from simsched.schedule.runs import Runs
from simsched.schedule.steps import Steps

if TYPE_CHECKING:
    from simsched.schedule.schedule import Schedule


def busy_cores(schedule: Schedule, n_cores: int) -> Steps:
    """Return the number of busy cores over time.

    Where running threads have equal shares of all cores (docs/semantics.md, Fair shares), as many are busy as threads
    run, or all.

    Parameters
    ----------
    schedule : Schedule
    n_cores : int
        Cores that can be busy. Threads whose numbers differ by a multiple of it are on the same one: `Machine.n_cores`
        counts cores, `Schedule.n_cores` hardware threads.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 3.0])
    >>> machine, policy = "knl-7250[cores=2,smt=2,contention=false]", "fifo[placement=dense]"
    >>> schedule = ss.simulate(graph, machine, policy, "2x1", runtime=ss.RuntimeProfile())
    >>> busy_cores(schedule, 2).level.tolist(), busy_cores(schedule, 4).level.tolist()
    ([1, 1, 0], [2, 1, 0])
    """
    runs, teams = Runs.of(schedule), schedule.teams
    running = Steps.of(runs.start_s, runs.end_s, teams.degrees()[runs.team].astype(np.int64))
    if schedule.inputs is not None:
        if getattr(schedule.inputs.policy, "oversubscribe", False) == FAIR:
            return Steps(running.time_s, np.minimum(running.level, n_cores))
        # In a recording, tasks of one lane may overlap.
        if len(np.unique(teams.indices % n_cores)) == len(teams.indices):
            return running
    run, thread = entries(teams, runs.team)
    core = thread % n_cores
    order = np.lexsort((runs.start_s[run], core))
    run, core = run[order], core[order].astype(np.int64)
    distinct, place = np.unique(runs.end_s[run], return_inverse=True)
    # Until when each core is busy with this run and those begun before: cores ascend, so none exceeds the next one's.
    until_s = distinct[np.maximum.accumulate(core * len(distinct) + place.ravel()) % len(distinct)]
    begin_s = runs.start_s[run]
    same = core[1:] == core[:-1]
    begin_s[1:][same] = np.maximum(begin_s[1:], until_s[:-1])[same]
    return Steps.of(begin_s, until_s, np.ones(len(core), np.int64))


def what_runs(schedule: Schedule) -> str:
    """Return what `Schedule.n_cores` counts: "hardware threads" where several of a core are in use, else "cores".

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0])
    >>> [what_runs(ss.simulate(graph, machine, "fifo")) for machine in ("knl-7250", "knl-7250[smt=2]")]
    ['cores', 'hardware threads']
    """
    machine = schedule.machine
    return "hardware threads" if machine is not None and schedule.n_cores > machine.n_cores else "cores"
