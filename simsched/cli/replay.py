"""The commands that replay a graph: `run` and `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simsched.cli.common import (
    EngineOption,
    GraphArgument,
    JsonOption,
    LayoutOption,
    LibraryOption,
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
    say,
)
from simsched.cli.output import say_facts, say_json, say_result
from simsched.cli.pictures import CoreUseOption, RooflineOption, picture_writers
from simsched.defaults import MACHINE, POLICY
from simsched.notes import weighed
from simsched.progress import progress_bar
from simsched.spec import Bound


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    add_reading(
        app,
        run,
        "run rnn --out run.png --out run.html",
        "run step.json --execution-trace step.et.json",
    )
    add_reading(app, compare, "compare rnn -p fifo -p corun", "compare rnn --out charts")


def run(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = MACHINE,
    policy: PolicyOption = POLICY,
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    library: LibraryOption = None,
    json_: JsonOption = False,
    out: SchedulesOutOption = None,
    roofline: RooflineOption = None,
    core_use: CoreUseOption = None,
) -> None:
    """Replay GRAPH on a machine under a policy."""
    from simsched.cli.listing import run_facts
    from simsched.costs import CostModel
    from simsched.replay import simulate
    from simsched.replay.advice import advised
    from simsched.schedule.export import check_suffix

    check_outputs(out, check_suffix)
    writers = picture_writers(roofline, core_use)
    model, tasks = CostModel(noise=noise, library=library), graph_of(graph, context)
    with progress_bar(tasks.n_tasks, policy) as progress:
        schedule = advised(
            simulate(tasks, machine, policy, layout, model, engine=engine, seed=seed, progress=progress)
        )
    for path in out or []:
        schedule.save(path)
    for write in writers:
        write(schedule)
    facts, notes = run_facts(schedule), weighed(tasks.report.notes, schedule.notes)
    if json_:
        say_json({**facts, "notes": notes})
    else:
        say_facts(facts, notes)


def compare(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = MACHINE,
    policy: PoliciesOption = None,
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    library: LibraryOption = None,
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
    from simsched.policy.installed import policies_or_all
    from simsched.replay.best_layout import MOST_REPLAYS
    from simsched.replay.scenario import Scenario
    from simsched.schedule.gallery import make_folder, write_gallery
    from simsched.study.compare import best_bounds, comparison_frame, replays

    if out is not None:
        make_folder(out)
    model, tasks = CostModel(noise=noise, library=library), graph_of(graph, context)
    policies = policies_or_all(policy)
    with progress_bar(tasks.n_tasks * len(policies) * MOST_REPLAYS, "replaying") as progress:
        scenario = Scenario.of(machine, layout, model, None, engine, seed, progress)
        schedules, sequential = replays(scenario, tasks, policies)
    limits = best_bounds(scenario, tasks, bound, limit)
    frame = comparison_frame(schedules, sequential, limits)
    if not json_:
        say(
            f"{tasks.name}: {tasks.n_tasks} tasks, {tasks.n_edges} edges, on {schedules[0].require_machine()}\n"
        )
    say_result(frame, json_)
    if out is not None:
        written = list(write_gallery(out, schedules, frame))
        say(f"wrote {len(written)} files to {out}", err=json_)
