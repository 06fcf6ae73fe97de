"""Data of a schedule for the page: columns of numbers as narrow as they may be, tasks by their start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.explain.team_time import costs_of
from simsched.graph.adjacency import Csr
from simsched.graph.columns import Floats
from simsched.plots.interactive.rows import Rows, domain_names
from simsched.plots.rectangles import TeamRuns, of_teams, team_runs
from simsched.schedule import Schedule
from simsched.schedule.runs import first_start_s
from simsched.units import TimeUnit

Array = npt.NDArray[Any]

#: Seconds of a wait by cause, and their text for readers.
PARTS = {
    "no_core_s": "no core was free",
    "queue_s": "in the queue",
    "dispatch_s": "dispatch",
    "data_s": "for data",
    "aborted_s": "ran and was aborted",
}
#: Most domains with separate lines in the panel of memory traffic.
MOST_DOMAINS = 8


def origin_s(schedule: Schedule) -> float:
    """Return the first start, which is 0 on the chart."""
    return first_start_s(schedule)


def task_columns(
    schedule: Schedule, waits: pd.DataFrame, codes: Sequence[Array], unit: TimeUnit
) -> dict[str, Array]:
    """Return the columns of the tasks, shape (n,), by start.

    Times are in the chart's unit, from the first start. Codes are places in the lists of `texts`; `colour0`,
    `colour1`, ... are those of the rules.
    """
    graph = schedule.graph
    columns: dict[str, Array] = {
        "task": np.arange(graph.n_tasks, dtype=np.int32),
        "start": (schedule.start_s - origin_s(schedule)) * unit.per_s,
        "length": ((schedule.finish_s - schedule.start_s) * unit.per_s).astype(np.float32),
        "wait": ((schedule.start_s - schedule.ready_s) * unit.per_s).astype(np.float32),
        "team": _narrow(schedule.team),
        "executor": _narrow(schedule.executor),
        "kind": _narrow(graph.kinds.codes),
        "shape": _narrow(graph.shapes.codes),
        "scope": _narrow(graph.scopes.codes),
        "depends_on": waits["depends_on"].to_numpy().astype(np.int32),
        "reason": waits["reason"].cat.codes.to_numpy().astype(np.uint8),
    }
    columns |= {
        part: (waits[part].to_numpy() * unit.per_s).astype(np.float32) for part in PARTS if waits[part].any()
    }
    if (demand := demand_Bps(schedule)).any():
        columns["demand"] = demand.astype(np.float32)
    columns |= {f"colour{rule}": each for rule, each in enumerate(codes)}
    order = np.argsort(schedule.start_s, kind="stable")
    return {name: column[order] for name, column in columns.items()}


def demand_Bps(schedule: Schedule) -> Floats:
    """Return the bytes of each task over its seconds, shape (n,); 0 where they are unknown."""
    return _demand_Bps(schedule.graph.bytes_B, schedule.finish_s - schedule.start_s)


def _demand_Bps(bytes_B: Floats, lasted_s: Floats) -> Floats:
    known = np.isfinite(bytes_B) & (lasted_s > 0)
    return np.divide(bytes_B, lasted_s, out=np.zeros(len(lasted_s)), where=known)


def team_columns(schedule: Schedule, rows: Rows) -> dict[str, Array]:
    """Return the runs of neighbouring rows of each team, and its number of cores."""
    runs = _runs_of_rows(schedule, rows)
    return {
        "run": runs.indptr.astype(np.int32),
        "first": runs.first.astype(np.int32),
        "rows": runs.length.astype(np.int32),
        "width": schedule.teams.degrees(),
    }


def _runs_of_rows(schedule: Schedule, rows: Rows) -> TeamRuns:
    teams = schedule.teams
    row = rows.row_of[teams.indices]
    drawn = Csr(teams.indptr, row[np.lexsort((row, teams.sources()))].astype(np.int32))
    return team_runs(drawn, len(rows.row_of))


def aborted_columns(schedule: Schedule, rows: Rows, unit: TimeUnit) -> dict[str, Array]:
    """Return the edges of the rectangles of aborted runs, times as in `task_columns`."""
    lost, begin_s = schedule.lost, origin_s(schedule)
    boxes = of_teams(lost.team, _runs_of_rows(schedule, rows))
    return {
        "left": (lost.start_s[boxes.task] - begin_s) * unit.per_s,
        "right": (lost.end_s[boxes.task] - begin_s) * unit.per_s,
        "top": boxes.first - 0.45,
        "bottom": boxes.first + boxes.length - 0.55,
    }


def lost_columns(schedule: Schedule, unit: TimeUnit) -> dict[str, Array]:
    """Return the columns of aborted runs that lines count, shape (k,), times as in `task_columns`."""
    lost = schedule.lost
    columns: dict[str, Array] = {
        "start": (lost.start_s - origin_s(schedule)) * unit.per_s,
        "length": ((lost.end_s - lost.start_s) * unit.per_s).astype(np.float32),
        "team": _narrow(lost.team),
    }
    if len(lost):
        # An aborted run has not moved all bytes of its task: it asks for those of the time that it would have taken.
        takes_s = costs_of(schedule, lost).seconds(schedule.teams.degrees()[lost.team])
        columns["demand"] = _demand_Bps(schedule.graph.bytes_B[lost.task], takes_s).astype(np.float32)
    return columns


def domain_shares(schedule: Schedule) -> dict[str, Array]:
    """Return, for each memory domain, the share of each team's cores there, shape (teams,); {} for one."""
    machine, teams = schedule.machine, schedule.teams
    if machine is None or machine.n_threads != schedule.n_cores or not 1 < machine.n_domains <= MOST_DOMAINS:
        return {}
    domain = machine.structure.domain_of[teams.indices % machine.n_cores]
    count = np.bincount(teams.sources() * machine.n_domains + domain, minlength=teams.n * machine.n_domains)
    shares = count.reshape(teams.n, -1) / np.maximum(teams.degrees(), 1)[:, None]
    return dict(zip(domain_names(machine.structure), shares.T.astype(np.float32), strict=True))


def texts(schedule: Schedule) -> dict[str, Any]:
    """Return the labels of the codes, and the names of the tasks as bytes with the start of each."""
    graph = schedule.graph
    labels: dict[str, Any] = {
        "kinds": list(graph.kinds.labels),
        "shapes": list(graph.shapes.labels),
        "scopes": list(graph.scopes.labels),
    }
    if graph.names is not None:
        labels |= {"names": graph.names.data, "name_at": graph.names.offsets.astype(np.float64)}
    return labels


def _narrow(column: npt.NDArray[np.integer]) -> Array:
    """Return whole numbers in the narrowest type that holds them."""
    most = int(column.max(initial=0))
    fits = (
        np.min_scalar_type(most) if int(column.min(initial=0)) >= 0 and most < 2**16 else np.dtype(np.int32)
    )
    return column.astype(fits)
