"""The command `reproduce`: published systems, paper beside simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from simsched.cli.common import JsonOption, epilog, names_of, say
from simsched.cli.output import say_document, say_json
from simsched.progress import progress_bar


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("reproduce swtvm --tables 'Fig. 5'"))(reproduce)


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
    from simsched.reproduce.export import write_reproduction
    from simsched.reproduce.summary import summary_text
    from simsched.reproduce.system import count_rows, reproduce, system_of
    from simsched.schedule.gallery import make_folder

    systems = [system_of(name) for name in (registered("reproductions") if paper == "all" else [paper])]
    if paper == "all" and tables:
        systems = [system for system in systems if set(tables) <= set(system.published().tables)] or systems
    total = sum(count_rows(system, tables) for system in systems)
    if out is not None:
        make_folder(out)
    rows: list[dict[str, Any]] = []
    with progress_bar(total, "reproduce", "rows") as progress:
        for system in systems:
            made = reproduce(system, tables, progress=progress)
            rows += made.records()
            if not json_:
                say_document(made.document)
            say(f"{system}: {summary_text(made.summary())}", err=json_)
            if out is not None:
                written = list(write_reproduction(out, made))
                say(f"wrote {len(written)} files to {out}", err=json_)
    if json_:
        say_json(rows)
