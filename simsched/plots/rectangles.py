"""Rectangles of a Gantt chart: one for each run of neighbouring cores that a task holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from simsched.graph.adjacency import Csr
    from simsched.schedule import Schedule

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TeamRuns:
    """Runs of neighbouring cores, by team.

    Parameters
    ----------
    indptr : int64 array, shape (teams + 1,)
        Runs of team i are `indptr[i]` to `indptr[i + 1]`.
    first, length : int64 arrays
        First core and number of cores of each run.
    """

    indptr: Ints
    first: Ints
    length: Ints

    def count(self) -> Ints:
        """Return the number of runs of each team."""
        return np.diff(self.indptr)


@dataclass(frozen=True, eq=False)
class Rectangles:
    """A rectangle a run: task, first row, number of rows.

    Parameters
    ----------
    task, first, length : int64 arrays, shape (rectangles,)
        The task drawn, the first core it covers and how many.
    """

    task: Ints
    first: Ints
    length: Ints

    def __len__(self) -> int:
        return len(self.task)


def team_runs(teams: Csr, rows: int) -> TeamRuns:
    """Merge the neighbouring cores below `rows` of every team."""
    shown = teams.indices < rows
    cores = teams.indices[shown].astype(np.int64)
    owner = teams.sources()[shown]
    starts_run = np.ones(len(cores), bool)
    starts_run[1:] = (np.diff(cores) != 1) | (np.diff(owner) != 0)
    starts = np.flatnonzero(starts_run)
    indptr = np.zeros(teams.n + 1, np.int64)
    np.cumsum(np.bincount(owner[starts], minlength=teams.n), out=indptr[1:])
    return TeamRuns(indptr, cores[starts], np.diff(np.append(starts, len(cores))))


def count_rectangles(schedule: Schedule, runs: TeamRuns) -> int:
    """Return how many rectangles the schedule needs."""
    return int(runs.count()[schedule.team].sum())


def rectangles(
    schedule: Schedule, runs: TeamRuns, first_task: int = 0, last_task: int | None = None
) -> Rectangles:
    """Return the rectangles of the tasks `first_task` to `last_task` (not included), by task."""
    team = schedule.team[first_task:last_task]
    count = runs.count()[team]
    task = np.repeat(np.arange(len(team), dtype=np.int64), count)
    within = np.arange(len(task)) - np.repeat(np.cumsum(count) - count, count)
    run = runs.indptr[:-1][team][task] + within
    return Rectangles(task + first_task, runs.first[run], runs.length[run])
