"""`predict`: makespan by hypothetical core count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.errors import MachineError
from simsched.machine import machine as machine_of
from simsched.replay.simulate import simulate
from simsched.schedule import bounds

if TYPE_CHECKING:
    import pandas as pd

    from simsched.costs import CostModel
    from simsched.graph import TaskGraph
    from simsched.machine import Machine, RuntimeProfile
    from simsched.policy import Policy
    from simsched.spec import Engine


def predict(
    graph: TaskGraph,
    machine: str | Path | Machine,
    policy: str | Policy | type[Policy],
    cores: Sequence[int],
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    width: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Predict the makespan for hypothetical core counts of a machine.

    Parameters
    ----------
    graph, machine, policy, costs, runtime, engine, seed, progress
        As in `simsched.simulate`. The machine's tiles stay whole and its memory stays as it is.
    cores : sequence of int
        Core counts.
    width : int, optional
        Cores of one executor, on as many executors as fit; the policy's default layout when not given.

    Returns
    -------
    DataFrame
        One row a core count: cores; layout; makespan_s; critical_path_s, area_s (lower bounds for every policy);
        bound_s (the larger); speedup (over one core that runs every task alone); efficiency (speedup over cores);
        utilization.

    Raises
    ------
    MachineError
        If there are no core counts, or one of them is impossible.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> ss.predict(graph, "generic", "critical-path", [1, 2, 4])[["cores", "makespan_s"]].values.tolist()
    [[1.0, 6.0], [2.0, 4.0], [4.0, 4.0]]
    """
    import pandas as pd

    if not hasattr(cores, "__len__") or len(cores) == 0:
        raise MachineError(f"cores is {cores!r}; expected at least one core count, as in [17, 34, 68]")
    base = machine_of(machine)
    rows = []
    for count in cores:
        target = base.varied({"cores": count})
        layout = None if width is None else (max(count // width, 1), width)
        schedule = simulate(graph, target, policy, layout, costs, runtime, engine, seed, progress=progress)
        limits = bounds(graph, target, costs, runtime)
        speedup = limits.area_s * count / schedule.makespan_s if schedule.makespan_s else 1.0
        rows.append({
            "cores": count,
            "layout": schedule.layout,
            "makespan_s": schedule.makespan_s,
            "critical_path_s": limits.critical_path_s,
            "area_s": limits.area_s,
            "bound_s": limits.bound_s,
            "speedup": speedup,
            "efficiency": speedup / count,
            "utilization": schedule.utilization,
        })  # fmt: skip
    return pd.DataFrame(rows)
