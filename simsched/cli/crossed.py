"""The command `crossed`: the policy of every published system on the workloads of every other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simsched.cli.common import JsonOption, epilog, names_of, say
from simsched.cli.output import say_document, say_json
from simsched.progress import progress_bar


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("crossed --system swtvm --machine own"))(crossed)


def crossed(
    machine: Annotated[
        list[str] | None,
        typer.Option(
            "--machine",
            "-m",
            metavar="NAME",
            autocompletion=names_of("machines", more=["own"]),
            help="own (that of each system), or one for all; repeat for more. Default: own and a current one.",
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            "-s",
            metavar="NAME",
            autocompletion=names_of("reproductions"),
            help="Only the workloads of this system; repeat for more.",
        ),
    ] = None,
    json_: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="A folder for Markdown, CSV and heat maps."),
    ] = None,
) -> None:
    """Run every system's policy on all workloads.

    Every published system's policy runs the workloads of all the others. With --json, runs and notes are printed.
    """
    from simsched.reproduce.crossed.crossed import CURRENT
    from simsched.reproduce.crossed.crossed import crossed as crossed_
    from simsched.reproduce.crossed.jobs import jobs_of
    from simsched.reproduce.crossed.rules import RULES
    from simsched.reproduce.crossed.table import OWN
    from simsched.reproduce.crossed.text import write_crossed
    from simsched.schedule.gallery import make_folder

    if out is not None:
        make_folder(out)
    machines, jobs = machine or [OWN, CURRENT], jobs_of(system)
    with progress_bar(len(machines) * len(jobs) * len(RULES), "crossed", "runs") as progress:
        found = crossed_(machines, jobs, progress=progress)
    if json_:
        say_json({"rows": found.records(), "notes": found.notes})
    else:
        say_document(found.document)
    if out is not None:
        written = list(write_crossed(out, found))
        say(f"wrote {len(written)} files to {out}", err=json_)
