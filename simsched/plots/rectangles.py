"""Rectangles of a Gantt chart, one for each run of neighbouring cores that a task holds, and their density."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.graph.adjacency import Csr, Index, Ints, pointers, steps
from simsched.graph.columns import Floats
from simsched.schedule import Schedule


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
    """One rectangle per run: task, first row, number of rows.

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
    lengths = np.diff(np.append(starts, len(cores)))
    return TeamRuns(pointers(owner[starts], teams.n), cores[starts], lengths)


def count_rectangles(schedule: Schedule, runs: TeamRuns) -> int:
    """Return the number of rectangles of a schedule."""
    return int(runs.count()[schedule.team].sum())


def rectangles(
    schedule: Schedule, runs: TeamRuns, first_task: int = 0, last_task: int | None = None
) -> Rectangles:
    """Return the rectangles of the tasks `first_task` to `last_task` (not included), by task."""
    found = of_teams(schedule.team[first_task:last_task], runs)
    return Rectangles(found.task + first_task, found.first, found.length)


def of_teams(team: Index, runs: TeamRuns) -> Rectangles:
    """Return the rectangles of some teams, by their place among these."""
    task, within = steps(runs.count()[team])
    run = runs.indptr[:-1][team][task] + within
    return Rectangles(task, runs.first[run], runs.length[run])


# Rectangles handled at a time: bounds the memory of a million tasks on scattered teams.
CHUNK = 1_000_000


def density(
    schedule: Schedule,
    runs: TeamRuns,
    weights: Floats,
    *,
    rows: int,
    bins: int,
    span_s: tuple[float, float],
) -> Floats:
    """Return, for every core and bin of time, the integral of the weights of the tasks there, over the bin.

    Parameters
    ----------
    schedule : Schedule
    runs : TeamRuns
        Runs of each team, below `rows`.
    weights : float64 array, shape (n, k)
        k numbers per task; 1 gives the share of the bin in which the core is busy.
    rows, bins : int
        Size of the result.
    span_s : pair of float
        Start of the first bin and end of the last.

    Returns
    -------
    float64 array, shape (rows, bins, k)
    """
    start, finish = span_s
    per_s = bins / (finish - start) if finish > start else 0.0
    ramps = _Ramps(rows, bins, weights.shape[1])
    most = max(int(runs.count().max(initial=1)), 1)
    step = max(CHUNK // most, 1)
    for first in range(0, schedule.graph.n_tasks, step):
        part = rectangles(schedule, runs, first, first + step)
        weight = weights[part.task]
        ramps.add(part, (schedule.start_s[part.task] - start) * per_s, weight)
        ramps.add(part, (schedule.finish_s[part.task] - start) * per_s, -weight)
    return ramps.by_bin()


class _Ramps:
    """Sum of functions `w * max(0, t - x)`, one per rectangle edge at x: their slope is what runs at t.

    Kept as the sums of `w` and of `w * x` in the cell of each x, differentiated over rows, so that a
    rectangle costs four additions however tall and long it is.
    """

    def __init__(self, rows: int, bins: int, k: int) -> None:
        self.shape = (rows + 1, bins, k)
        self.weight = np.zeros(self.shape)
        self.moment = np.zeros(self.shape)

    def add(self, part: Rectangles, x: Floats, weight: Floats) -> None:
        """Add the ramps of one chunk of rectangles, their edges at `x` bins."""
        rows, bins, k = self.shape
        column = np.clip(x.astype(np.int64), 0, bins - 1)
        cells = np.concatenate([part.first * bins + column, (part.first + part.length) * bins + column])
        for i in range(k):
            w = np.concatenate([weight[:, i], -weight[:, i]])
            self.weight[:, :, i] += np.bincount(cells, w, rows * bins).reshape(rows, bins)
            self.moment[:, :, i] += np.bincount(cells, w * np.concatenate([x, x]), rows * bins).reshape(
                rows, bins
            )

    def by_bin(self) -> Floats:
        """Return the rise of the sum over each bin, shape (rows, bins, k)."""
        weight = self.weight.cumsum(axis=0).cumsum(axis=1)[:-1]
        moment = self.moment.cumsum(axis=0).cumsum(axis=1)[:-1]
        edges = np.arange(1, self.shape[1] + 1)[:, None]
        result: Floats = np.diff(weight * edges - moment, axis=1, prepend=0.0)
        return result
