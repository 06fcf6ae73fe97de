"""`tune`: every layout of a policy, best first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.errors import LayoutError
from simsched.machine import machine as machine_of
from simsched.policy import Layout
from simsched.policy import policy as policy_of
from simsched.replay.simulate import simulate
from simsched.schedule import Bounds, Schedule, bounds
from simsched.sweep.compare import BASELINE, comparison_row

if TYPE_CHECKING:
    import pandas as pd

    from simsched.costs import CostModel
    from simsched.graph import TaskGraph
    from simsched.machine import Machine, RuntimeProfile
    from simsched.policy import Policy
    from simsched.spec import Engine


def tune(
    graph: TaskGraph,
    machine: str | Path | Machine,
    policy: str | Policy | type[Policy],
    layouts: Iterable[str | Layout | tuple[int, int]] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    reserved: int = 0,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Replay a graph under a policy with every layout: exhaustive search, as Graphi's profiler does.

    The compiled engine replays as many layouts at a time as there are CPUs.

    Parameters
    ----------
    graph, machine, policy, costs, runtime, engine, seed, progress
        As in `simsched.simulate`.
    layouts : iterable of str, Layout or pair of int, optional
        Layouts to try, as in ["2x32", (4, 16)]; `worker_layouts` when not given. A uniform (inter-op, intra-op) of
        frameworks is a layout inter x intra of `fifo[pinned=false,oversubscribe=true]`.
    reserved : int
        Cores that are no workers, as those of a scheduler, where no layouts are given.

    Returns
    -------
    DataFrame
        One row a layout, the shortest makespan first, of equal ones that given first: the columns of
        `comparison_frame`, after `layout` also `executors` and `width`.

    Raises
    ------
    LayoutError
        If there is no layout to try, or one of them is impossible.

    References
    ----------
    Scheduling Computation Graphs of Deep Learning Models on Manycore CPUs, 2018, Sec. 4-6.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> tune(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "fifo")["layout"].tolist()
    ['2x1', '1x2']
    """
    target, chosen = machine_of(machine), policy_of(policy)
    tried = _tried(target, chosen, layouts, reserved)

    def replay(under: str | Policy, layout: Layout | None) -> Schedule:
        return simulate(graph, target, under, layout, costs, runtime, engine, seed, progress=progress)

    return _frame(chosen, tried, replay, bounds(graph, target, costs, runtime))


def _frame(
    policy: Policy,
    layouts: list[Layout],
    replay: Callable[[str | Policy, Layout | None], Schedule],
    limits: Bounds,
) -> pd.DataFrame:
    import pandas as pd

    sequential = replay(BASELINE, None)

    def row(layout: Layout) -> dict[str, Any]:
        # Only the row is kept: schedules of a million tasks would fill the memory.
        numbers = comparison_row(replay(policy, layout), sequential, limits)
        sizes = {"executors": layout.executors, "width": layout.width}
        return {"policy": numbers.pop("policy"), "layout": numbers.pop("layout"), **sizes, **numbers}

    frame = pd.DataFrame(_at_once(row, layouts))
    return frame.sort_values("makespan_s", kind="stable", ignore_index=True)


def worker_layouts(machine: Machine, reserved: int = 0) -> list[Layout]:
    """Return the layouts that use all worker cores: executor counts that divide them, the fewest first.

    Parameters
    ----------
    machine : Machine
    reserved : int
        Cores that are no workers.

    Raises
    ------
    LayoutError
        If no core is left.

    Examples
    --------
    >>> [str(layout) for layout in worker_layouts(machine_of("knl-7250"), reserved=4)]
    ['1x64', '2x32', '4x16', '8x8', '16x4', '32x2', '64x1']
    """
    if not 0 <= reserved < machine.n_cores:
        raise LayoutError(
            f"reserved is {reserved}; of the {machine.n_cores} cores of {machine} at least one must be left"
        )
    workers = machine.n_cores - reserved
    return [Layout(k, workers // k) for k in range(1, workers + 1) if workers % k == 0]


def _tried(
    machine: Machine,
    policy: Policy,
    layouts: Iterable[str | Layout | tuple[int, int]] | None,
    reserved: int,
) -> list[Layout]:
    if not policy.takes_layout:
        raise LayoutError(
            f"policy {policy} chooses its own widths and cores; there is no layout of it to tune"
        )
    if layouts is None:
        every = worker_layouts(machine, reserved)
        return [layout for layout in every if policy.suited(layout) is not None]
    if reserved:
        raise LayoutError(f"reserved is {reserved}, and layouts are given: give one of the two")
    if isinstance(layouts, str) or not (found := [Layout.parse(layout) for layout in layouts]):
        raise LayoutError(f"layouts is {layouts!r}; expected at least one, as in ['2x32', '4x16']")
    return found


def _at_once(row: Callable[[Layout], dict[str, Any]], layouts: list[Layout]) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            return list(pool.map(row, layouts))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
