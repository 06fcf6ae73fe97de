"""Output of commands beyond lines: tables that fit the terminal, Markdown, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import typer

from simsched.cli.common import check_outputs, say
from simsched.document.markdown import markdown
from simsched.document.result import table_of
from simsched.document.terminal import document_text, facts_lines, table_text, width
from simsched.text import printable

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from simsched.document.parts import Document
    from simsched.document.result import Result
    from simsched.plots.canvas import Size

#: Notes that are printed unless all are asked for.
SHOWN_NOTES = 3
#: Whether all notes are printed, as the option --notes says.
all_notes: ContextVar[bool] = ContextVar("all_notes", default=False)


def say_table(frame: pd.DataFrame) -> None:
    """Print a table on lines as long as the terminal's."""
    say(table_text(table_of(frame), width()))


def check_tables(paths: Iterable[Path] | None) -> None:
    """Check, before any work, that tables or their pictures can be written to files."""
    from simsched.study.export import check_table_suffix

    check_outputs(paths, check_table_suffix)


def say_result(
    result: Result, as_json: bool = False, out: Iterable[Path] | None = None, size: Size = (8.0, 4.8)
) -> None:
    """Print a table of results with its notes, fitted to the terminal; or as JSON: its rows, and its notes.

    Also write it to files, by their suffixes: pictures have a size in inches.
    """
    if as_json:
        say_json(result.to_json_object())
    else:
        say(result.text(width(), notes=False))
        say_notes(result.notes, apart=True)
    if paths := list(out or []):
        from simsched.study.export import export_table

        for path in paths:
            export_table(result, path, result.plot, size)


def say_document(document: Document) -> None:
    """Print a document: as text on a terminal, as Markdown where output goes elsewhere."""
    say(markdown(document) if width() is None else document_text(document, width()))


def say_notes(notes: Sequence[str], apart: bool = False) -> None:
    """Print the weightiest notes, all with the option --notes; `apart`, an empty line before them."""
    # A single note more is as short as the line that counts it.
    end = None if all_notes.get() or len(notes) <= SHOWN_NOTES + 1 else SHOWN_NOTES
    lines = [f"note: {note}" for note in notes[:end]]
    if end is not None:
        lines.append(f"note: {len(notes) - end} more; --notes prints all")
    if lines:
        say("\n".join(printable(line) for line in ["", *lines][not apart :]))


def say_facts(facts: Mapping[str, Any], notes: Sequence[str] = ()) -> None:
    """Print names and values in two columns, then notes."""
    shown = {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in facts.items()}
    for line in facts_lines(shown):
        say(line)
    say_notes(notes)


def say_json(value: Any) -> None:
    """Print JSON, all of it ASCII: what is not a number is null, control characters are escapes."""
    # The standard library leaves one control character unchanged.
    typer.echo(json.dumps(_plain(value), allow_nan=False).replace("\x7f", "\\u007f"))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table by column name."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
