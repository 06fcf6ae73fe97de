"""The command `crossed`: the policy of every published system on the workloads of every other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from simsched.cli_common import JsonOption, progress_bar, say


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(crossed)


def crossed(
    machine: Annotated[
        list[str] | None,
        typer.Option(
            "--machine",
            "-m",
            help="own, or a machine for all; repeat for more. Own and a current one when not given.",
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option("--system", "-s", help="Only the workloads of this system; repeat for more."),
    ] = None,
    json_: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for Markdown, CSV and heat maps.")
    ] = None,
) -> None:
    """Run the policy of every published system on the workloads of every other; with --json the runs alone."""
    from simsched.reproduce.crossed import CURRENT
    from simsched.reproduce.crossed import crossed as crossed_
    from simsched.reproduce.crossed_jobs import jobs_of
    from simsched.reproduce.crossed_rules import RULES
    from simsched.reproduce.crossed_table import OWN
    from simsched.reproduce.crossed_text import write_crossed
    from simsched.schedule.gallery import make_folder

    if out is not None:
        make_folder(out)
    machines, jobs = machine or [OWN, CURRENT], jobs_of(system)
    with progress_bar(len(machines) * len(jobs) * len(RULES), "crossed", "runs") as progress:
        found = crossed_(machines, jobs, progress=progress)
    say(json.dumps(found.records()) if json_ else found.to_markdown())
    if out is not None:
        written = list(write_crossed(out, found))
        say(f"wrote {len(written)} files to {out}", err=json_)
