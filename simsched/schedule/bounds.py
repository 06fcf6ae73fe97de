"""Lower bounds on the makespan, whatever the policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simsched.costs import CostModel, TaskCosts
from simsched.costs.own_machine import machine_for
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.schedule.energy import Windows, fernandez_bussell, moldable_area


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on the length of every schedule of the graph on the machine.

    Parameters
    ----------
    critical_path_s : float
        Seconds of the longest path, each task on its fastest width.
    area_s : float
        Least core-seconds of all tasks (by the formula: on one core each) over the hardware threads in use.
    moldable_area_s : float
        The area of the widths that a deadline leaves (`simsched.schedule.energy.moldable_area`); 0 where not asked for.
    fernandez_bussell_s : float
        From what must run within an interval (`simsched.schedule.energy.fernandez_bussell`); 0 where not asked for.
    proven_s : float
        What `simsched.optimum` proved; 0 where not asked for.

    Examples
    --------
    >>> import simsched as ss
    >>> low = ss.bounds(ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=1]")
    >>> low.critical_path_s, low.area_s, low.bound_s
    (4.0, 6.0, 6.0)
    """

    critical_path_s: float
    area_s: float
    moldable_area_s: float = 0.0
    fernandez_bussell_s: float = 0.0
    proven_s: float = 0.0

    @property
    def bound_s(self) -> float:
        """The largest of them."""
        return max(
            self.critical_path_s, self.area_s, self.moldable_area_s, self.fernandez_bussell_s, self.proven_s
        )

    @property
    def name(self) -> str:
        """Name of the largest; of equals the first."""
        return max(vars(self), key=lambda name: float(vars(self)[name])).removesuffix("_s").replace("_", " ")


def bounds(
    graph: TaskGraph,
    machine: str | Path | Machine | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    *,
    thorough: bool = False,
) -> Bounds:
    """Return lower bounds on the makespan of a graph on a machine, for every policy and layout.

    They hold for all layouts within the machine's hardware threads, because sharing and the cost of decisions only make
    tasks slower or later. With more threads than that (`oversubscribe=true`), threads share a core at no cost if the
    effect `share_cores` is off, and a replay may beat all bounds but the critical path.

    Parameters
    ----------
    graph : TaskGraph
    machine : str, Path or Machine
        The machine, as `simsched.machine` takes it.
    costs : CostModel, optional
        As in `simsched.simulate`. Noise is left out: a noisy replay can be shorter than the bounds.
    runtime : RuntimeProfile, optional
        As in `simsched.simulate`: forking and joining a team is part of a task's seconds.
    thorough : bool
        Whether to compute the two stronger bounds, too, which takes some seconds for large graphs.

    Returns
    -------
    Bounds
        The bounds, in seconds; `bound_s` is the largest.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> bounds(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]")
    Bounds(critical_path_s=4.0, area_s=3.0, moldable_area_s=0.0, fernandez_bussell_s=0.0, proven_s=0.0)
    """
    target = machine_for(graph, machine)
    return bounds_of(graph, target, (costs or CostModel()).on(graph, target, runtime), thorough=thorough)


def bounds_of(graph: TaskGraph, target: Machine, task_costs: TaskCosts, *, thorough: bool = False) -> Bounds:
    """Return the bounds of a graph whose tasks' costs on the machine are known; see `bounds`."""
    by_kind_s = _area_by_kind_s(target, task_costs)
    teams = task_costs.fastest_teams()
    fastest = teams.seconds(teams.fastest_widths)
    quick = Bounds(
        critical_path_s=float(graph.levels(fastest).max(initial=0.0)),
        area_s=max(float(teams.least_core_seconds().sum()) / target.n_threads, by_kind_s),
    )
    if not thorough:
        return quick
    windows = Windows.of(graph, teams)
    return replace(
        quick,
        moldable_area_s=moldable_area(windows, target.n_threads, quick.bound_s),
        fernandez_bussell_s=fernandez_bussell(windows, target.n_threads),
    )


def _area_by_kind_s(machine: Machine, task_costs: TaskCosts) -> float:
    """Return the area bound of several kinds of cores; 0 where all are alike.

    Let all tasks take r_k times as long on kind k as on the kind where they take least, and n_k be its threads. For any
    prices y_k of a core-second with sum n_k y_k = 1, no schedule is shorter than the cheapest way to run all tasks, by
    duality of linear programs; y_k = 1 / (C r_k) with C = sum n_k / r_k is exact where each task has these ratios.
    """
    if task_costs.kinds_s is None or not machine.n_cores:
        return 0.0
    kinds = range(task_costs.kinds_s.shape[1])
    core_s = np.stack([task_costs.of_kind(kind).least_core_seconds() for kind in kinds], axis=1)
    totals_s = np.where(np.isinf(core_s), core_s.min(axis=1, keepdims=True), core_s).sum(axis=0)
    if not totals_s.all():
        return 0.0
    longer = totals_s / totals_s.min()
    threads = np.bincount(machine.kind_of, minlength=len(longer)) * machine.smt
    return float((core_s / longer).min(axis=1).sum() / (threads / longer).sum())
