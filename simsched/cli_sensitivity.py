"""The command `sensitivity`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simsched.cli_common import (
    DEFAULT_MACHINE,
    READER_HELP,
    READER_OPTIONS,
    EngineOption,
    GraphArgument,
    JsonOption,
    LayoutOption,
    MachineOption,
    NoiseOption,
    SeedOption,
    graph_of,
    progress_bar,
    say,
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(context_settings=READER_OPTIONS, epilog=READER_HELP)(sensitivity)


def sensitivity(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = DEFAULT_MACHINE,
    policy: Annotated[str, typer.Option("--policy", "-p", help="A policy.")] = "critical-path",
    layout: LayoutOption = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", help="A number, as cores.clock; repeat for more. All when not given."),
    ] = None,
    change: Annotated[float, typer.Option("--change", help="Change of a number for its elasticity.")] = 0.1,
    sobol: Annotated[
        int, typer.Option("--sobol", help="Sobol's indices from so many samples, a power of two, as 64.")
    ] = 0,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help="Write by suffix: .png .svg .csv .parquet; repeat for more."),
    ] = None,
) -> None:
    """Tell which numbers of the machine and of cost curves move the makespan of GRAPH most.

    As in: simsched sensitivity "lstm[size=medium]" --machine knl-7250 --layout 17x4 --out tornado.png
    """
    from simsched.costs import CostModel
    from simsched.plots import sobol_bars, tornado
    from simsched.sweep import sensitivity as sensitivity_
    from simsched.sweep import sobol as sobol_
    from simsched.sweep.export import check_table_suffix, export_table
    from simsched.tables import table_text

    for path in out or []:
        check_table_suffix(path)
    model, tasks = CostModel(noise=noise), graph_of(graph, context)
    given = (tasks, machine, policy, layout, model, None, engine, seed)
    with progress_bar(None, "replaying") as progress:
        if sobol:
            frame = sobol_(*given, parameters=parameter, samples=sobol, progress=progress)
        else:
            frame = sensitivity_(*given, parameters=parameter, change=change, progress=progress)
    say(frame.to_json(orient="records", double_precision=15) if json_ else table_text(frame))
    draw = sobol_bars if sobol else tornado
    for path in out or []:
        export_table(frame, path, lambda ax: draw(frame, ax=ax), (8.0, 1.4 + 0.36 * min(len(frame), 15)))
