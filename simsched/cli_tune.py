"""The command `tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simsched.cli_common import (
    DEFAULT_MACHINE,
    READER_OPTIONS,
    EngineOption,
    GraphArgument,
    JsonOption,
    MachineOption,
    PolicyOption,
    SeedOption,
    epilog,
    graph_of,
    progress_bar,
)
from simsched.cli_output import records, say_json, say_table


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        context_settings=READER_OPTIONS,
        epilog=epilog("tune rnn --policy fifo", "tune rnn -l 4x17 -l 8x8 --out layouts.png", reader=True),
    )(tune)


def tune(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = DEFAULT_MACHINE,
    policy: PolicyOption = "critical-path",
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--layout", "-l", metavar="ExC", help="Executors x cores; repeat for more. All when not given."
        ),
    ] = None,
    reserved: Annotated[
        int, typer.Option("--reserved", metavar="N", min=0, help="Cores that are no workers.")
    ] = 0,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write by suffix: .png .svg .csv .parquet; repeat for more."
        ),
    ] = None,
) -> None:
    """Replay GRAPH with every layout, best first.

    The picture is a heat map where layouts are a grid.
    """
    from simsched.machine import machine as machine_of
    from simsched.plots import comparison, layouts, layouts_frame
    from simsched.sweep import tune as tune_
    from simsched.sweep.export import check_table_suffix, export_table

    for path in out or []:
        check_table_suffix(path)
    cores = machine_of(machine).n_cores - reserved
    tasks = graph_of(graph, context)
    with progress_bar(None, "replaying") as progress:
        frame = tune_(
            tasks, machine, policy, layout, engine=engine, seed=seed, reserved=reserved, progress=progress
        )
    if json_:
        say_json(records(frame))
    else:
        say_table(frame)
    for path in out or []:
        # Layouts of all cores are a list; more for one number of executors are a grid.
        if frame["executors"].duplicated().any():
            export_table(frame, path, lambda ax: layouts(layouts_frame(frame, cores), ax=ax), (8.0, 4.4))
        else:
            export_table(frame, path, lambda ax: comparison(frame, ax=ax), (7.0, 1.3 + 0.35 * len(frame)))
