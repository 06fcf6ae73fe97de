"""The command `predict`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli_common import (
    DEFAULT_MACHINE,
    EngineOption,
    GraphArgument,
    JsonOption,
    MachineOption,
    NoiseOption,
    PolicyOption,
    SeedOption,
    TablesOutOption,
    add_reading,
    check_outputs,
    graph_of,
    progress_bar,
    say,
)
from simsched.cli_output import records, say_json, say_table
from simsched.errors import SpecError

if TYPE_CHECKING:
    import pandas as pd

    from simsched.graph import TaskGraph

#: Stands in a workload for the number of cores.
GROWS = "{cores}"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_reading(
        app,
        predict,
        "predict rnn --cores 16,34,68,136 --out cores.png",
        "predict 'rnn[batch={cores}]' --cores 16,32 --noise 0.1 --samples 10",
    )


def predict(
    context: typer.Context,
    graph: GraphArgument,
    cores: Annotated[
        str, typer.Option("--cores", "-c", metavar="N,N,...", help="Core counts, as in 16,34,68.")
    ],
    machine: MachineOption = DEFAULT_MACHINE,
    policy: PolicyOption = "critical-path",
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            "-w",
            metavar="N",
            min=1,
            help="Cores of each executor; default: the policy's.",
        ),
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="Weak scaling: more cores run copies of GRAPH, the fewest run one.")
    ] = False,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    samples: Annotated[
        int,
        typer.Option("--samples", metavar="N", min=1, help="Replays of each core count; 1 for no interval."),
    ] = 20,
    json_: JsonOption = False,
    out: TablesOutOption = None,
) -> None:
    """Predict GRAPH's makespan on other core counts.

    The table also has an interval for each makespan, and the bottleneck. A workload may grow with the cores:
    rnn[batch={cores}].
    """
    from simsched.costs import CostModel
    from simsched.plots import scaling
    from simsched.sweep import predict as predict_
    from simsched.sweep.export import check_table_suffix, export_table

    counts, model = _core_counts(cores), CostModel(noise=noise)
    check_outputs(out, check_table_suffix)
    tasks = _growing(graph, context, weak)
    total = None if weak or callable(tasks) else tasks.n_tasks * len(counts) * samples
    with progress_bar(total, "replaying") as progress:
        frame = predict_(
            tasks, machine, policy, counts, model, engine=engine, seed=seed, width=width, weak=weak,
            samples=samples, progress=progress,
        )  # fmt: skip
    if json_:
        say_json(records(frame))
    else:
        _print(frame)
    for path in out or []:
        export_table(frame, path, lambda ax: scaling(frame, ax=ax), (8.0, 4.2))


def _growing(graph: str, context: typer.Context, weak: bool) -> TaskGraph | Callable[[int], TaskGraph]:
    if GROWS not in graph:
        return graph_of(graph, context)
    if weak:
        raise SpecError(f"{graph!r} grows with the cores by itself; leave out --weak, or {GROWS}")
    return lambda count: graph_of(graph.replace(GROWS, str(count)), context)


def _core_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SpecError(f"--cores {text!r}: expected core counts, as in 16,34,68") from None


def _print(frame: pd.DataFrame) -> None:
    """Print the table, and below it what is noted of its rows."""
    shown = frame.drop(columns=["critical_path_s", "area_s", "samples", "note", "utilization"])
    for column in ("knee", "extrapolated"):
        shown[column] = shown[column].map({True: "yes", False: ""})
    say_table(shown.dropna(axis="columns", how="all"))
    for cores, note in zip(frame["cores"], frame["note"], strict=True):
        if note:
            say(f"note: {cores} cores: {note}")
