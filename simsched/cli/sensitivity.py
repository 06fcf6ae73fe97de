"""The command `sensitivity`."""

from __future__ import annotations

from typing import Annotated

import typer

from simsched.cli.common import (
    EngineOption,
    GraphArgument,
    JsonOption,
    LayoutOption,
    LibraryOption,
    MachineOption,
    NoiseOption,
    PolicyOption,
    SeedOption,
    TablesOutOption,
    add_reading,
    check_outputs,
    graph_of,
)
from simsched.cli.output import say_result
from simsched.defaults import MACHINE, POLICY
from simsched.progress import progress_bar


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_reading(
        app, sensitivity, "sensitivity rnn -l 17x4 -o tornado.png", "sensitivity rnn --parameter cores.clock"
    )


def sensitivity(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = MACHINE,
    policy: PolicyOption = POLICY,
    layout: LayoutOption = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="NUMBER",
            help="A number, as cores.clock; repeat for more. Default: all.",
        ),
    ] = None,
    change: Annotated[
        float,
        typer.Option("--change", metavar="SHARE", help="Relative change of a number for its elasticity."),
    ] = 0.1,
    sobol: Annotated[
        int,
        typer.Option(
            "--sobol", metavar="N", help="Compute Sobol's indices from N samples, a power of two, as 64."
        ),
    ] = 0,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    library: LibraryOption = None,
    json_: JsonOption = False,
    out: TablesOutOption = None,
) -> None:
    """Tell which numbers move GRAPH's makespan most.

    Varies numbers of the machine and of the cost curves, one at a time, or all together with --sobol.
    """
    from simsched.costs import CostModel
    from simsched.study import sensitivity as sensitivity_
    from simsched.study import sobol as sobol_
    from simsched.study.export import check_table_suffix, export_table

    check_outputs(out, check_table_suffix)
    model, tasks = CostModel(noise=noise, library=library), graph_of(graph, context)
    given = (tasks, machine, policy, layout, model, None, engine, seed)
    with progress_bar(None, "replaying") as progress:
        if sobol:
            frame = sobol_(*given, parameters=parameter, samples=sobol, progress=progress)
        else:
            frame = sensitivity_(*given, parameters=parameter, change=change, progress=progress)
    say_result(frame, json_)
    for path in out or []:
        export_table(frame, path, frame.plot, (8.0, 1.4 + 0.36 * min(len(frame), 15)))
