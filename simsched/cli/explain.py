"""The command `explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import simsched as ss
from simsched.cli.common import (
    EngineOption,
    GraphArgument,
    JsonOption,
    LayoutOption,
    MachineOption,
    PolicyOption,
    SeedOption,
    graph_of,
    reading_command,
    say,
)
from simsched.cli.output import records, say_json, say_notes, say_table
from simsched.cli.replay import run_facts
from simsched.defaults import POLICY
from simsched.notes import weighed
from simsched.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd

    from simsched.explain import Explanation
    from simsched.schedule import Schedule

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
    json_: JsonOption = False,
) -> None:
    """Replay GRAPH and say where the time went.

    Also says what would help most or, with --task, why one task started when it did.
    """
    tasks = graph_of(graph, context)
    with progress_bar(tasks.n_tasks, policy) as progress:
        schedule = ss.simulate(tasks, machine, policy, layout, engine=engine, seed=seed, progress=progress)
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
    if json_:
        say_json(_facts(schedule, why, helps))
    else:
        _print(schedule, why, helps)


def _facts(schedule: Schedule, why: Explanation, helps: pd.DataFrame) -> dict[str, object]:
    tables = {"critical_path": why.critical_path, "core_time": why.core_time, "what_if": helps}
    rows = {name: records(frame) for name, frame in tables.items()}
    reasons = {
        str(reason): int(count) for reason, count in why.tasks["reason"].value_counts(sort=False).items()
    }
    return {**run_facts(schedule), "reasons": reasons, **rows, "notes": list(_notes(schedule, why))}


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
