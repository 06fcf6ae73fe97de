"""The command `verdicts`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from simsched.cli.common import (
    EngineOption,
    GraphsArgument,
    JsonOption,
    LayoutOption,
    LibraryOption,
    MachineOption,
    NoiseOption,
    PoliciesOption,
    SeedOption,
    TablesOutOption,
    add_reading,
    check_outputs,
    graphs_of,
)
from simsched.cli.output import say_result
from simsched.defaults import MACHINE
from simsched.progress import progress_bar


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_reading(app, verdicts, "verdicts rnn -p fifo -p critical-path -l 8x8 --seeds 5")


def verdicts(
    graphs: GraphsArgument,
    policy: PoliciesOption = None,
    machine: MachineOption = MACHINE,
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0.1",
    library: LibraryOption = None,
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", min=1, help="Replays of each policy, from --seed on.")
    ] = 20,
    over: Annotated[
        Literal["seeds", "graphs"],
        typer.Option(
            "--over", help="seeds: a verdict on exactly these graphs; graphs: on graphs like these."
        ),
    ] = "seeds",
    json_: JsonOption = False,
    out: TablesOutOption = None,
) -> None:
    """Tell which policy is faster, and how sure that is.

    Replays each GRAPH under noise, with several seeds, and compares the policies in pairs.
    """
    from simsched.costs import CostModel
    from simsched.policy.installed import policies_or_all
    from simsched.study import verdicts as verdicts_
    from simsched.study.export import check_table_suffix, export_table

    check_outputs(out, check_table_suffix)
    model, loaded = CostModel(noise=noise, library=library), graphs_of(graphs)
    chosen = policies_or_all(policy)
    total = sum(graph.n_tasks for graph in loaded.values()) * len(chosen) * seeds
    with progress_bar(total, "replaying") as progress:
        frame = verdicts_(
            loaded, machine, chosen, layout, model, engine=engine, seeds=range(seed, seed + seeds), over=over,
            progress=progress,
        )  # fmt: skip
    say_result(frame, json_)
    for path in out or []:
        height = 1.3 + 0.16 * (len(chosen) + 1) * len(loaded)
        export_table(frame, path, frame.plot, (8.0, max(height, 2.4)))
