"""How long the lanes of a measured schedule were away although tasks were ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.execute.recorded.gaps import Gaps, free_s

if TYPE_CHECKING:
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule import Schedule


def absences_s(schedule: Schedule, gaps: Gaps | None = None, *, own_tasks: bool = False) -> Seconds:
    """Return for how long each task's lane was away before it: ran nothing although a task was ready.

    An executor that is there takes a ready task within a usual dispatch. What lasts longer than
    `Gaps.longest_usual_s` is an absence: the thread slept, or the system gave its CPU to somebody else. Before the
    first task of a lane it counts from the start of the run; a lane that stays away to the end has no task to count
    it for.

    Parameters
    ----------
    schedule : Schedule
        Measured.
    gaps : Gaps, optional
        Of it.
    own_tasks : bool
        Whether a lane could take its own tasks only, and not whichever was ready.

    Returns
    -------
    float64 array, shape (n,)
        Seconds; 0 where there is no absence.

    Examples
    --------
    Eleven tasks of a second on one lane, which starts them a millisecond after the one before, but the last:

    >>> from simsched.graph import Recording, TaskGraph
    >>> start = np.append(np.arange(10) * 1.001, 12.0)
    >>> run = Recording(start, start + 1.0, np.zeros(11, np.int32), ("worker",))
    >>> absences_s(TaskGraph.from_edges([1.0] * 11, recording=run).recorded)[8:].round(3).tolist()
    [0.0, 0.0, 1.991]
    """
    longest_s = (Gaps.of(schedule) if gaps is None else gaps).longest_usual_s
    if not schedule.graph.n_tasks:
        return np.empty(0)
    since = np.where(np.isnan(free := free_s(schedule)), schedule.start_s.min(), free)
    away = np.empty(len(since))
    at, waited_s = _waited(schedule, np.ones(len(since), np.bool_))
    for lane in np.unique(schedule.executor):
        own = schedule.executor == lane
        if own_tasks:
            at, waited_s = _waited(schedule, own)
        away[own] = np.interp(schedule.start_s[own], at, waited_s) - np.interp(since[own], at, waited_s)
    return np.where(away > longest_s, away, 0.0)


def _waited(schedule: Schedule, tasks: npt.NDArray[np.bool_]) -> tuple[Seconds, Seconds]:
    """Return moments in order, and for how long at least one of the tasks was ready and not started until each."""
    ready = schedule.ready_s[tasks]
    moments = np.append(ready, np.maximum(schedule.start_s[tasks], ready))
    order = np.argsort(moments, kind="stable")
    waiting = np.cumsum(np.repeat([1, -1], len(ready))[order])
    lengths = np.diff(moments[order]) * (waiting[:-1] > 0)
    return moments[order], np.append(0.0, np.cumsum(lengths))
