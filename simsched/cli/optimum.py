"""The command `optimum`."""

from __future__ import annotations

import typer

from simsched.cli.common import (
    GivenLayoutOption,
    GraphArgument,
    JsonOption,
    LimitOption,
    MachineOption,
    SchedulesOutOption,
    SeedOption,
    add_reading,
    check_outputs,
    graph_of,
    waiting,
)
from simsched.cli.output import say_facts, say_json
from simsched.defaults import MACHINE
from simsched.notes import weighed


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_reading(app, optimum, "optimum small.simsched -m generic[cores=4] -l 4x1 -o best.png")


def optimum(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = MACHINE,
    layout: GivenLayoutOption = None,
    limit: LimitOption = 20.0,
    seed: SeedOption = 0,
    json_: JsonOption = False,
    out: SchedulesOutOption = None,
) -> None:
    """Find GRAPH's shortest schedule, and prove it.

    For small graphs, by CP-SAT. With --layout all tasks have its width; without it, each gets the width that is best
    for the whole schedule. Contention and the cost of decisions are left out, so that no replay is below the bound.
    """
    from simsched.exact import optimum as optimum_
    from simsched.schedule.export import check_suffix

    check_outputs(out, check_suffix)
    tasks = graph_of(graph, context)
    with waiting("searching"):
        found = optimum_(tasks, machine, layout, seed=seed, limit_s=limit)
    for path in out or []:
        found.schedule.save(path)
    notes = weighed(tasks.report.notes, found.notes, found.schedule.notes)
    if json_:
        say_json({**found.facts(), "notes": list(notes)})
    else:
        say_facts(found.facts(), notes)
