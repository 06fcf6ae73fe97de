"""Makespans of policies on graphs under seeds: a tidy table, the basis of every comparison with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simsched.costs import CostModel
from simsched.costs.own_machine import machine_for
from simsched.document.result import Result
from simsched.errors import SimschedError, SpecError
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.plots.policies import draw_replayed
from simsched.policy import Layout, Policy
from simsched.policy.installed import policies_or_all
from simsched.policy.layout import BEST
from simsched.progress import shows_progress
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.schedule.caveats import notes_of
from simsched.spec import Engine

#: Default number of replays of each graph and policy.
SEEDS = 20


@shows_progress
def replayed(
    graphs: TaskGraph | Mapping[str, TaskGraph],
    machine: str | Path | Machine | None = None,
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

    With the same seed a task has the same noise under every policy (common random numbers): differences are not luck.

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
    by_name = {graphs.name: graphs} if isinstance(graphs, TaskGraph) else graphs
    chosen = _checked(by_name, policies, seeds)
    scenario = Scenario.of(_one_machine(by_name, machine), layout, costs, runtime, engine, progress=progress)
    pairs = [(graph, policy) for graph in by_name for policy in chosen]
    first = replace(scenario, seed=seeds[0])
    settled = parallel_map(lambda pair: _settled(first, by_name[pair[0]], pair[1]), pairs)
    of_pair = dict(zip(pairs, settled, strict=True))

    def row(case: tuple[str, Policy, int]) -> dict[str, Any]:
        graph, policy, seed = case
        return _row(graph, replace(of_pair[graph, policy], seed=seed).replay(by_name[graph], policy))

    return _result(parallel_map(row, [(*pair, seed) for pair in pairs for seed in seeds]))


def _one_machine(graphs: Mapping[str, TaskGraph], machine: str | Path | Machine | None) -> Machine:
    """Return the machine of all graphs, named or their own."""
    found = {graph: machine_for(graphs[graph], machine) for graph in graphs}
    if len({str(one) for one in found.values()}) > 1:
        said = ", ".join(f"{graph} on {one}" for graph, one in found.items())
        raise SpecError(f"no machine is named, and the graphs are of different ones ({said}); name one")
    return next(iter(found.values()))


def _settled(scenario: Scenario, graph: TaskGraph, policy: Policy) -> Scenario:
    """Return the scenario of a graph and a policy: with the layout given where it is suited, or the best."""
    layout = policy.suited_or_best(scenario.layout)
    asked = replace(scenario, layout=layout)
    return replace(asked, layout=asked.layout_of(graph, policy) or BEST) if layout == BEST else asked


def _result(rows: list[dict[str, Any]]) -> Result:
    notes = [note for row in rows for note in row.pop("notes")]
    return Result.of(rows, notes, draw_replayed)


def _row(graph: str, schedule: Schedule) -> dict[str, Any]:
    return {
        "graph": graph,
        "policy": schedule.policy,
        "layout": schedule.layout,
        "seed": schedule.seed,
        "makespan_s": schedule.makespan_s,
        "notes": notes_of([schedule]),
    }


def _checked(
    graphs: Mapping[str, TaskGraph],
    policies: Sequence[str | Policy | type[Policy]] | None,
    seeds: Sequence[int],
) -> list[Policy]:
    """Return the policies, after a check for empty or duplicate arguments."""
    if not isinstance(graphs, Mapping):
        raise SimschedError(f"graphs is {graphs!r:.80}; expected graphs by name, as in {{'mine': graph}}")
    chosen = policies_or_all(policies)
    for name, given in (("graphs", [*graphs]), ("policies", [*map(str, chosen)]), ("seeds", [*seeds])):
        if not given:
            raise SimschedError(f"{name} is {given!r}; expected at least one")
        if twice := [one for place, one in enumerate(given) if one in given[:place]]:
            raise SimschedError(f"{name}: {twice[0]!r} is listed twice; leave one out")
    return chosen
