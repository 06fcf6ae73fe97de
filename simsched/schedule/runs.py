"""Runs of tasks on teams: those that finished, and those that were aborted to start anew elsewhere; their events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Csr, Index, Ints
from simsched.graph.columns import ReadOnly

if TYPE_CHECKING:
    import pandas as pd

    from simsched.graph.taskgraph import Seconds
    from simsched.schedule.schedule import Schedule


def _no_numbers() -> Index:
    return np.empty(0, np.int32)


def _no_seconds() -> Seconds:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Runs(ReadOnly):
    """Runs of tasks, one entry each; none by default.

    Parameters
    ----------
    task, executor, team : int32 arrays, shape (k,)
        What ran, and where, as in `Schedule`.
    start_s, end_s : float64 arrays, shape (k,)
        When the run started, and when it finished or was aborted.
    placed_s, begun_s : float64 arrays, shape (k,)
        When the decision to start it was over, from which its team waited for its data, and when it began to compute.
    """

    task: Index = field(default_factory=_no_numbers)
    executor: Index = field(default_factory=_no_numbers)
    team: Index = field(default_factory=_no_numbers)
    start_s: Seconds = field(default_factory=_no_seconds)
    end_s: Seconds = field(default_factory=_no_seconds)
    placed_s: Seconds = field(default_factory=_no_seconds)
    begun_s: Seconds = field(default_factory=_no_seconds)

    def __len__(self) -> int:
        return len(self.task)

    def core_s(self, teams: Csr) -> float:
        """Return the core-seconds that the runs held."""
        return float(((self.end_s - self.start_s) * teams.degrees()[self.team]).sum())

    @classmethod
    def of(cls, schedule: Schedule) -> Runs:
        """Return all runs of a schedule: those that finished, by task, then those that were aborted."""
        tasks = np.arange(schedule.graph.n_tasks, dtype=np.int32)
        placed_s = schedule.start_s if schedule.messages is None else schedule.messages.placed_s
        finished = cls(
            tasks,
            schedule.executor,
            schedule.team,
            schedule.start_s,
            schedule.finish_s,
            placed_s,
            schedule.begun_s,
        )
        if not len(schedule.lost):
            return finished
        return cls(*(np.append(one, vars(schedule.lost)[name]) for name, one in vars(finished).items()))


def by_start(schedule: Schedule, begin_s: Seconds) -> Ints:
    """Return all runs of a schedule, as in `Runs.of`, in the order in which they began; `begin_s` says when."""
    n = schedule.graph.n_tasks
    # Those that were aborted first: one of no length comes before the next run of its task.
    order = np.append(np.arange(n, len(begin_s)), schedule.start_order).astype(np.int64)
    return order[np.argsort(begin_s[order], kind="stable")]


def before_each(schedule: Schedule) -> Ints:
    """Return, for each run of a schedule, the run of its task before it, which was aborted; -1 for none."""
    n, task = schedule.graph.n_tasks, schedule.lost.task
    before = np.full(n + len(task), -1, np.int64)
    if not len(task):
        return before
    # Of each task, the runs in the order in which they ended, the one that finished last.
    run = np.append(n + np.argsort(task, kind="stable"), np.unique(task))
    run = run[np.argsort(np.append(np.sort(task), np.unique(task)), kind="stable")]
    of = np.append(np.arange(n), task)[run]
    same = of[1:] == of[:-1]
    before[run[1:][same]] = run[:-1][same]
    return before


def first_start_s(schedule: Schedule) -> float:
    """Return when the first run starts; 0 if there is none."""
    starts = schedule.start_s, schedule.lost.start_s
    return float(min(start_s.min() for start_s in starts if len(start_s))) if len(schedule.start_s) else 0.0


def lost_frame(schedule: Schedule) -> pd.DataFrame:
    """Return the table of `Schedule.lost_runs`."""
    import pandas as pd

    lost, teams = schedule.lost, schedule.teams
    return pd.DataFrame(
        {
            "task": lost.task,
            "name": [schedule.graph.task_name(int(task)) for task in lost.task],
            "start_s": lost.start_s,
            "end_s": lost.end_s,
            "executor": lost.executor,
            "first_core": teams.indices[teams.indptr[:-1][lost.team]],
            "n_cores": teams.degrees()[lost.team],
        }
    )


@dataclass(frozen=True, eq=False)
class Events:
    """Every start and every finish of a run, in order of time; at one instant finishes come before starts.

    Runs of no length have none. That one is aborted counts as a finish.

    Parameters
    ----------
    time_s : float64 array, shape (events,)
    task : int64 array, shape (events,)
    starts : bool array, shape (events,)
        Whether the task starts; else it finishes.
    running : int64 array, shape (events,)
        Tasks that run then, the one that starts or finishes included.
    """

    time_s: Seconds
    task: npt.NDArray[np.int64]
    starts: npt.NDArray[np.bool_]
    running: npt.NDArray[np.int64]

    @classmethod
    def of(cls, schedule: Schedule) -> Events:
        """Return the events of a schedule."""
        runs = Runs.of(schedule)
        lasting, begun = runs.end_s > runs.start_s, by_start(schedule, runs.start_s)
        begun, ended = begun[lasting[begun]], np.flatnonzero(lasting)
        time_s = np.concatenate([runs.end_s[ended], runs.start_s[begun]])
        # A stable sort keeps finishes first, by index, and starts in the order in which they were decided.
        order = np.argsort(time_s, kind="stable")
        starts = order >= len(ended)
        after = np.cumsum(np.where(starts, 1, -1))
        return cls(
            time_s[order],
            runs.task.astype(np.int64)[np.concatenate([ended, begun])[order]],
            starts,
            after + ~starts,
        )
