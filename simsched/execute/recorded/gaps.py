"""Idle seconds in a measured schedule: the costs of its scheduler and host, and absences of lanes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs.fitting import Overheads
from simsched.graph.adjacency import Index, Mask
from simsched.graph.recording import on_device
from simsched.graph.taskgraph import Seconds
from simsched.schedule import Schedule

#: Causes of a lane's idle time before a task; a gap's cause is an index into these.
CAUSES = ("first", "dispatch", "wake-up", "interrupted", "device")
FIRST, DISPATCH, WAKE_UP, INTERRUPTED, OF_DEVICE = range(5)
#: Longer than so many usual dispatches, a gap is none: the system gave the CPU to another process (docs/recorded.md).
INTERRUPTION = 100.0


@dataclass(frozen=True, eq=False)
class Gaps:
    """The idle time of a lane before each of its tasks, and its cause.

    =============  ================================================================================
    cause          the lane
    =============  ================================================================================
    first          had run nothing yet; since the task was ready
    dispatch       had finished, and the task was ready by then; since the lane had finished
    wake-up        was idle when another lane finished what the task waited for; since then
    interrupted    as dispatch, but more than `INTERRUPTION` times the median of those that are above zero
    device         is a device's: as dispatch, but the task waited for its launch or in a queue, which no start costs
    =============  ================================================================================

    Parameters
    ----------
    seconds : float64 array, shape (n,)
        Idle seconds before each task, zero or more.
    cause : int8 array, shape (n,)
        Index into `CAUSES`.
    overlap_s : float
        Seconds by which tasks start before earlier ones of their lane have finished; a replay has none.

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.execute import Gaps
    >>> from simsched.graph import Recording
    >>> run = Recording(np.array([0.0, 1.5]), np.array([1.0, 2.5]), np.zeros(2, np.int32), ("worker",))
    >>> gaps = Gaps.of(ss.TaskGraph.from_edges([1.0, 1.0], recording=run).recorded)
    >>> gaps.seconds.tolist(), gaps.overheads().dispatch_s
    ([0.0, 0.5], 0.5)
    """

    seconds: Seconds
    cause: npt.NDArray[np.int8]
    overlap_s: float = 0.0

    @classmethod
    def of(cls, schedule: Schedule) -> Gaps:
        """Return the gaps of a schedule, in the order of its tasks."""
        free = free_s(schedule)
        cause = np.where(np.isnan(free), FIRST, np.where(schedule.ready_s > free, WAKE_UP, DISPATCH))
        cause[(cause == DISPATCH) & of_devices(schedule)] = OF_DEVICE
        seconds = np.maximum(schedule.start_s - np.fmax(free, schedule.ready_s), 0.0)
        cause[(cause == DISPATCH) & (seconds > _longest_usual_s(seconds[cause == DISPATCH]))] = INTERRUPTED
        overlap = np.maximum(np.nan_to_num(free) - schedule.start_s, 0.0)
        return cls(seconds, cause.astype(np.int8), float(overlap.sum()))

    @classmethod
    def pooled(cls, several: Iterable[Gaps]) -> Gaps:
        """Return the gaps of several schedules as one."""
        every = list(several)
        return cls(
            np.concatenate([np.empty(0), *(gaps.seconds for gaps in every)]),
            np.concatenate([np.empty(0, np.int8), *(gaps.cause for gaps in every)]),
            sum(gaps.overlap_s for gaps in every),
        )

    def of_cause(self, *causes: int) -> Seconds:
        """Return the seconds of the gaps of some causes."""
        return self.seconds[np.isin(self.cause, causes)]

    @property
    def interrupted_s(self) -> float:
        """Seconds of all interruptions."""
        return float(self.of_cause(INTERRUPTED).sum())

    @property
    def longest_usual_s(self) -> float:
        """Seconds of the longest gap that is no interruption; infinite where no dispatch takes time."""
        return _longest_usual_s(self.of_cause(DISPATCH, INTERRUPTED))

    def overheads(self) -> Overheads:
        """Return the cost of a start: the mean dispatch, as gaps add up to a makespan and medians do not.

        Returns
        -------
        Overheads
            `dispatch_s` and `pop_s`, equal, as a recording does not show whether a scheduler or a queue handed tasks
            out; 0 where there are no dispatches. And `wake_up_s`, a median, which replays do not use; None likewise.
        """
        starts = self.of_cause(DISPATCH)
        cost_s = float(starts.mean()) if len(starts) else 0.0
        woken = self.of_cause(WAKE_UP)
        return Overheads(
            dispatch_s=cost_s, pop_s=cost_s, wake_up_s=float(np.median(woken)) if len(woken) else None
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row per cause: cause, gaps, total_s, mean_s, median_s, p90_s, p99_s, max_s; NaN where none.

        Devices have a row where they have gaps.
        """
        causes = CAUSES if (self.cause == OF_DEVICE).any() else CAUSES[:OF_DEVICE]
        return pd.DataFrame([
            {"cause": name, **_statistics(self.of_cause(cause))} for cause, name in enumerate(causes)
        ])  # fmt: skip


def of_devices(schedule: Schedule) -> Mask:
    """Return which tasks ran on a device, by their kinds or by the name that XLA's profiler gives their lane."""
    lanes = [name.startswith("/device:") for name in schedule.lane_names]
    named = np.array(lanes, np.bool_)[schedule.executor] if any(lanes) else np.False_
    return on_device(schedule.graph) | named


def _longest_usual_s(dispatches: Seconds) -> float:
    usual = dispatches[dispatches > 0]
    return INTERRUPTION * float(np.median(usual)) if len(usual) else np.inf


def _statistics(seconds: Seconds) -> dict[str, float]:
    names = ("median_s", "p90_s", "p99_s", "max_s")
    quantiles = np.percentile(seconds, [50, 90, 99, 100]) if len(seconds) else np.full(4, np.nan)
    mean_s = float(seconds.mean()) if len(seconds) else np.nan
    moments = {"gaps": len(seconds), "total_s": float(seconds.sum()), "mean_s": mean_s}
    return moments | dict(zip(names, quantiles.tolist(), strict=True))


def free_s(schedule: Schedule) -> Seconds:
    """Return when each task's lane had finished all tasks started before; NaN for its first task."""
    order = started(schedule)
    free = np.full(len(order), np.nan)
    for lane in np.unique(schedule.executor):
        own = order[schedule.executor[order] == lane]
        free[own[1:]] = np.maximum.accumulate(schedule.finish_s[own])[:-1]
    return free


def started(schedule: Schedule) -> Index:
    """Return the tasks by start, but none before its predecessors: clocks round, and tasks may take no time."""
    graph = schedule.graph
    start = schedule.start_s.tolist()
    for task in graph.topological_order.tolist():
        for after in graph.successors.neighbours(task).tolist():
            start[after] = max(start[after], start[task])
    place = np.empty(graph.n_tasks, np.int32)
    place[graph.topological_order] = np.arange(graph.n_tasks, dtype=np.int32)
    return np.lexsort((place, start)).astype(np.int32)


def absences_s(schedule: Schedule, gaps: Gaps | None = None, *, own_tasks: bool = False) -> Seconds:
    """Return how long each task's lane was absent before it: ran nothing although a task was ready.

    An executor that is present takes a ready task within a usual dispatch. A delay longer than
    `Gaps.longest_usual_s` is an absence: the thread slept, or the system gave its CPU to another process. Before the
    first task of a lane it counts from the start of the run; a lane absent to the end has no task to count
    it for.

    Parameters
    ----------
    schedule : Schedule
        Measured.
    gaps : Gaps, optional
        Of it.
    own_tasks : bool
        Whether a lane could take its own tasks only, and not any ready one.

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
    """Return moments in order, and how long some of the tasks was ready and not started until each."""
    ready = schedule.ready_s[tasks]
    moments = np.append(ready, np.maximum(schedule.start_s[tasks], ready))
    order = np.argsort(moments, kind="stable")
    waiting = np.cumsum(np.repeat([1, -1], len(ready))[order])
    lengths = np.diff(moments[order]) * (waiting[:-1] > 0)
    return moments[order], np.append(0.0, np.cumsum(lengths))
