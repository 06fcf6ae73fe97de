"""Commands that replay a graph, find its shortest schedule or explain it: `run`, `compare`, `optimum`, `explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simsched as ss
from simsched.cli.common import (
    POLICIES,
    EngineOption,
    GivenLayoutOption,
    GraphArgument,
    JsonOption,
    LayoutOption,
    LibraryOption,
    LimitOption,
    MachineOption,
    NoiseOption,
    PoliciesOption,
    PolicyOption,
    SamplesOption,
    SchedulesOutOption,
    SeedOption,
    check_outputs,
    check_tables,
    graph_of,
    question,
    reading_command,
    records,
    say,
    say_facts,
    say_json,
    say_notes,
    say_result,
    say_table,
    waiting,
)  # fmt: skip
from simsched.defaults import POLICY
from simsched.notes import weighed
from simsched.progress import progress_bar
from simsched.replay.memory_limit import MemoryLimit
from simsched.schedule import Schedule
from simsched.spec import Bound
from simsched.text import counted

if TYPE_CHECKING:
    import pandas as pd

    from simsched.explain import Explanation
    from simsched.study.interval import Spread

RunSamplesOption = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="N",
        min=1,
        help="Replays for the interval; 1 for none. Default: 20, or 1 where 20 can take long.",
    ),
]
RooflineOption = Annotated[
    Path | None,
    typer.Option(
        "--roofline",
        metavar="FILE",
        help="Write the roofline and what ops attain below it: .png .svg .csv .parquet.",
    ),
]
CoreUseOption = Annotated[
    Path | None,
    typer.Option(
        "--core-use",
        metavar="FILE",
        help="Write the machine, coloured by how busy each core is: .png .svg .csv .parquet.",
    ),
]
MemoryLimitOption = Annotated[
    MemoryLimit,
    typer.Option(
        "--memory-limit",
        help="Where a memory would hold more than its size: note, wait (for room), spill (elsewhere), error or ignore.",
    ),
]


@reading_command("run rnn --out run.png --out run.html", "run step.json --execution-trace step.et.json")
def run(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = None,
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
    memory_limit: MemoryLimitOption = "note",
    samples: RunSamplesOption = None,
) -> None:
    """Replay GRAPH on a machine under a policy."""
    from simsched.replay.advice import advised
    from simsched.schedule.export import check_suffix
    from simsched.study.interval import spread_of

    check_outputs(out, check_suffix)
    for picture in (roofline, core_use):
        check_tables([] if picture is None else [picture])
    model, tasks = ss.CostModel(noise=noise, library=library), graph_of(graph, context)
    with _searching(tasks, policy, layout) as (best, progress):
        schedule = advised(
            ss.simulate(
                tasks, machine, policy, best, model, engine=engine, seed=seed, progress=progress,
                memory_limit=memory_limit,
            )
        )  # fmt: skip
    with waiting("replaying in other worlds"):
        found = spread_of(schedule, samples, memory_limit)
    told = schedule if found.is_certain else replace(schedule, notes=(found.said, *schedule.notes))
    for path in out or []:
        told.save(path)
    _write_pictures(schedule, roofline, core_use)
    facts, notes = _run_facts(schedule, found), weighed(tasks.report.notes, found.notes, schedule.notes)
    if json_:
        say_json({**facts, "notes": notes})
    else:
        hidden = {"low_s", "high_s"} if found.is_certain else set()
        say_facts({key: value for key, value in facts.items() if key not in hidden}, notes)


@contextmanager
def _searching(
    graph: ss.TaskGraph, policy: str, layout: str | None
) -> Iterator[tuple[str, Callable[[int], object]]]:
    """Yield the layout, the best where none is given, and what counts the tasks of its replays."""
    from simsched.policy.layout import BEST
    from simsched.replay.best_layout import MOST_REPLAYS

    with progress_bar(graph.n_tasks * (1 if layout else MOST_REPLAYS), policy) as progress:
        yield layout or BEST, progress


BoundOption = Annotated[
    Bound,
    typer.Option(
        "--bound",
        help="Lower bound that gaps are measured from: quick (critical path, area), thorough (two more bounds) or "
        "optimum (proven by CP-SAT, for small graphs).",
    ),
]


@reading_command("compare rnn -p fifo -p corun", "compare rnn --out charts")
def compare(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = None,
    policy: PoliciesOption = None,
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    library: LibraryOption = None,
    bound: BoundOption = "quick",
    limit: LimitOption = 20.0,
    samples: SamplesOption = None,
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
    from simsched.policy.installed import left_out, policies_or_all
    from simsched.replay.best_layout import MOST_REPLAYS
    from simsched.replay.scenario import Scenario
    from simsched.schedule.export import make_folder, write_gallery
    from simsched.study.compare import best_bounds, comparison_frame, default_seeds, replays, worlds_of

    if out is not None:
        make_folder(out)
    model, tasks = ss.CostModel(noise=noise, library=library), graph_of(graph, context)
    scenario = Scenario.on(tasks, machine, layout, model, None, engine, seed)
    target = scenario.machine
    policies = policies_or_all(policy, target, tasks)
    seeds, unsampled = default_seeds(seed, samples, policies, target, tasks)
    with progress_bar(tasks.n_tasks * len(policies) * (MOST_REPLAYS + len(seeds)), "replaying") as progress:
        scenario = replace(scenario, progress=progress)
        schedules, sequential, refused = replays(scenario, tasks, policies)
        worlds_s = worlds_of(scenario, schedules, seeds)
    limits, others = best_bounds(scenario, tasks, bound, limit), left_out(policy, target, tasks)
    frame = comparison_frame(schedules, sequential, limits, worlds_s, (*refused, *unsampled, *others))
    written = [] if out is None else list(write_gallery(out, schedules, frame))
    say_result(frame, json_, about=question(tasks, schedules[0].require_machine()))
    if out is not None:
        say(f"wrote {counted(len(written), 'file')} to {out}", err=json_)


def _run_facts(schedule: Schedule, found: Spread) -> dict[str, Any]:
    """Return what `simsched run --json` prints: the makespan and its interval, the inputs, and every metric."""
    return {
        "makespan_s": schedule.makespan_s,
        "low_s": found.low_s,
        "high_s": found.high_s,
        "samples": found.samples,
        "engine": schedule.engine,
        "engine_why": schedule.inputs.engine_why if schedule.inputs else "",
        "machine": schedule.require_machine().spec,
        "policy": schedule.policy,
        "layout": schedule.layout,
        "layout_by": schedule.inputs.layout_by if schedule.inputs else "",
        "seed": schedule.seed,
        "tasks": schedule.graph.n_tasks,
        "edges": schedule.graph.n_edges,
        **schedule.metrics(),
    }


def _write_pictures(schedule: Schedule, roofline: Path | None, core_use: Path | None) -> None:
    from simsched.plots import core_use_frame, roofline_frame
    from simsched.plots.machine import figure_size
    from simsched.study.export import export_table

    if roofline is not None:
        export_table(roofline_frame(schedule), roofline, lambda ax: schedule.roofline(ax=ax), (8.5, 4.8))
    if core_use is not None:
        size = figure_size(schedule.require_machine().structure.picture(), explained=True)
        export_table(core_use_frame(schedule), core_use, lambda ax: schedule.core_use(ax=ax), size)


@reading_command("optimum small.simsched -m generic[cores=4] -l 4x1 -o best.png")
def optimum(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = None,
    layout: GivenLayoutOption = None,
    limit: LimitOption = 20.0,
    seed: SeedOption = 0,
    json_: JsonOption = False,
    out: SchedulesOutOption = None,
) -> None:
    """Find GRAPH's shortest schedule, and prove it.

    For small graphs, by CP-SAT. With --layout all tasks have its width; without it, each gets the width that is best
    for the whole schedule. Contention and the cost of decisions are left out, so that no replay is below the bound.
    """
    from simsched.schedule.export import check_suffix

    check_outputs(out, check_suffix)
    tasks = graph_of(graph, context)
    with waiting("searching"):
        found = ss.optimum(tasks, machine, layout, seed=seed, limit_s=limit)
    for path in out or []:
        found.schedule.save(path)
    notes = weighed(tasks.report.notes, found.notes, found.schedule.notes)
    if json_:
        say_json({**found.facts(), "notes": list(notes)})
    else:
        say_facts(found.facts(), notes)


@reading_command("replay-recorded step.json --execution-trace step.et.json")
def replay_recorded(
    context: typer.Context,
    graph: GraphArgument,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            autocompletion=POLICIES,
            help="The policy that was recorded; without it, lanes keep their order.",
        ),
    ] = None,
    layout: GivenLayoutOption = None,
    interruptions: Annotated[
        bool, typer.Option(help="Replay interruptions, too: executors away though tasks were ready.")
    ] = False,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the recorded run above the first policy's replay: .png .svg .pdf.",
        ),
    ] = None,
) -> None:
    """Compare the recorded run of GRAPH with replays.

    One replay has no overheads, the other has those estimated from the gaps in the recording.
    """
    check_outputs(out)
    tasks = graph_of(graph, context)
    policies: list[str | None] = list(policy) if policy else [None]
    with waiting("replaying"):
        replayed = [ss.replay_recorded(tasks, name, layout, interruptions=interruptions) for name in policies]
    for path in out or []:
        replayed[0].save(path)
    notes = weighed(tasks.report.notes, *(one.plain.notes for one in replayed))
    say_result(ss.Result.of([one.row() for one in replayed], notes), json_)
    if not json_:
        say("\nidle before the tasks of a lane:\n")
        say_table(replayed[0].gaps.table)


#: Segments of the critical path that are printed, the longest ones.
MOST_SEGMENTS = 15


@reading_command("explain rnn", "explain rnn --task 100")
def explain(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = None,
    policy: PolicyOption = POLICY,
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            "-t",
            metavar="TASK",
            help="Explain why this task, by number or name, started when it did.",
        ),
    ] = None,
    speedup: Annotated[
        float,
        typer.Option("--speedup", metavar="TIMES", help="How many times faster tasks become in what-if."),
    ] = 2.0,
    replays: Annotated[
        int, typer.Option("--replays", metavar="N", min=0, help="Replays for what-if; 0 for none.")
    ] = 32,
    samples: RunSamplesOption = None,
    json_: JsonOption = False,
) -> None:
    """Replay GRAPH and say where the time went.

    Also says what would help most or, with --task, why one task started when it did.
    """
    from simsched.study.interval import spread_of

    tasks = graph_of(graph, context)
    with _searching(tasks, policy, layout) as (best, progress):
        schedule = ss.simulate(tasks, machine, policy, best, engine=engine, seed=seed, progress=progress)
    why = schedule.explain()
    if task is not None:
        one = why.task(int(task) if task.isdecimal() else task)
        if json_:
            say_json(one.to_dict())
        else:
            say(str(one))
        return
    with progress_bar(None, "replaying", "replays") as progress:
        helps = why.what_if(speedup, replays=replays, progress=progress)
    with waiting("replaying in other worlds"):
        found = spread_of(schedule, samples)
    if json_:
        say_json(_facts(schedule, why, helps, found))
    else:
        if not found.is_certain:
            say(found.said)
        _print(schedule, why, helps)


def _facts(schedule: Schedule, why: Explanation, helps: pd.DataFrame, found: Spread) -> dict[str, object]:
    tables = {"critical_path": why.critical_path, "core_time": why.core_time, "what_if": helps}
    rows = {name: records(frame) for name, frame in tables.items()}
    reasons = {
        str(reason): int(count) for reason, count in why.tasks["reason"].value_counts(sort=False).items()
    }
    return {**_run_facts(schedule, found), "reasons": reasons, **rows, "notes": list(_notes(schedule, why))}


def _notes(schedule: Schedule, why: Explanation) -> tuple[str, ...]:
    return weighed(schedule.graph.report.notes, schedule.notes, why.notes)


def _print(schedule: Schedule, why: Explanation, helps: pd.DataFrame) -> None:
    say(str(why))
    path = why.critical_path
    longest = path.nlargest(MOST_SEGMENTS, "seconds_s").sort_index()
    say(f"\ncritical path through time, {len(longest)} of {len(path)} segments, the longest:\n")
    say_table(longest[["begin_s", "seconds_s", "part", "task", "name", "after", "other"]])
    if len(helps):
        say("\nwhat would help most:\n")
        shown = helps[["rank", "name", "n_tasks", "speedup", "makespan_s"]]
        say_table(shown.assign(gain_percent=100 * helps["gain"]))
    say_notes([note for note in _notes(schedule, why) if note not in why.notes], apart=True)
