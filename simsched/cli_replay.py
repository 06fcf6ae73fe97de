"""The commands that replay a graph: `run` and `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simsched.cli_common import (
    DEFAULT_MACHINE,
    EngineOption,
    GraphArgument,
    JsonOption,
    LayoutOption,
    LimitOption,
    MachineOption,
    NoiseOption,
    PoliciesOption,
    PolicyOption,
    SchedulesOutOption,
    SeedOption,
    add_reading,
    check_outputs,
    graph_of,
    progress_bar,
    say,
)
from simsched.cli_output import records, say_facts, say_json, say_table
from simsched.cli_pictures import CoreUseOption, RooflineOption, picture_writers
from simsched.spec import Bound


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    add_reading(
        app,
        run,
        "run rnn --layout 8x8 --out run.png --out run.html",
        "run step.json --execution-trace step.et.json",
    )
    add_reading(app, compare, "compare rnn -p fifo -p corun", "compare rnn --layout 8x8 --out charts")


def run(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = DEFAULT_MACHINE,
    policy: PolicyOption = "critical-path",
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    json_: JsonOption = False,
    out: SchedulesOutOption = None,
    roofline: RooflineOption = None,
    core_use: CoreUseOption = None,
) -> None:
    """Replay GRAPH on a machine under a policy."""
    from simsched.costs import CostModel
    from simsched.listing import run_facts
    from simsched.replay import simulate
    from simsched.schedule.export import check_suffix

    check_outputs(out, check_suffix)
    writers = picture_writers(roofline, core_use)
    model, tasks = CostModel(noise=noise), graph_of(graph, context)
    with progress_bar(tasks.n_tasks, policy) as progress:
        schedule = simulate(
            tasks, machine, policy, layout, model, engine=engine, seed=seed, progress=progress
        )
    for path in out or []:
        schedule.save(path)
    for write in writers:
        write(schedule)
    facts, notes = run_facts(schedule), [*tasks.report.notes, *schedule.notes]
    if json_:
        say_json({**facts, "notes": notes})
    else:
        say_facts(facts, notes)


def compare(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = DEFAULT_MACHINE,
    policy: PoliciesOption = None,
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    bound: Annotated[
        Bound,
        typer.Option(
            "--bound",
            help="Lower bound that gaps are measured from: quick (critical path, area), thorough (two more bounds) or "
            "optimum (proven by CP-SAT, for small graphs).",
        ),
    ] = "quick",
    limit: LimitOption = 20.0,
    json_: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="A folder for the table, and a Gantt chart and a Chrome trace of each policy.",
        ),
    ] = None,
) -> None:
    """Compare policies by replaying GRAPH under each."""
    from simsched.costs import CostModel
    from simsched.plugins import registered
    from simsched.schedule.gallery import make_folder, write_gallery
    from simsched.sweep.compare import BASELINE, best_bounds, comparison_frame, replays

    if out is not None:
        make_folder(out)
    model, tasks = CostModel(noise=noise), graph_of(graph, context)
    policies = policy or sorted(registered("policies"), key=lambda name: name != BASELINE)
    with progress_bar(tasks.n_tasks * len(policies), "replaying") as progress:
        schedules, sequential = replays(
            tasks, machine, policies, layout, model, engine=engine, seed=seed, progress=progress
        )
    limits = best_bounds(tasks, sequential.require_machine(), bound=bound, limit_s=limit)
    frame = comparison_frame(schedules, sequential, limits)
    if json_:
        say_json(records(frame))
    else:
        say(
            f"{tasks.name}: {tasks.n_tasks} tasks, {tasks.n_edges} edges, on {schedules[0].require_machine()}\n"
        )
        say_table(frame)
        for note in dict.fromkeys([*tasks.report.notes, *(note for one in schedules for note in one.notes)]):
            say(f"note: {note}")
    if out is not None:
        written = list(write_gallery(out, schedules, frame))
        say(f"wrote {len(written)} files to {out}", err=json_)
