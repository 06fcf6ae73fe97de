"""The command `predict`."""

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
    NoiseOption,
    PolicyOption,
    SeedOption,
    epilog,
    graph_of,
    progress_bar,
)
from simsched.cli_output import records, say_json, say_table
from simsched.errors import SpecError


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        context_settings=READER_OPTIONS,
        epilog=epilog(
            "predict rnn --cores 16,34,68,136 --out cores.png",
            "predict rnn --cores 34,68 --noise 0.1 --seeds 20",
            reader=True,
        ),
    )(predict)


def predict(
    context: typer.Context,
    graph: GraphArgument,
    cores: Annotated[
        str, typer.Option("--cores", "-c", metavar="N,N,...", help="Core counts, as in 16,34,68.")
    ],
    machine: MachineOption = DEFAULT_MACHINE,
    policy: PolicyOption = "critical-path",
    executor: Annotated[
        int | None, typer.Option("--width", "-w", metavar="N", min=1, help="Cores of one executor.")
    ] = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = 0.0,
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", min=1, help="Replays, each of its own seed.")
    ] = 1,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write by suffix: .png .svg .csv .parquet; repeat for more."
        ),
    ] = None,
) -> None:
    """Predict GRAPH's makespan on other core counts.

    With noise and several seeds there is an interval, too.
    """
    from simsched.costs import CostModel
    from simsched.plots import scaling, scaling_frame
    from simsched.sweep.export import check_table_suffix, export_table

    counts = _core_counts(cores)
    for path in out or []:
        check_table_suffix(path)
    tasks = graph_of(graph, context)
    with progress_bar(tasks.n_tasks * len(counts) * seeds, "replaying") as progress:
        frame = scaling_frame(
            tasks, machine, policy, counts, CostModel(noise=noise), engine=engine,
            seeds=range(seed, seed + seeds), width=executor, progress=progress,
        ).dropna(axis="columns", how="all")  # fmt: skip
    if json_:
        say_json(records(frame))
    else:
        say_table(frame)
    for path in out or []:
        export_table(frame, path, lambda ax: scaling(frame, ax=ax))


def _core_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SpecError(f"--cores {text!r}: expected core counts, as in 16,34,68") from None
