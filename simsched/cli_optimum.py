"""The command `optimum`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from simsched.cli_common import (
    DEFAULT_MACHINE,
    READER_HELP,
    READER_OPTIONS,
    GraphArgument,
    JsonOption,
    LayoutOption,
    LimitOption,
    MachineOption,
    SeedOption,
    graph_of,
    say,
)

EXAMPLE = """

Example: simsched optimum rand0000.stg --machine "generic[cores=4]" --layout 4x1 --limit 20 --out best.png"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(context_settings=READER_OPTIONS, epilog=EXAMPLE + READER_HELP)(optimum)


def optimum(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = DEFAULT_MACHINE,
    layout: LayoutOption = None,
    limit: LimitOption = 20.0,
    seed: SeedOption = 0,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the schedule by suffix: .png .svg .html .json .parquet .csv; repeat for more.",
        ),
    ] = None,
) -> None:
    """Search for the shortest schedule of a small GRAPH, and prove how short any can be.

    With --layout tasks are rigid, without one each gets the width that is best for all. What running tasks share and
    what decisions cost is left out, so that no replay is below the bound.
    """
    from simsched.exact import optimum as optimum_
    from simsched.schedule.export import check_suffix

    for path in out or []:
        check_suffix(path)
    tasks = graph_of(graph, context)
    found = optimum_(tasks, machine, layout, seed=seed, limit_s=limit)
    for path in out or []:
        found.schedule.save(path)
    if json_:
        say(json.dumps({**found.facts(), "notes": list(found.notes)}))
        return
    for key, value in found.facts().items():
        say(f"{key:<18} {value if not isinstance(value, float) else format(value, '.6g')}")
    for note in [*tasks.report.notes, *found.notes]:
        say(f"note: {note}")
