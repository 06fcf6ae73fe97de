"""The command `predict`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli_common import (
    DEFAULT_MACHINE,
    READER_HELP,
    READER_OPTIONS,
    EngineOption,
    GraphArgument,
    JsonOption,
    MachineOption,
    NoiseOption,
    SeedOption,
    graph_of,
    progress_bar,
    say,
)
from simsched.errors import SpecError

if TYPE_CHECKING:
    import pandas as pd

    from simsched.graph import TaskGraph

#: Stands in a workload for the number of cores.
GROWS = "{cores}"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(context_settings=READER_OPTIONS, epilog=READER_HELP)(predict)


def predict(
    context: typer.Context,
    graph: GraphArgument,
    cores: Annotated[str, typer.Option("--cores", "-c", help="Core counts, as in 17,34,68,136.")],
    machine: MachineOption = DEFAULT_MACHINE,
    policy: Annotated[str, typer.Option("--policy", "-p", help="A policy.")] = "critical-path",
    width: Annotated[int | None, typer.Option("--width", "-w", min=1, help="Cores of one executor.")] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="GRAPH is for the fewest cores; others run copies of it.")
    ] = False,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    samples: Annotated[
        int, typer.Option("--samples", min=1, help="Replays of each core count; 1 for no interval.")
    ] = 20,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help="Write by suffix: .png .svg .csv .parquet; repeat for more."),
    ] = None,
) -> None:
    """Predict the makespan of GRAPH for hypothetical core counts, within what it lies, and what binds.

    A workload may grow with the cores: simsched predict "lstm[batch={cores}]" --cores 16,32,64
    """
    from simsched.costs import CostModel
    from simsched.plots import scaling
    from simsched.sweep import predict as predict_
    from simsched.sweep.export import check_table_suffix, export_table

    counts, model = _core_counts(cores), CostModel(noise=noise)
    for path in out or []:
        check_table_suffix(path)
    tasks = _growing(graph, context, weak)
    total = None if weak or callable(tasks) else tasks.n_tasks * len(counts) * samples
    with progress_bar(total, "replaying") as progress:
        frame = predict_(
            tasks, machine, policy, counts, model, engine=engine, seed=seed, width=width, weak=weak,
            samples=samples, progress=progress,
        )  # fmt: skip
    say(frame.to_json(orient="records", double_precision=15) if json_ else _text(frame))
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
        raise SpecError(f"--cores {text!r}: expected core counts, as in 17,34,68,136") from None


def _text(frame: pd.DataFrame) -> str:
    """Return the table for a terminal, and below it what is noted of its rows."""
    from simsched.tables import table_text

    shown = frame.drop(columns=["critical_path_s", "area_s", "samples", "note", "utilization"])
    for column in ("knee", "extrapolated"):
        shown[column] = shown[column].map({True: "yes", False: ""})
    notes = [
        f"note: {cores} cores: {note}"
        for cores, note in zip(frame["cores"], frame["note"], strict=True)
        if note
    ]
    return "\n".join([table_text(shown.dropna(axis="columns", how="all")), *notes])
