"""Origins of seconds, and regimes of tasks: groups of tasks whose seconds share an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from simsched.costs.curves import Curve, default_curves, normalised, ranges
from simsched.costs.task_costs import TaskCosts
from simsched.graph import TaskGraph
from simsched.machine import Machine

#: Origins of seconds: numbers without a recording; a calibration; a model by shape; a recording; a recording on
#: another machine, converted; a roofline.
Origin = Literal["given", "measured", "modelled", "recorded", "carried", "estimated"]
#: Bounds of a task: operations, memory, or starting and ending a team.
Regime = Literal["compute", "memory", "overhead"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
REGIMES: tuple[Regime, ...] = get_args(Regime)

#: Families of kinds whose operations bound them where a graph has no work.
BY_OPERATIONS = ("matrix product", "convolution")
#: Families of kinds that no number of threads speeds up.
UNDIVIDED = ("book-keeping",)
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
    origin, regime : str
    family : str
        Of their kind; the kind itself where it has none.
    width : int
        Width on which their seconds are known; of tables the widest.
    divides : bool
        Whether other teams may gain differently from the seconds by width.
    """

    label: int
    origin: Origin
    regime: Regime
    family: str
    width: int
    divides: bool

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
    columns = (_origins(costs, graph, machine), _regimes(costs, graph, machine),
               graph.kinds.codes.astype(np.int64), _widths(costs, graph, machine))  # fmt: skip
    key, most = np.zeros(graph.n_tasks, np.int64), 1
    for column in columns:
        key += column * most
        most *= int(column.max(initial=0)) + 1
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    return [_group(graph, curves, *row) for row in rows], of.astype(np.int64)


def _group(
    graph: TaskGraph, curves: Sequence[Curve], origin: int, regime: int, label: int, width: int
) -> Group:
    family = family_of(graph.kinds.labels[label])
    # Curves given as numbers are exact; beyond a table, none are given.
    tabled = ORIGINS[origin] in ("measured", "modelled")
    divides = family not in UNDIVIDED and (tabled or curves[label].family in ranges())
    return Group(label, ORIGINS[origin], REGIMES[regime], family, width, divides)


@cache
def family_of(kind: str) -> str:
    """Return the family of a kind; for kinds without one, the kind as tables spell it.

    Examples
    --------
    >>> family_of("aten::mm"), family_of("Mine")
    ('matrix product', 'mine')
    """
    curve = default_curves()[0].get(normalised(kind))
    return normalised(kind) if curve is None else curve.family


def _origins(costs: TaskCosts, graph: TaskGraph, machine: Machine) -> Codes:
    origin = graph.recorded_on
    if origin is None:
        known: Origin = "given" if graph.recording is None else "recorded"
    else:
        here = (origin.core_flops, origin.core_bandwidth_Bps) == (machine.core_flops, machine.one_core_Bps)
        known = "recorded" if here else "carried"
    found = np.where(np.isnan(graph.durations_s), ORIGINS.index("estimated"), ORIGINS.index(known))
    if costs.table is not None:
        tabled = np.where(costs.table.modelled, ORIGINS.index("modelled"), ORIGINS.index("measured"))
        found[costs.table.covers] = tabled[costs.table.rows[costs.table.covers]]
    return found


def _regimes(costs: TaskCosts, graph: TaskGraph, machine: Machine) -> Codes:
    """Return the bound of each task, by its work on one core and, of a team, on all built cores."""
    cores, runtime = built_cores(machine), machine.runtime
    by_label = np.array([family_of(kind) in BY_OPERATIONS for kind in graph.kinds.labels], np.bool_)
    operations_s = np.nan_to_num(graph.flops / machine.core_flops)
    bytes_s = np.nan_to_num(graph.bytes_B / machine.one_core_Bps)
    known = (operations_s > 0) | (bytes_s > 0)
    computes = np.where(known, operations_s >= bytes_s, by_label[graph.kinds.codes])
    region_s = runtime.region_s + runtime.region_per_thread_s * cores
    small = OVERHEAD_SHARE * costs.one_core_s / cores < region_s
    return np.where(small, 2, np.where(computes, 0, 1)).astype(np.int64)


def _widths(costs: TaskCosts, graph: TaskGraph, machine: Machine) -> Codes:
    found = np.where(np.isnan(graph.durations_s), 1, graph.widths).astype(np.int64)
    if (table := costs.table) is not None:
        built = max(machine.n_threads * min(built_cores(machine), machine.n_cores) // machine.n_cores, 1)
        known_to = np.where(table.modelled, built, 0 if table.measured_to is None else table.measured_to)
        found[table.covers] = known_to[table.rows[table.covers]]
    return found


def seen_cores(origin: Origin, costs: TaskCosts, graph: TaskGraph, machine: Machine) -> int:
    """Return the number of cores in use where seconds of an origin were obtained."""
    table = costs.table
    if origin == "measured" and table is not None and table.measured_to is not None:
        return int(table.measured_to[~table.modelled].max(initial=1))
    if origin in ("recorded", "carried"):
        lanes = 1 if graph.recording is None else max(len(graph.recording.lane_names), 1)
        return lanes * int(graph.widths.max(initial=1))
    return machine.n_threads


def built_cores(machine: Machine) -> int:
    """Return the number of cores that the machine is built with, by its file."""
    return int(machine.content["cores"]["count"]["value"])
