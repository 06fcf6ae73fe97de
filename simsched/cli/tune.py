"""The command `tune`."""

from __future__ import annotations

from typing import Annotated

import typer

from simsched.cli.common import (
    POLICIES,
    EngineOption,
    GraphArgument,
    JsonOption,
    MachineOption,
    SeedOption,
    TablesOutOption,
    add_reading,
    check_outputs,
    graph_of,
)
from simsched.cli.output import say_result
from simsched.defaults import MACHINE
from simsched.progress import progress_bar
from simsched.spec import Search

MethodOption = Annotated[
    Search,
    typer.Option(
        "--method",
        help="enumerate: every layout; widths: one kind's width at a time; optuna: policy, layout and widths.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_reading(
        app, tune, "tune rnn --policy fifo", "tune rnn --method optuna --evaluations 20 --out history.png"
    )


def tune(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = MACHINE,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            autocompletion=POLICIES,
            help="A policy; repeat for more. Default: those that suit the method.",
        ),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--layout", "-l", metavar="ExC", help="Executors x cores; repeat for more. Default: all."
        ),
    ] = None,
    reserved: Annotated[
        int, typer.Option("--reserved", metavar="N", min=0, help="Cores to leave out, as for a scheduler.")
    ] = 0,
    method: MethodOption = "enumerate",
    evaluations: Annotated[
        int,
        typer.Option("--evaluations", min=1, metavar="N", help="Most replays of widths and optuna."),
    ] = 100,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    json_: JsonOption = False,
    out: TablesOutOption = None,
) -> None:
    """Search GRAPH's best layout, policy and widths.

    Everything that was tried is printed, best first. The picture is a heat map if the layouts are a grid, otherwise
    the best makespan so far by the number of replays.
    """
    from simsched.plots.tuned import tuned_size
    from simsched.study import tune as tune_
    from simsched.study.export import check_table_suffix, export_table

    check_outputs(out, check_table_suffix)
    tasks = graph_of(graph, context)
    with progress_bar(None, "replaying") as progress:
        frame = tune_(
            tasks, machine, policy, layout, engine=engine, seed=seed, method=method,
            evaluations=evaluations, reserved=reserved, progress=progress,
        )  # fmt: skip
    say_result(frame, json_)
    for path in out or []:
        export_table(frame, path, frame.plot, tuned_size(frame, method))
