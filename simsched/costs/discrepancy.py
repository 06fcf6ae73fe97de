"""Discrepancy of costs: the possible error of the seconds of tasks, sampled as one consistent world.

In a world the seconds of a task on w threads are those of the costs times

    exp(common z + cores log2(n / n0) z' + discrepancy z'' + (width z''' - gain ln 2) log2(w / w0))

The z are standard normal, on each machine others: z and z' one for each origin of seconds (a calibration, a
recording, ...), z'' and z''' one for each kind and regime; kinds of a family share theirs. n are the threads that are
busy on average, n0 those that were at the origin of the seconds, w0 the width on which they are known. Where starting
wide teams bounds a task (regime overhead), width and z''' are so only for the doublings that it bounds. No team gains
more than its threads. The gain is a share of a perfect one where seconds were measured, which gain nothing beyond.
Seconds converted to another kind of cores are off, too, as those carried to another machine, with a z of that kind.
These numbers are in `discrepancies.toml`, each with its evidence; tasks of one origin and regime share an error.
`benchmarks/coverage.py` counts what intervals hold. Where seconds come from a chip's numbers, no world computes faster
than the chip's peak at its highest clock, or than the seconds of the costs where these do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import copysign, exp, log, log2, sqrt
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from simsched.costs.curves import OWN, SEVERAL, SINGLE, Curve, default_curves, kinds_of, normalised, ranges
from simsched.costs.normal import NormalByName
from simsched.costs.own_machine import peak_s
from simsched.costs.rescaling import WAYS, conversion
from simsched.costs.shapes.elements import rates_on
from simsched.costs.task_costs import TaskCosts, Terms
from simsched.costs.width_table import WidthTable
from simsched.graph import TaskGraph
from simsched.graph.recording import measured_on, team_widths
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine

#: Origins of seconds that tasks took beside others, of whose number they depend on: fewer are off, too.
IN_COMPANY = ("recorded", "carried", "clocked", "taken")
#: Origins of seconds that come from the rooflines of the cores in question, of whatever kind these are.
OF_THESE_CORES = ("carried", "estimated")
#: Origins of seconds that come from the numbers of a chip, whose peak bounds them.
OF_NUMBERS = (*OF_THESE_CORES, "modelled")


@dataclass(frozen=True)
class Sigmas:
    """Standard deviations of the log seconds of one origin.

    Parameters
    ----------
    common, cores, disturbed : float
        Of all tasks alike: always; for a doubling of the cores beyond those seen, or a halving where tasks were seen in
        company (`doublings`); per share of runs that were disturbed.
    discrepancy : float
        Of a kind in a regime, where `rows` has none.
    rows : mapping of (str, str) to float
        By family of kinds and regime.
    width : mapping of str to float
        By regime, per doubling of a team beyond the known width.
    gain : float
        Share of a perfect gain that is expected of such a doubling, of which the seconds have none; 0 to 1.
    """

    common: float
    cores: float
    disturbed: float
    discrepancy: float
    rows: Mapping[tuple[str, str], float]
    width: Mapping[str, float]
    gain: float = 0.0

    def of(self, family: str, regime: Regime) -> float:
        """Return that of a kind in a regime."""
        return self.rows.get((family, regime), self.discrepancy)


@cache
def sigmas() -> Mapping[Origin, Sigmas]:
    """Return the standard deviations of each origin."""
    table = tomllib.loads((files("simsched.costs") / "discrepancies.toml").read_text("utf-8"))
    return {row["name"]: _sigmas(row, table["width"], table["row"]) for row in table["origin"]}


def _sigmas(origin: Mapping[str, Any], widths: Mapping[str, Any], rows: list[dict[str, Any]]) -> Sigmas:
    mine = [row for row in rows if row["origin"] == origin["name"]]
    of = {name: float(number["sigma"]) for name, number in origin.items() if name not in ("name", "gain")}
    return Sigmas(
        common=of["common"],
        cores=of["cores"],
        disturbed=of.get("disturbed", 0.0),
        discrepancy=of["discrepancy"],
        rows={(row["family"], row["regime"]): float(row["sigma"]) for row in mine},
        width={regime: of.get("width", float(widths[regime]["sigma"])) for regime in REGIMES},
        gain=float(origin["gain"]["share"]) if "gain" in origin else 0.0,
    )


@dataclass(frozen=True)
class Discrepancy:
    """One of the possible true worlds.

    Parameters
    ----------
    seed : int
        Of its random numbers: the same world for all graphs, core counts, layouts and engines. What errs on one
        machine says nothing of another.
    disturbed : float
        Share of a calibration's runs that were dropped as disturbed: its common factors are less certain.
    scatter : float
        Standard deviation of the log of a makespan from one of its undisturbed runs to another: no run repeats them.
    busy : float, optional
        Threads that are busy on average during the replay; all of the machine when not given.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([float("nan")], kinds="MatMul", flops=[1e9])
    >>> costs = [ss.CostModel(discrepancy=Discrepancy(seed)) for seed in (1, 1, 2)]
    >>> seconds = [one.on(graph, ss.machine("generic")).one_core_s[0] for one in costs]
    >>> bool(seconds[0] == seconds[1]), bool(seconds[0] == seconds[2])
    (True, False)
    """

    seed: int
    disturbed: float = 0.0
    scatter: float = 0.0
    busy: float | None = None

    def on(self, costs: TaskCosts, graph: TaskGraph, machine: Machine, curves: Sequence[Curve]) -> TaskCosts:
        """Return the costs in this world.

        Parameters
        ----------
        costs : TaskCosts
        graph : TaskGraph
        machine : Machine
        curves : sequence of Curve
            Of each label of the graph's kinds.
        """
        groups, of = grouped(costs, graph, machine, curves)
        seen = {origin: seen_threads(origin, costs, graph, machine) for origin in {g.origin for g in groups}}
        busy = max(self.busy, 1.0) if self.busy is not None else machine.n_threads
        z = NormalByName.on(machine, self.seed)
        level = np.array([self._level(group, busy / seen[group.origin], z) for group in groups])
        power = np.array([self._power(group, group.regime, z) for group in groups])
        narrow = np.array([self._power(group, group.bound, z) for group in groups])
        bound = np.array([group.origin in OF_NUMBERS for group in groups], np.float64)[of]
        least_s = np.minimum(costs.one_core_s, bound * peak_s(graph, machine, self.doubt))
        found = _with_formula(costs, groups, of, level, narrow, power)
        found = replace(found, one_core_s=np.maximum(found.one_core_s, least_s))
        if costs.table is not None:
            table = _with_table(costs.table, groups, of, level, power).no_faster(least_s, machine.n_cores)
            found = replace(found, table=table, one_core_s=table.one_core(found.one_core_s))
        if machine.kinds is None or costs.kinds_s is None:
            return found
        off = np.ones(graph.n_tasks)
        np.divide(found.one_core_s, costs.one_core_s, out=off, where=costs.one_core_s > 0)
        kinds_s = costs.kinds_s * off[:, None]
        if graph.seconds_by_kind is None and machine.kinds.flops_ratio:
            kinds = machine.kinds.names
            ratios = np.reshape([self._ratios(group, kinds, z) for group in groups], (-1, len(kinds)))
            same = np.isclose(costs.kinds_s, costs.one_core_s[:, None], rtol=1e-9, atol=0.0)
            kinds_s *= np.where(same, 1.0, ratios[of])
        return replace(found, kinds_s=kinds_s)

    @property
    def doubt(self) -> float:
        """How far elements of which only bytes are known are from the assumed type, as in `Rates`.

        Examples
        --------
        >>> 0 <= Discrepancy(1).doubt <= 1
        True
        """
        # Chips differ, the graph does not.
        return min(abs(NormalByName(self.seed, "")("elements")) / 1.96, 1.0)

    @staticmethod
    def _ratios(group: Group, kinds: Sequence[str], z: NormalByName) -> list[float]:
        """Return by what seconds converted to other kinds of cores are off, too: as those of another machine."""
        if group.origin in OF_THESE_CORES:
            return [1.0] * len(kinds)
        known, name = sigmas()["carried"], f"{group.family} {group.regime}"
        return [
            exp(known.common * z(f"kinds {kind}") + known.discrepancy * z(f"kinds {kind} {name}"))
            for kind in kinds
        ]

    def _level(self, group: Group, cores: float, z: NormalByName) -> float:
        """Return the factor by which seconds are off on the known width; `cores` is n / n0."""
        known, name = sigmas()[group.origin], f"{group.family} {group.regime}"
        common = known.common
        if group.origin == "measured":
            common = float(np.linalg.norm([common, known.disturbed * self.disturbed, self.scatter]))
        off = common * z(group.origin) + known.of(group.family, group.regime) * z(name)
        off += known.cores * group.doublings(cores) * z(f"{group.origin} cores")
        return float(np.exp(off))

    @staticmethod
    def _power(group: Group, regime: Regime, z: NormalByName) -> float:
        """Return the power of the width over the known width by which seconds are off, too, in a regime."""
        if not group.divides:
            return 0.0
        known = sigmas()[group.origin]
        sigma = known.width[regime] / log(2)
        return sigma * z(f"{group.family} {regime} width") - known.gain


def _with_formula(
    costs: TaskCosts, groups: Sequence[Group], of: Codes, level: Seconds, narrow: Seconds, power: Seconds
) -> TaskCosts:
    """Return costs with errors in the formula; of groups in a table only the bytes matter."""
    known = np.array([1 if group.tabled else group.width for group in groups], np.int64)
    every = np.maximum(np.arange(max(costs.widest, known.max(initial=1)) + 1), 1).astype(np.float64)
    easy = np.array([group.easy for group in groups], np.float64)[:, None]
    stretch = np.minimum(every, easy) ** narrow[:, None] * np.maximum(every / easy, 1.0) ** power[:, None]
    one_core = level / np.take_along_axis(stretch, known[:, None], axis=1)[:, 0]
    return replace(
        costs,
        one_core_s=costs.one_core_s * one_core[of],
        traffic_B=costs.traffic_B * one_core[of],
        labels=of.astype(np.int32),
        terms=_scaled(costs.terms, np.array([group.label for group in groups], np.int64), one_core),
        stretch=stretch[:, : costs.widest + 1],
    )


def _scaled(terms: Terms, labels: Codes, factor: Seconds) -> Terms:
    """Return the terms of groups, such that all seconds are `factor` times as long where one-core seconds are."""
    return replace(
        terms,
        serial_share=terms.serial_share[labels],
        thread_overhead=terms.thread_overhead[labels] * np.sqrt(factor),
        fork_join_s=terms.fork_join_s[labels] * factor,
        fork_join_per_thread_s=terms.fork_join_per_thread_s[labels] * factor,
        grain_flops=terms.grain_flops[labels],
        grain_B=terms.grain_B[labels],
        several=terms.several[labels],
    )


def _with_table(
    table: WidthTable, groups: Sequence[Group], of: Codes, level: Seconds, power: Seconds
) -> WidthTable:
    """Return a table with errors: a row for each of its rows in each group."""
    covered = np.flatnonzero(table.covers)
    pairs, where = np.unique(
        table.rows[covered].astype(np.int64) * len(groups) + of[covered], return_inverse=True
    )
    row, group = pairs // max(len(groups), 1), pairs % max(len(groups), 1)
    known = np.array([one.width for one in groups], np.int64)[group]
    every = np.maximum(np.arange(table.seconds_s.shape[1]), 1)
    beyond = np.maximum(every / known[:, None], 1.0)
    seconds = table.seconds_s[row]
    # Beyond the widest known width no team gains more than its threads.
    ends = np.take_along_axis(seconds, np.minimum(known, seconds.shape[1] - 1)[:, None], axis=1)
    stretched = np.maximum(
        seconds * beyond ** power[group][:, None], np.where(beyond > 1, ends / beyond, 0.0)
    )
    rows = np.full(len(table.rows), -1, np.int32)
    rows[covered] = where
    return WidthTable(
        rows,
        stretched * level[group][:, None],
        table.overhead_s[row] * level[group],
        None if table.measured_to is None else table.measured_to[row],
    )


#: Origins of seconds: numbers without a recording; a calibration; a model by shape; a recording; a recording on
#: another machine, converted by rooflines, by clocks or not at all; a roofline.
Origin = Literal["given", "measured", "modelled", "recorded", "carried", "clocked", "taken", "estimated"]
#: Bounds of a task: operations, memory, or starting and ending a team.
Regime = Literal["compute", "memory", "overhead"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
REGIMES: tuple[Regime, ...] = get_args(Regime)

#: Families of kinds whose operations bound them where a graph has no work.
BY_OPERATIONS = ("matrix product", "convolution")
#: Families of kinds that no number of threads speeds up.
UNDIVIDED = ("book-keeping",)
#: Doublings of a team that no machine allows: its start bounds no task.
ANY = 31
#: Share of a task's even part on every core from which fork, join and barrier bound it.
OVERHEAD_SHARE = 0.1
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Group:
    """Tasks whose seconds share an error.

    Parameters
    ----------
    label : int
        Of their kind, in the graph.
    origin : str
    bound, regime : str
        What bounds them in narrow teams, operations or memory, and in a team of all built cores.
    easy : int
        The widest team, a power of two, that starting it does not bound; any where it bounds none.
    family : str
        Of their kind; the kind itself where it has none.
    width : int
        Width on which their seconds are known; of tables the widest.
    divides : bool
        Whether other teams may gain differently from the seconds by width.
    shares : bool
        Whether the replay has them wait for bandwidth that others use: their bytes are known, and it is shared; or
        they are known to have none, and wait for none.
    """

    label: int
    origin: Origin
    bound: Regime
    regime: Regime
    easy: int
    family: str
    width: int
    divides: bool
    shares: bool

    def doublings(self, cores: float) -> float:
        """Return how many times over seconds are as uncertain as on twice the cores.

        What tasks wait for in company may double, too, with each doubling of the cores. Where the replay has most of
        that, what it lacks for one doubling says nothing of the next: such errors grow with the root of their number.

        Parameters
        ----------
        cores : float
            Over those on which the seconds were obtained.
        """
        more = log2(cores)
        if self.origin not in IN_COMPANY:
            more = max(more, 0.0)
        return copysign(sqrt(abs(more)), more) if self.shares and abs(more) > 1 else more

    @property
    def tabled(self) -> bool:
        """Whether their seconds by width are in a table."""
        return self.origin in ("measured", "modelled")


def grouped(
    costs: TaskCosts, graph: TaskGraph, machine: Machine, curves: Sequence[Curve]
) -> tuple[list[Group], Codes]:
    """Return the groups of a graph's tasks, and the group of each task, shape (n,).

    Parameters
    ----------
    costs : TaskCosts
        The nominal costs.
    graph : TaskGraph
    machine : Machine
    curves : sequence of Curve
        Of each label of the graph's kinds.
    """
    shares = (costs.traffic_B > 0) & machine.effects.share_bandwidth | (graph.bytes_B == 0)
    columns = (_origins(costs, graph, machine), *_bounds(costs, graph, machine),
               graph.kinds.codes.astype(np.int64), _widths(costs, graph, machine), shares.astype(np.int64))  # fmt: skip
    key, most = np.zeros(graph.n_tasks, np.int64), 1
    for column in columns:
        key += column * most
        most *= int(column.max(initial=0)) + 1
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    return [_group(graph, curves, *row) for row in rows], of.astype(np.int64)


def _group(
    graph: TaskGraph,
    curves: Sequence[Curve],
    origin: int,
    bound: int,
    doublings: int,
    label: int,
    width: int,
    shares: int,
) -> Group:
    kind = kinds_of(graph)[label]
    family = family_of(kind)
    # Curves given as numbers are exact; beyond a table, none are given. So are given seconds of kinds without a curve.
    tabled = ORIGINS[origin] in ("measured", "modelled")
    exact = ORIGINS[origin] == "given" and curves[label].family in ("serial", SEVERAL)
    divided = family not in UNDIVIDED and not kind.startswith(SINGLE) and not exact
    divides = divided and (tabled or curves[label].family in ranges())
    regime = REGIMES[bound] if doublings == ANY else "overhead"
    return Group(
        label, ORIGINS[origin], REGIMES[bound], regime, 2**doublings, family, width, divides, bool(shares)
    )


@cache
def family_of(kind: str) -> str:
    """Return the family of a kind; for kinds without one, the kind as tables spell it.

    Examples
    --------
    >>> family_of("aten::mm"), family_of("Mine")
    ('matrix product', 'mine')
    """
    curve = default_curves()[0].get(normalised(kind))
    return normalised(kind).removeprefix(OWN) if curve is None else curve.family


def _origins(costs: TaskCosts, graph: TaskGraph, machine: Machine) -> Codes:
    if measured_on(graph) is None:
        known = np.full(graph.n_tasks, ORIGINS.index("given"))
    else:
        known = np.array([ORIGINS.index(way) for way in WAYS])[conversion(graph, machine)[1]]
    found = np.where(np.isnan(graph.durations_s), ORIGINS.index("estimated"), known)
    if costs.table is not None:
        tabled = np.where(costs.table.modelled, ORIGINS.index("modelled"), ORIGINS.index("measured"))
        found[costs.table.covers] = tabled[costs.table.rows[costs.table.covers]]
    return found


def _bounds(costs: TaskCosts, graph: TaskGraph, machine: Machine) -> tuple[Codes, Codes]:
    """Return the bound of each task in narrow teams, and how many doublings of a team are not bound by its start."""
    cores, runtime = built_cores(machine), machine.runtime
    by_label = np.array([family_of(kind) in BY_OPERATIONS for kind in kinds_of(graph)], np.bool_)
    operations_s = np.nan_to_num(graph.flops / (machine.core_flops_at() * rates_on(graph, machine)))
    bytes_s = np.nan_to_num(graph.bytes_B / machine.one_core_Bps)
    known = (operations_s > 0) | (bytes_s > 0)
    computes = np.where(known, operations_s >= bytes_s, by_label[graph.kinds.codes])
    # A team of w is bound by its start where the share's seconds over w are less than region_s + per_thread_s w.
    share_s, region_s, per_thread_s = (
        OVERHEAD_SHARE * costs.one_core_s,
        runtime.region_s,
        runtime.region_per_thread_s,
    )
    root = np.sqrt(region_s**2 + 4 * per_thread_s * share_s)
    widest = np.divide(
        2 * share_s, region_s + root, out=np.full(graph.n_tasks, np.inf), where=root + region_s > 0
    )
    small = share_s / cores < region_s + per_thread_s * cores
    doublings = np.where(small, np.log2(np.clip(widest, 1, cores)), ANY)
    return np.where(computes, 0, 1).astype(np.int64), doublings.astype(np.int64)


def _widths(costs: TaskCosts, graph: TaskGraph, machine: Machine) -> Codes:
    found = np.where(np.isnan(graph.durations_s), 1, team_widths(graph)).astype(np.int64)
    if (table := costs.table) is not None:
        built = max(machine.n_threads * min(built_cores(machine), machine.n_cores) // machine.n_cores, 1)
        known_to = np.where(table.modelled, built, 0 if table.measured_to is None else table.measured_to)
        found[table.covers] = known_to[table.rows[table.covers]]
    return found


def seen_threads(origin: Origin, costs: TaskCosts, graph: TaskGraph, machine: Machine) -> float:
    """Return the number of threads that were busy, on average, where seconds of an origin were obtained."""
    table = costs.table
    if origin == "measured" and table is not None and table.measured_to is not None:
        return int(table.measured_to[~table.modelled].max(initial=1))
    if origin in IN_COMPANY:
        if (run := graph.recording) is None:
            return int(graph.widths.max(initial=1))
        span_s = float(run.finish_s.max(initial=0.0))
        busy_s = float(((run.finish_s - run.start_s) * graph.widths).sum())
        return max(busy_s / span_s, 1.0) if span_s else 1
    return machine.n_threads


def built_cores(machine: Machine) -> int:
    """Return the number of cores that the machine is built with, by its file."""
    return int(machine.content["cores"]["count"]["value"])
