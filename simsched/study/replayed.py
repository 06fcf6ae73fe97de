"""Makespans of policies on graphs under seeds: a tidy table, the ground of every comparison with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.defaults import MACHINE
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.machine import machine as machine_of
from simsched.plots.policies import draw_replayed
from simsched.policy import Layout
from simsched.policy.installed import policies_or_all
from simsched.policy.layout import BEST, Best
from simsched.progress import shows_progress
from simsched.replay.parallel_map import parallel_map
from simsched.replay.simulate import layout_found, simulate
from simsched.schedule.caveats import notes_of

if TYPE_CHECKING:
    from simsched.costs import CostModel
    from simsched.document.result import Result
    from simsched.machine import Machine, RuntimeProfile
    from simsched.policy import Policy
    from simsched.schedule import Schedule
    from simsched.spec import Engine

#: Replays of each graph and policy, where nothing else is said.
SEEDS = 20
COLUMNS = ("graph", "policy", "layout", "seed", "makespan_s")


@shows_progress
def replayed(
    graphs: TaskGraph | Mapping[str, TaskGraph],
    machine: str | Path | Machine = MACHINE,
    policies: Sequence[str | Policy | type[Policy]] | None = None,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    *,
    seeds: Sequence[int] = range(SEEDS),
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Replay every graph under every policy with every seed.

    With the same seed a task has the same noise under every policy (common random numbers): policies differ by no luck.

    Parameters
    ----------
    graphs : TaskGraph, or mapping of str to TaskGraph
        One graph, or several by the names that they have in the table.
    machine, policies, layout, costs, runtime, engine, progress
        As in `simsched.compare`. A layout that replays find is that of the first seed, for all seeds.
    seeds : sequence of int
        Seeds; each graph and policy is replayed once with each.

    Returns
    -------
    Result
        One row a replay: graph, policy, layout, seed, makespan_s.

    Raises
    ------
    SimschedError
        If there are no graphs by name, no policies or no seeds, or one is listed twice.

    Examples
    --------
    >>> import simsched as ss
    >>> graphs = {"three": ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])}
    >>> runs = ss.replayed(graphs, "generic[cores=2]", ["sequential", "fifo"], seeds=[0])
    >>> runs.values.tolist()
    [['three', 'sequential', '1x2', 0, 6.0], ['three', 'fifo', '2x1', 0, 4.0]]
    """
    target, wanted = machine_of(machine), Layout.wanted(layout)
    by_name = {graphs.name: graphs} if isinstance(graphs, TaskGraph) else graphs
    chosen = _checked(by_name, policies, seeds)

    pairs = [(graph, policy) for graph in by_name for policy in chosen]
    same: dict[str, Any] = {"costs": costs, "runtime": runtime, "engine": engine, "progress": progress}
    find = partial(layout_found, seed=seeds[0], **same)
    layouts = _settled([(by_name[graph], policy) for graph, policy in pairs], target, wanted, find)
    of_pair = dict(zip(pairs, layouts, strict=True))

    def row(case: tuple[str, Policy, int]) -> dict[str, Any]:
        graph, policy, seed = case
        found = simulate(by_name[graph], target, policy, of_pair[graph, policy], seed=seed, **same)
        return _row(graph, found)

    return _result(parallel_map(row, [(*pair, seed) for pair in pairs for seed in seeds]))


def _result(rows: list[dict[str, Any]]) -> Result:
    from simsched.document.result import Result

    notes = [note for row in rows for note in row.pop("notes")]
    return Result.of(rows, notes, draw_replayed)


def _row(graph: str, schedule: Schedule) -> dict[str, Any]:
    values = (
        graph,
        schedule.policy,
        schedule.layout,
        schedule.seed,
        schedule.makespan_s,
        notes_of([schedule]),
    )
    return dict(zip([*COLUMNS, "notes"], values, strict=True))


def _settled(
    pairs: Sequence[tuple[TaskGraph, Policy]],
    machine: Machine,
    wanted: Layout | Best | None,
    find: Callable[..., Layout | None],
) -> list[Layout | Best]:
    """Return the layout of each pair of graph and policy: the one given where it is suited, or the best."""

    def settled(pair: tuple[TaskGraph, Policy]) -> Layout | Best:
        asked = pair[1].suited_or_best(wanted)
        return (find(pair[0], machine, pair[1], BEST) or BEST) if asked == BEST else asked

    return parallel_map(settled, pairs)


def _checked(
    graphs: Mapping[str, TaskGraph],
    policies: Sequence[str | Policy | type[Policy]] | None,
    seeds: Sequence[int],
) -> list[Policy]:
    """Return the policies, after a look for what is empty or listed twice."""
    if not isinstance(graphs, Mapping):
        raise SimschedError(f"graphs is {graphs!r:.80}; expected graphs by name, as in {{'mine': graph}}")
    chosen = policies_or_all(policies)
    for name, given in (("graphs", [*graphs]), ("policies", [*map(str, chosen)]), ("seeds", [*seeds])):
        if not given:
            raise SimschedError(f"{name} is {given!r}; expected at least one")
        if twice := [one for place, one in enumerate(given) if one in given[:place]]:
            raise SimschedError(f"{name}: {twice[0]!r} is listed twice; leave one out")
    return chosen
