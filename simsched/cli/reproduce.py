"""The commands of published systems: `reproduce`, and `crossed`, every system on the workloads of every other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import simsched as ss
from simsched.cli.common import JsonOption, command, names_of, say, say_document, say_json
from simsched.progress import progress_bar
from simsched.text import counted


@command("reproduce swtvm --tables 'Fig. 5'")
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A paper, as in chaos[variant=hogwild], or all.",
            autocompletion=names_of("reproductions", more=["all"]),
        ),
    ],
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--tables", "-t", metavar="TABLE", help="A table or figure, as in 'Table 8'; repeat for more."
        ),
    ] = None,
    json_: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="A folder for a Markdown file and pictures."),
    ] = None,
) -> None:
    """Simulate a published system, beside its paper.

    Prints tables of published and simulated numbers; with --json, only their rows.
    """
    from simsched.plugins import registered
    from simsched.reproduce.reproduction import write_reproduction
    from simsched.reproduce.summary import summary_text
    from simsched.reproduce.system import count_rows, system_of
    from simsched.schedule.export import make_folder

    systems = [system_of(name) for name in (registered("reproductions") if paper == "all" else [paper])]
    if paper == "all" and tables:
        systems = [system for system in systems if set(tables) <= set(system.published().tables)] or systems
    total = sum(count_rows(system, tables) for system in systems)
    if out is not None:
        make_folder(out)
    rows: list[dict[str, Any]] = []
    with progress_bar(total, "reproduce", "rows") as progress:
        each = (ss.reproduce(system, tables, progress=progress) for system in systems)
        pairs = ((made, [] if out is None else list(write_reproduction(out, made))) for made in each)
        # All files come first: the reader of a pipe may stop early.
        for made, written in pairs if out is None else list(pairs):
            rows += made.records()
            if not json_:
                say_document(made.document)
            say(f"{made.system}: {summary_text(made.rows, made.claims)}", err=json_)
            if out is not None:
                say(f"wrote {counted(len(written), 'file')} to {out}", err=json_)
    if json_:
        say_json(rows)


@command("crossed --system swtvm --machine own")
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
    from simsched.reproduce.crossed.jobs import jobs_of
    from simsched.reproduce.crossed.rules import RULES
    from simsched.reproduce.crossed.table import OWN, write_crossed
    from simsched.schedule.export import make_folder

    if out is not None:
        make_folder(out)
    machines, jobs = machine or [OWN, CURRENT], jobs_of(system)
    with progress_bar(len(machines) * len(jobs) * len(RULES), "crossed", "runs") as progress:
        found = ss.crossed(machines, jobs, progress=progress)
    written = [] if out is None else list(write_crossed(out, found))
    if json_:
        say_json({"rows": found.records(), "notes": found.notes})
    else:
        say_document(found.document)
    if out is not None:
        say(f"wrote {counted(len(written), 'file')} to {out}", err=json_)
