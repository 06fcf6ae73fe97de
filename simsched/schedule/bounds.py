"""Lower bounds on the makespan, whatever the policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.costs import CostModel
    from simsched.graph import TaskGraph
    from simsched.machine import Machine, RuntimeProfile


@dataclass(frozen=True)
class Bounds:
    """No schedule of the graph on the machine is shorter than either number.

    Parameters
    ----------
    critical_path_s : float
        Seconds of the longest path, each task on its fastest width.
    area_s : float
        Least core-seconds of all tasks (by the formula: on one core each) over the hardware threads in use.

    Examples
    --------
    >>> import simsched as ss
    >>> low = ss.bounds(ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=1]")
    >>> low.critical_path_s, low.area_s, low.bound_s
    (4.0, 6.0, 6.0)
    """

    critical_path_s: float
    area_s: float

    @property
    def bound_s(self) -> float:
        """The larger of the two."""
        return max(self.critical_path_s, self.area_s)


def bounds(
    graph: TaskGraph,
    machine: str | Path | Machine,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
) -> Bounds:
    """Return lower bounds on the makespan of a graph on a machine, for every policy and layout.

    Parameters
    ----------
    graph : TaskGraph
    machine : str, Path or Machine
        The machine, as `simsched.machine` takes it.
    costs : CostModel, optional
        As in `simsched.simulate`; its noise is left out, and a noisy replay can be shorter than the bounds.
    runtime : RuntimeProfile, optional
        As in `simsched.simulate`: forking and joining a team is part of a task's seconds.

    Returns
    -------
    Bounds
        Both lower bounds, in seconds.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> bounds(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]")
    Bounds(critical_path_s=4.0, area_s=3.0)
    """
    from simsched.costs import CostModel
    from simsched.machine import machine as machine_of

    target = machine_of(machine)
    task_costs = (costs or CostModel()).on(graph, target, runtime)
    fastest = task_costs.seconds(task_costs.fastest_widths())
    return Bounds(
        critical_path_s=float(graph.levels(fastest).max(initial=0.0)),
        area_s=float(task_costs.least_core_seconds().sum()) / target.n_threads,
    )
