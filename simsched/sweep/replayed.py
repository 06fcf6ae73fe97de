"""Makespans of policies on graphs under seeds: a tidy table, the ground of every comparison with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.errors import SimschedError
from simsched.machine import machine as machine_of
from simsched.policy import Layout
from simsched.policy.policy import policies as policies_of
from simsched.replay.at_once import at_once
from simsched.replay.simulate import simulate

if TYPE_CHECKING:
    import pandas as pd

    from simsched.costs import CostModel
    from simsched.graph import TaskGraph
    from simsched.machine import Machine, RuntimeProfile
    from simsched.policy import Policy
    from simsched.spec import Engine

COLUMNS = ("graph", "policy", "layout", "seed", "makespan_s")


def replayed(
    graphs: Mapping[str, TaskGraph],
    machine: str | Path | Machine,
    policies: Sequence[str | Policy | type[Policy]],
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    *,
    seeds: Sequence[int] = range(10),
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Replay every graph under every policy with every seed.

    With the same seed a task has the same noise under every policy (common random numbers), so that policies differ by
    what they do and not by luck.

    Parameters
    ----------
    graphs : mapping of str to TaskGraph
        The graphs, by the names that they have in the table.
    machine, layout, costs, runtime, engine, progress
        As in `simsched.compare`.
    policies : sequence of policies
        At least one.
    seeds : sequence of int
        Seeds; each graph and policy is replayed once with each.

    Returns
    -------
    DataFrame
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
    import pandas as pd

    target, wanted = machine_of(machine), None if layout is None else Layout.parse(layout)
    chosen = _checked(graphs, policies, seeds)

    def row(case: tuple[str, Policy, int]) -> dict[str, object]:
        graph, policy, seed = case
        given = (graphs[graph], target, policy, policy.suited(wanted), costs, runtime, engine, seed)
        schedule = simulate(*given, progress=progress)
        values = (graph, schedule.policy, schedule.layout, seed, schedule.makespan_s)
        return dict(zip(COLUMNS, values, strict=True))

    cases = [(graph, policy, seed) for graph in graphs for policy in chosen for seed in seeds]
    return pd.DataFrame(at_once(row, cases))


def _checked(
    graphs: Mapping[str, TaskGraph], policies: Sequence[str | Policy | type[Policy]], seeds: Sequence[int]
) -> list[Policy]:
    """Return the policies, after a look for what is empty or listed twice."""
    if not isinstance(graphs, Mapping):
        raise SimschedError(f"graphs is {graphs!r:.80}; expected graphs by name, as in {{'mine': graph}}")
    chosen = policies_of(policies)
    for name, given in (("graphs", [*graphs]), ("policies", [*map(str, chosen)]), ("seeds", [*seeds])):
        if not given:
            raise SimschedError(f"{name} is {given!r}; expected at least one")
        if twice := [one for place, one in enumerate(given) if one in given[:place]]:
            raise SimschedError(f"{name}: {twice[0]!r} is listed twice; leave one out")
    return chosen
