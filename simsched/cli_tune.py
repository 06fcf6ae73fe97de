"""The command `tune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli_common import (
    DEFAULT_MACHINE,
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
    progress_bar,
)
from simsched.cli_output import records, say_json, say_table
from simsched.spec import Search

if TYPE_CHECKING:
    import pandas as pd

#: Policies that a search takes when none is given.
SUITED = {
    "enumerate": ["critical-path"],
    "widths": ["kind-widths"],
    "optuna": ["critical-path", "fifo", "corun", "kind-widths"],
}

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
    machine: MachineOption = DEFAULT_MACHINE,
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
    from simsched.machine import machine as machine_of
    from simsched.sweep import tune as tune_
    from simsched.sweep.export import check_table_suffix

    check_outputs(out, check_table_suffix)
    cores = machine_of(machine).n_cores - reserved
    tasks = graph_of(graph, context)
    with progress_bar(None, "replaying") as progress:
        frame = tune_(
            tasks, machine, policy or SUITED[method], layout, engine=engine, seed=seed, method=method,
            evaluations=evaluations, reserved=reserved, progress=progress,
        )  # fmt: skip
    if json_:
        say_json(records(frame))
    else:
        say_table(frame)
    for path in out or []:
        _export(frame, method, cores, path)


def _export(frame: pd.DataFrame, method: str, cores: int, path: Path) -> None:
    """Write the table, or the picture that suits the search."""
    from simsched.plots import comparison, layouts, layouts_frame, tuning, tuning_frame
    from simsched.sweep.export import export_table

    if method != "enumerate":
        history = tuning_frame({method: frame})
        export_table(history, path, lambda ax: tuning(history, ax=ax))
    # Layouts of all cores are a list; more for one number of executors are a grid, of one policy.
    elif frame["executors"].duplicated().any() and frame["policy"].nunique() == 1:
        export_table(frame, path, lambda ax: layouts(layouts_frame(frame, cores), ax=ax), (8.0, 4.4))
    else:
        export_table(frame, path, lambda ax: comparison(frame, ax=ax), (7.0, 1.3 + 0.35 * len(frame)))
