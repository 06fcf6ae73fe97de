"""The command line: a thin layer over the library."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, TextIO

from simsched.errors import FormatError, MissingExtraError, SimschedError, SpecError
from simsched.text import printable

try:
    import tqdm.auto  # noqa: F401 - looked for here, used by cli_common
    import typer
    from typer.exceptions import Abort, TyperException
except ImportError:
    print(f"simsched: error: {MissingExtraError('typer', 'cli', 'the command line')}", file=sys.stderr)
    sys.exit(2)

from simsched import cli_crossed, cli_explain, cli_host, cli_recorded, cli_reproduce, cli_sweep, cli_tune
from simsched.cli_common import (
    DEFAULT_MACHINE,
    FLAGS,
    OWN_OPTIONS,
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
    makes_workload,
    progress_bar,
    reader_options,
    say,
)
from simsched.cli_pictures import CoreUseOption, RooflineOption, picture_writers

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Replay task graphs on manycore machines under scheduling policies.")  # fmt: skip


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="machines, policies, workloads, formats, cleanups or papers.")],
) -> None:
    """List what is installed; yours too, once your package registers it."""
    from simsched.listing import lines

    for line in lines(what):
        say(line)


@app.command(context_settings=READER_OPTIONS, epilog=READER_HELP)
def run(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = DEFAULT_MACHINE,
    policy: Annotated[
        str, typer.Option("--policy", "-p", help="A policy, as in corun[candidates=3].")
    ] = "critical-path",
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", help="Write by suffix: .png .svg .html .json .parquet .csv; repeat for more."
        ),
    ] = None,
    roofline: RooflineOption = None,
    core_use: CoreUseOption = None,
) -> None:
    """Replay GRAPH on a machine under a policy."""
    from simsched.listing import run_facts
    from simsched.replay import simulate
    from simsched.schedule.export import check_suffix

    for path in out or []:
        check_suffix(path)
    writers = picture_writers(roofline, core_use)
    tasks = graph_of(graph, context)
    with progress_bar(tasks.n_tasks, policy) as progress:
        schedule = simulate(tasks, machine, policy, layout, engine=engine, seed=seed, progress=progress)
    for path in out or []:
        schedule.save(path)
    for write in writers:
        write(schedule)
    facts = run_facts(schedule)
    if json_:
        say(json.dumps(facts))
        return
    for key, value in facts.items():
        say(f"{key:<18} {value if not isinstance(value, float) else format(value, '.6g')}")
    for note in [*tasks.report.notes, *schedule.notes]:
        say(f"note: {note}")


@app.command(context_settings=READER_OPTIONS, epilog=READER_HELP)
def compare(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = DEFAULT_MACHINE,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="A policy; repeat for more. All when not given."),
    ] = None,
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    json_: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="A folder for the table, a Gantt chart and a Chrome trace of each policy."
        ),
    ] = None,
) -> None:
    """Replay GRAPH under several policies and compare them."""
    from simsched.plugins import registered
    from simsched.schedule.gallery import make_folder, write_gallery
    from simsched.sweep.compare import BASELINE, comparison_frame, replays
    from simsched.tables import table_text

    if out is not None:
        make_folder(out)
    tasks = graph_of(graph, context)
    policies = policy or sorted(registered("policies"), key=lambda name: name != BASELINE)
    with progress_bar(tasks.n_tasks * len(policies), "replaying") as progress:
        schedules, sequential = replays(
            tasks, machine, policies, layout, engine=engine, seed=seed, progress=progress
        )
    frame = comparison_frame(schedules, sequential)
    if json_:
        say(frame.to_json(orient="records", double_precision=15))
    else:
        say(
            f"{tasks.name}: {tasks.n_tasks} tasks, {tasks.n_edges} edges, on {schedules[0].require_machine()}\n"
        )
        say(table_text(frame))
        for note in [*tasks.report.notes, *schedules[0].notes]:
            say(f"note: {note}")
    if out is not None:
        written = list(write_gallery(out, schedules, frame))
        say(f"wrote {len(written)} files to {out}", err=json_)


@app.command(context_settings=READER_OPTIONS, epilog=READER_HELP)
def predict(
    context: typer.Context,
    graph: GraphArgument,
    cores: Annotated[str, typer.Option("--cores", "-c", help="Core counts, as in 17,34,68,136.")],
    machine: MachineOption = DEFAULT_MACHINE,
    policy: Annotated[str, typer.Option("--policy", "-p", help="A policy.")] = "critical-path",
    width: Annotated[int | None, typer.Option("--width", "-w", min=1, help="Cores of one executor.")] = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = 0.0,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Replays, each of its own seed.")] = 1,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help="Write by suffix: .png .svg .csv .parquet; repeat for more."),
    ] = None,
) -> None:
    """Predict the makespan of GRAPH for hypothetical core counts, with noise within what it lies."""
    from simsched.costs import CostModel
    from simsched.plots import scaling, scaling_frame
    from simsched.sweep.export import check_table_suffix, export_table
    from simsched.tables import table_text

    counts = _core_counts(cores)
    for path in out or []:
        check_table_suffix(path)
    tasks = graph_of(graph, context)
    with progress_bar(tasks.n_tasks * len(counts) * seeds, "replaying") as progress:
        frame = scaling_frame(
            tasks, machine, policy, counts, CostModel(noise=noise), engine=engine,
            seeds=range(seed, seed + seeds), width=width, progress=progress,
        ).dropna(axis="columns", how="all")  # fmt: skip
    say(frame.to_json(orient="records", double_precision=15) if json_ else table_text(frame))
    for path in out or []:
        export_table(frame, path, lambda ax: scaling(frame, ax=ax))


def _core_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SpecError(f"--cores {text!r}: expected core counts, as in 17,34,68,136") from None


@app.command(context_settings=READER_OPTIONS, epilog=READER_HELP)
def convert(
    context: typer.Context,
    graph: Annotated[str, typer.Argument(metavar="IN", help="A trace, model or graph file, or a workload.")],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="By suffix: a graph (.simsched, ...) or the recorded schedule (.json .csv .png .html, ...).",
        ),
    ],
) -> None:
    """Convert a trace to a graph file, or its recorded schedule to a table, a Chrome trace or a picture."""
    from simsched.graph.loading import find_file
    from simsched.graph.saving import suffixes, writer_by_suffix

    source = [] if makes_workload(graph) else [find_file(graph)]
    read = [*source, *(Path(v) for v in reader_options(context.args).values() if Path(v).is_file())]
    if any(target.exists() and target.samefile(file) for file in read):
        raise FormatError(f"{target} is read by this very command; give another name for what to write")
    tasks = graph_of(graph, context)
    if writer_by_suffix(target, "graph") is not None:
        tasks.save(target)
    elif tasks.recorded is None:
        known = ", ".join(suffixes("graph"))
        raise FormatError(
            f"{graph} holds no recorded run, so only a graph can be written ({known}), not {target.name}"
        )
    else:
        tasks.recorded.save(target)
    say(str(tasks.report))


cli_tune.add_to(app)
cli_sweep.add_to(app)
cli_explain.add_to(app)
cli_host.add_to(app)
cli_recorded.add_to(app)
cli_reproduce.add_to(app)
cli_crossed.add_to(app)


def main() -> None:
    """Run the command line: exit status 0 when done, 2 on bad input or usage with one clear line."""
    warnings.showwarning = _note
    status: object = 0
    try:
        status = app(_arranged(sys.argv[1:]) or ["--help"], standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except SimschedError as error:
        status = _fail(str(error))
    except Abort:
        status = 130
    except TyperException as error:
        status = _fail(error.format_message())
    except OSError as error:
        status = _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except SystemExit:
        # Typer's way of saying that whoever read our output went away, as `| head` does: nothing is wrong.
        status = 0
    sys.exit(status if isinstance(status, int) else 0)


def _arranged(arguments: list[str]) -> list[str]:
    """Return the arguments with the reader's options last, so that they may stand anywhere."""
    ours, readers, rest = [], [], iter(arguments)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if not name.startswith("--") or name == "--" or name in OWN_OPTIONS:
            ours.append(argument)
            # The value of an option of ours is not an option, whatever it looks like.
            if name in OWN_OPTIONS and not equals and name not in FLAGS:
                ours += [value for value in [next(rest, None)] if value is not None]
        else:
            readers += [argument] if equals else [argument, *(v for v in [next(rest, None)] if v is not None)]
    return [*ours, *readers]


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one line; where in the code it was raised is of no use here."""
    print(f"simsched: note: {message}", file=sys.stderr)


def _fail(message: str) -> int:
    if sys.stderr is not None:
        print(f"simsched: error: {printable(' '.join(message.split()))}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
