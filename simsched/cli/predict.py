"""The command `predict`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli.common import (
    EngineOption,
    GraphArgument,
    JsonOption,
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
from simsched.errors import SpecError
from simsched.progress import progress_bar

if TYPE_CHECKING:
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
        str | None,
        typer.Option(
            "--cores",
            "-c",
            metavar="N,N-N,...",
            help="Core counts, as in 16,34,68; 8-256 doubles. Default: halves and doubles of the machine's.",
        ),
    ] = None,
    machine: MachineOption = MACHINE,
    policy: PolicyOption = POLICY,
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
    library: LibraryOption = None,
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
    from simsched.machine import machine as machine_of
    from simsched.study import predict as predict_
    from simsched.study.core_counts import core_counts
    from simsched.study.export import check_table_suffix, export_table

    counts, model = core_counts(cores, machine_of(machine)), CostModel(noise=noise, library=library)
    check_outputs(out, check_table_suffix)
    tasks = _growing(graph, context, weak)
    with progress_bar(_total(tasks, len(counts), samples), "replaying") as progress:
        frame = predict_(
            tasks, machine, policy, counts, model, engine=engine, seed=seed, width=width, weak=weak,
            samples=samples, progress=progress,
        )  # fmt: skip
    say_result(frame, json_)
    for path in out or []:
        export_table(frame, path, frame.plot, (8.0, 4.2))


def _total(tasks: TaskGraph | Callable[[int], TaskGraph], counts: int, samples: int) -> int | None:
    """Return how many tasks are replayed at most; None where it is not known."""
    from simsched.replay.best_layout import MOST_REPLAYS

    return None if callable(tasks) else tasks.n_tasks * counts * (samples + MOST_REPLAYS)


def _growing(graph: str, context: typer.Context, weak: bool) -> TaskGraph | Callable[[int], TaskGraph]:
    if GROWS not in graph:
        return graph_of(graph, context)
    if weak:
        raise SpecError(f"{graph!r} grows with the cores by itself; leave out --weak, or {GROWS}")
    return lambda count: graph_of(graph.replace(GROWS, str(count)), context)
