"""The command that lays a recorded run beside its replays: `replay-recorded`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simsched.cli_common import (
    READER_HELP,
    READER_OPTIONS,
    GraphArgument,
    JsonOption,
    LayoutOption,
    graph_of,
    say,
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(context_settings=READER_OPTIONS, epilog=READER_HELP)(replay_recorded)


def replay_recorded(
    context: typer.Context,
    graph: GraphArgument,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="The policy that was recorded; else lanes keep their order."),
    ] = None,
    layout: LayoutOption = None,
    interruptions: Annotated[
        bool, typer.Option(help="Replay with executors as long away as they were while tasks were ready.")
    ] = False,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help="Recorded above replayed: .png .svg .pdf; of the first policy."),
    ] = None,
) -> None:
    """Lay the recorded run of GRAPH beside replays without overheads, and with those its gaps tell."""
    import pandas as pd

    from simsched.execute import replay_recorded as replay
    from simsched.tables import table_text

    tasks = graph_of(graph, context)
    policies: list[str | None] = list(policy) if policy else [None]
    replayed = [replay(tasks, name, layout, interruptions=interruptions) for name in policies]
    for path in out or []:
        replayed[0].save(path)
    frame = pd.DataFrame([one.row() for one in replayed])
    if json_:
        say(frame.to_json(orient="records", double_precision=15))
        return
    say(table_text(frame))
    say("\nidle before the tasks of a lane:\n")
    say(table_text(replayed[0].gaps.table))
