"""Data of a schedule for the page: its rows, columns of numbers as narrow as they may be, codes of its colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.document.html import text
from simsched.errors import SimschedError
from simsched.explain import REASONS
from simsched.explain.team_time import costs_of
from simsched.graph.adjacency import Csr, Ints
from simsched.graph.columns import Floats, LabelColumn
from simsched.machine import Machine, Structure
from simsched.plots.canvas import GREY, HIGHLIGHT, OKABE_ITO, RGB, by_kind, plain
from simsched.plots.rectangles import TeamRuns, of_teams, team_runs
from simsched.schedule import Schedule
from simsched.schedule.runs import first_start_s
from simsched.units import TimeUnit, format_time

#: Most rows of a chart: its page takes 4 s and 0.6 GB to make then.
MOST_CORES = 100_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Row of each core, and the names of its neighbours.

    Parameters
    ----------
    row_of : int64 array, shape (n_cores,)
        Row of each core, 0 at the top.
    label : str
        Kind of a group, where its name does not show it: "core", "".
    names : sequence of str
        Name of each group, from the top.
    first : int64 array, shape (groups + 1,)
        First row of each group, and the number of rows.
    """

    row_of: Ints
    label: str
    names: Sequence[str]
    first: Ints

    @property
    def centres(self) -> list[float]:
        """Middle of each group."""
        middle: list[float] = ((self.first[:-1] + self.first[1:] - 1) / 2).tolist()
        return middle

    @property
    def borders(self) -> list[float]:
        """Lines between groups of more than one row."""
        grouped = len(self.names) < len(self.row_of)
        between: list[float] = (self.first[1:-1] - 0.5).tolist()
        return between if grouped else []


def check_rows(schedule: Schedule) -> None:
    """Check that a chart has rows for all cores of a schedule.

    Raises
    ------
    SimschedError
        If it does not.
    """
    if schedule.n_cores > MOST_CORES:
        raise SimschedError(
            f"the schedule has {schedule.n_cores} cores, and an interactive chart at most {MOST_CORES} rows; "
            "schedule.gantt(max_rows=1000) draws the first ones"
        )


def rows(schedule: Schedule) -> Rows:
    """Return the rows of a schedule: by memory domain where there are several, by tile, by lane or by core."""
    check_rows(schedule)
    n = schedule.n_cores
    recording = schedule.graph.recording
    if schedule.machine is None and recording is not None and len(recording.lane_names) == n:
        return _singles(n, "", recording.lane_names)
    if schedule.machine is None or schedule.machine.n_threads != n:
        return _singles(n, "core", [str(core) for core in range(n)])
    return _of_machine(schedule.machine)


def _singles(n: int, label: str, names: Sequence[str]) -> Rows:
    return Rows(np.arange(n), label, names, np.arange(n + 1))


def _of_machine(machine: Machine) -> Rows:
    """Return the rows of a machine: the hardware threads of a core are adjacent, as are cores that share."""
    structure = machine.structure
    core = np.arange(machine.n_threads) % machine.n_cores
    if structure.n_domains > 1:
        group, names = structure.domain_of, _domain_names(structure)
    elif structure.cores_per_tile > 1:
        group = structure.tile_of
        names = [f"tile {tile}" for tile in range(machine.n_tiles)]
    elif machine.smt > 1:
        group = np.arange(machine.n_cores, dtype=np.int32)
        names = [f"core {one}" for one in range(machine.n_cores)]
    else:
        return _singles(machine.n_cores, "core", [str(one) for one in range(machine.n_cores)])
    order = np.lexsort((core, structure.tile_of[core], group[core]))
    row_of = np.empty(len(order), np.int64)
    row_of[order] = np.arange(len(order))
    first = np.concatenate([[0], np.cumsum(np.bincount(group[core], minlength=len(names)))])
    return Rows(row_of, "", names, first)


def _domain_names(structure: Structure) -> list[str]:
    """Return the names of the domains in a structure's own picture, or their numbers."""
    named = [box.label for box in structure.picture().boxes if box.role == "domain" and box.label]
    numbered = [f"domain {number}" for number in range(structure.n_domains)]
    return named if len(named) == len(numbered) else numbered


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
        "start": (schedule.start_s - first_start_s(schedule)) * unit.per_s,
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
    lost, begin_s = schedule.lost, first_start_s(schedule)
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
        "start": (lost.start_s - first_start_s(schedule)) * unit.per_s,
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
    return dict(zip(_domain_names(machine.structure), shares.T.astype(np.float32), strict=True))


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


Codes = npt.NDArray[np.uint8]

#: Colours of `REASONS`, in their order.
REASON_COLOURS = (GREY, *OKABE_ITO[:6])


@dataclass(frozen=True, eq=False)
class Rule:
    """One way to colour the tasks.

    Parameters
    ----------
    name : str
        As people choose it.
    codes : list of uint8 arrays, shape (n,)
        Of each schedule, the colour of each task: a place in the palette.
    palette : list of str
        Colours as `#rrggbb`.
    legend : str
        Markup of their meaning; escaped.
    """

    name: str
    codes: list[Codes]
    palette: list[str]
    legend: str


def rules(
    schedules: Sequence[Schedule], waits: Sequence[pd.DataFrame], ranked: Sequence[Schedule] = ()
) -> list[Rule]:
    """Return the rules by kind, level, critical path, wait reason and executor.

    Parameters
    ----------
    schedules : sequence of Schedule
    waits : sequence of DataFrame
        Why the tasks of each started when they did.
    ranked : sequence of Schedule
        Those of the same graphs in which kinds that hold most get the colours; the same when not given.
    """
    return [
        _by_kind(schedules, ranked or schedules),
        _by_level(schedules),
        _by_critical_path(schedules),
        _by_reason(waits),
        _by_executor(schedules),
    ]


def css(colour: RGB) -> str:
    """Return a colour as `#rrggbb`."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def _by_kind(schedules: Sequence[Schedule], ranked: Sequence[Schedule]) -> Rule:
    """Colour by kind, a kind of all schedules as if it were one task with the contents of all."""
    place: dict[str, int] = {}
    held: dict[str, float] = {}
    for one in ranked:
        kinds = one.graph.kinds
        amounts = np.bincount(
            kinds.codes, (one.finish_s - one.start_s) * one.widths, minlength=len(kinds.labels)
        )
        used = kinds.counts > 0
        for label, amount in zip(np.array(kinds.labels, object)[used], amounts[used].tolist(), strict=True):
            place.setdefault(label, len(place))
            held[label] = held.get(label, 0.0) + amount
    each = LabelColumn(np.arange(len(place), dtype=np.int32), tuple(place))
    colours = by_kind(each, np.array(list(held.values())))
    distinct, code = np.unique([css((r, g, b)) for r, g, b in colours.rgb.tolist()], return_inverse=True)
    codes = [
        np.array([code[place[label]] if label in place else 0 for label in one.graph.kinds.labels], np.uint8)[
            one.graph.kinds.codes
        ]
        for one in schedules
    ]
    return Rule("kind", codes, distinct.tolist() or [css(GREY)], _legend(colours.groups))


def _by_critical_path(schedules: Sequence[Schedule]) -> Rule:
    codes = [np.zeros(one.graph.n_tasks, np.uint8) for one in schedules]
    for one, code in zip(schedules, codes, strict=True):
        code[one.graph.critical_path(one.alone_s)] = 1
    groups = (("critical path", HIGHLIGHT), ("other tasks", GREY))
    return Rule("critical path", codes, [css(GREY), css(HIGHLIGHT)], _legend(groups))


def _by_executor(schedules: Sequence[Schedule]) -> Rule:
    """Colour by executor; with more executors than colours, the colours only distinguish neighbours."""
    held = sorted(set().union(*(np.unique(one.executor).tolist() for one in schedules)))
    codes = [(np.searchsorted(held, one.executor) % len(OKABE_ITO)).astype(np.uint8) for one in schedules]
    groups = [(f"executor {e}", colour) for e, colour in zip(held, OKABE_ITO, strict=False)]
    legend = _legend(groups) if len(held) <= len(OKABE_ITO) else f"{len(held)} executors; colours repeat"
    return Rule("executor", codes, [css(colour) for colour in OKABE_ITO], legend)


def _by_level(schedules: Sequence[Schedule]) -> Rule:
    from bokeh.palettes import Viridis256

    levels = [one.graph.levels(one.alone_s) for one in schedules]
    most = max((float(level.max(initial=0.0)) for level in levels), default=0.0)
    codes = [(level * (255 / most if most else 0.0)).astype(np.uint8) for level in levels]
    bar = f"linear-gradient(to right,{','.join(Viridis256[::15])})"
    legend = f"0 s {_swatch(bar, 8)} {text(format_time(most))} to the end of the graph"
    return Rule("level", codes, list(Viridis256), legend)


def _by_reason(waits: Sequence[pd.DataFrame]) -> Rule:
    codes = [frame["reason"].cat.codes.to_numpy().astype(np.uint8) for frame in waits]
    groups = zip(REASONS, REASON_COLOURS, strict=True)
    return Rule("wait reason", codes, [css(colour) for colour in REASON_COLOURS], _legend(groups))


def _legend(groups: Iterable[tuple[str, RGB]]) -> str:
    items = (f"{_swatch(css(colour), 1)} {text(plain(name))}" for name, colour in groups)
    return " ".join(f'<span style="white-space:nowrap;margin-right:1em">{item}</span>' for item in items)


def _swatch(background: str, width_em: int) -> str:
    return (
        f'<span style="display:inline-block;width:{width_em}em;height:.8em;background:{background}"></span>'
    )
