"""The commands that replay many times: `predict`, `machines`, `tune`, `sensitivity` and `verdicts`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

import simsched as ss
from simsched.cli.common import (
    MACHINES,
    POLICIES,
    EngineOption,
    GraphArgument,
    GraphsArgument,
    JsonOption,
    LayoutOption,
    LibraryOption,
    MachineOption,
    NoiseOption,
    PoliciesOption,
    PolicyOption,
    SamplesOption,
    SeedOption,
    TablesOutOption,
    check_tables,
    graph_of,
    graphs_of,
    names_and_options,
    question,
    reading_command,
    say_result,
)  # fmt: skip
from simsched.defaults import POLICY, RECORDED_POLICY
from simsched.document.result import Result
from simsched.errors import SpecError
from simsched.graph import TaskGraph
from simsched.progress import progress_bar
from simsched.spec import Search

#: Placeholder for the number of cores in a workload.
GROWS = "{cores}"
LearnedOption = Annotated[
    Path | None,
    typer.Option(
        "--learned",
        metavar="TOML",
        help="From recordings: what `simsched learn --out FILE` wrote; --policy is then fifo by default.",
    ),
]
MethodOption = Annotated[
    Search,
    typer.Option(
        "--method",
        help="enumerate: every layout; widths: one kind's width at a time; optuna: policy, layout and widths.",
    ),
]


@reading_command(
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
    machine: MachineOption = None,
    learned: LearnedOption = None,
    policy: PolicyOption = POLICY,
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            "-w",
            metavar="N",
            min=1,
            help="Cores of each executor; default: the policy's, or with --learned the recording's.",
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
    from simsched.costs.own_machine import machine_for
    from simsched.study.core_counts import core_counts

    check_tables(out)
    if learned is not None:
        found = _from_recordings(context, graph, learned, cores, policy, width, samples, seed)
        say_result(found, json_, out)
        return
    model, tasks = ss.CostModel(noise=noise, library=library), _growing(graph, context, weak)
    counts = core_counts(cores, target := machine_for(tasks, machine))
    with progress_bar(_total(tasks, len(counts), samples), "replaying") as progress:
        frame = ss.predict(
            tasks, machine, policy, counts, model, engine=engine, seed=seed, width=width, weak=weak,
            samples=samples, progress=progress,
        )  # fmt: skip
    say_result(frame, json_, out, (8.0, 4.2), question(tasks, target))


def _from_recordings(
    context: typer.Context, graph: str, file: Path, cores: str | None, policy: str, width: int | None, samples: int,
    seed: int,
) -> Result:  # fmt: skip
    """Return the prediction with what was learned; on its host, unless another machine was given."""
    from simsched.study.core_counts import core_counts

    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    for name in ("weak", "engine", "noise", "library"):
        if name in given:
            raise SpecError(f"--{name}: predictions from recordings (--learned) have none; leave it out")
    found = ss.Learned.load(file)
    counts = None if cores is None else core_counts(cores, ss.machine("generic"))
    machine = context.params["machine"] if "machine" in given else None
    return found.predict(
        graph_of(graph, context),
        policy if "policy" in given else RECORDED_POLICY,
        counts,
        width=width,
        machine=machine,
        samples=samples,
        seed=seed,
    )


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


@reading_command("machines rnn grace a64fx", "machines rnn grace epyc-9654x2 --policy fifo --out chips.png")
def machines(
    context: typer.Context,
    graph: GraphArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Machines: name, name[cores=N] or a TOML file. Default: all built-in chips.",
            autocompletion=MACHINES,
        ),
    ] = None,
    policy: PoliciesOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    library: LibraryOption = None,
    samples: Annotated[
        int,
        typer.Option("--samples", metavar="N", min=1, help="Replays for each interval; 1 for no interval."),
    ] = 20,
    json_: JsonOption = False,
    out: TablesOutOption = None,
) -> None:
    """Compare machines by GRAPH's makespan on each.

    Each machine has its best policy and layout. The table also has an interval; the makespan over the shortest; the
    share of the sampled worlds in which no other machine is faster; speed-up and efficiency; the bottleneck; and what
    the run takes in core-seconds and, where power is known, at most in joules.
    """
    from simsched.study.machines import MOST_REPLAYS_EACH, chosen_machines

    check_tables(out)
    model = ss.CostModel(noise=noise, library=library)
    named, options = names_and_options(names or [])
    chosen = chosen_machines(named or None)
    tasks = graph_of(graph, context, options)
    with progress_bar(tasks.n_tasks * len(chosen) * (samples + MOST_REPLAYS_EACH), "replaying") as progress:
        frame = ss.machines(
            tasks, chosen, policy, model, engine=engine, seed=seed, samples=samples, progress=progress
        )
    say_result(frame, json_, out, (8.0, 1.3 + 0.35 * len(frame)))


@reading_command("tune rnn --policy fifo", "tune rnn --method optuna --evaluations 20 --out history.png")
def tune(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = None,
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
    samples: SamplesOption = None,
    json_: JsonOption = False,
    out: TablesOutOption = None,
) -> None:
    """Search GRAPH's best layout, policy and widths.

    Everything that was tried is printed, best first. The picture is a heat map if the layouts are a grid, otherwise
    the best makespan so far by the number of replays.
    """
    from simsched.plots.layouts import tuned_size

    check_tables(out)
    tasks = graph_of(graph, context)
    with progress_bar(None, "replaying") as progress:
        frame = ss.tune(
            tasks, machine, policy, layout, engine=engine, seed=seed, method=method,
            evaluations=evaluations, reserved=reserved, samples=samples, progress=progress,
        )  # fmt: skip
    say_result(frame, json_, out, tuned_size(frame, method))


@reading_command("sensitivity rnn -l 17x4 -o tornado.png", "sensitivity rnn --parameter cores.clock")
def sensitivity(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = None,
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
    check_tables(out)
    model, tasks = ss.CostModel(noise=noise, library=library), graph_of(graph, context)
    given = (tasks, machine, policy, layout, model, None, engine, seed)
    with progress_bar(None, "replaying") as progress:
        if sobol:
            frame = ss.sobol(*given, parameters=parameter, samples=sobol, progress=progress)
        else:
            frame = ss.sensitivity(*given, parameters=parameter, change=change, progress=progress)
    say_result(frame, json_, out, (8.0, 1.4 + 0.36 * min(len(frame), 15)))


@reading_command("verdicts rnn -p fifo -p critical-path -l 8x8 --seeds 5")
def verdicts(
    graphs: GraphsArgument,
    policy: PoliciesOption = None,
    machine: MachineOption = None,
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
    from simsched.policy.installed import policies_or_all

    check_tables(out)
    model, loaded = ss.CostModel(noise=noise, library=library), graphs_of(graphs)
    chosen = policies_or_all(policy)
    total = sum(graph.n_tasks for graph in loaded.values()) * len(chosen) * seeds
    with progress_bar(total, "replaying") as progress:
        frame = ss.verdicts(
            loaded, machine, chosen, layout, model, engine=engine, seeds=range(seed, seed + seeds), over=over,
            progress=progress,
        )  # fmt: skip
    height = 1.3 + 0.16 * (len(chosen) + 1) * len(loaded)
    say_result(frame, json_, out, (8.0, max(height, 2.4)))
