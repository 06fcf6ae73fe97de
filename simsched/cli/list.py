"""The command `list`."""

from __future__ import annotations

from typing import Annotated

import typer

from simsched.cli.common import JsonOption, epilog
from simsched.cli.output import say_json
from simsched.document.terminal import width


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list", epilog=epilog("list machines", "list formats --json"))(list_)


def _lists(incomplete: str) -> list[str]:
    from simsched.cli.listing import LISTS

    return [name for name in LISTS if name.startswith(incomplete)]


def list_(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="machines, policies, workloads, formats, cleanups or papers.",
            autocompletion=_lists,
        ),
    ],
    json_: JsonOption = False,
) -> None:
    """List what is installed.

    The list includes what your own package registers.
    """
    from simsched.cli.listing import entries
    from simsched.cli.listing_text import lines

    if json_:
        say_json(entries(what))
        return
    for line in lines(what, width()):
        typer.echo(line)
