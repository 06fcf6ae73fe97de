"""The command that lays a recorded run beside its replays: `replay-recorded`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simsched.cli.common import (
    POLICIES,
    GivenLayoutOption,
    GraphArgument,
    JsonOption,
    add_reading,
    check_outputs,
    graph_of,
    say,
    waiting,
)
from simsched.cli.output import say_result, say_table


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    add_reading(app, replay_recorded, "replay-recorded step.json --execution-trace step.et.json")


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
    from simsched.document.result import Result
    from simsched.execute import replay_recorded as replay
    from simsched.notes import weighed

    check_outputs(out)
    tasks = graph_of(graph, context)
    policies: list[str | None] = list(policy) if policy else [None]
    with waiting("replaying"):
        replayed = [replay(tasks, name, layout, interruptions=interruptions) for name in policies]
    for path in out or []:
        replayed[0].save(path)
    notes = weighed(tasks.report.notes, *(one.plain.notes for one in replayed))
    say_result(Result.of([one.row() for one in replayed], notes), json_)
    if not json_:
        say("\nidle before the tasks of a lane:\n")
        say_table(replayed[0].gaps.table)
