"""Output of commands beyond lines: tables that fit the terminal, Markdown, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from simsched.cli.common import check_outputs, say
from simsched.document.markdown import markdown
from simsched.document.tables import table_of
from simsched.document.terminal import document_text, facts_lines, table_text, width

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from simsched.document.parts import Document
    from simsched.document.result import Result
    from simsched.plots.canvas import Size


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
        say(result.text(width()))
    if paths := list(out or []):
        from simsched.study.export import export_table

        for path in paths:
            export_table(result, path, result.plot, size)


def say_document(document: Document) -> None:
    """Print a document: as text on a terminal, as Markdown where output goes elsewhere."""
    say(markdown(document) if width() is None else document_text(document, width()))


def say_facts(facts: Mapping[str, Any], notes: Iterable[str] = ()) -> None:
    """Print names and values in two columns, then notes."""
    shown = {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in facts.items()}
    for line in facts_lines(shown):
        say(line)
    for note in notes:
        say(f"note: {note}")


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
