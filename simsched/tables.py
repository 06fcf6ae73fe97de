"""Tables for the terminal: seconds with a fitting unit, shares in percent. Tables for Markdown."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from simsched.text import printable
from simsched.units import format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd

SHARES = ("utilization", "efficiency", "binds_share", "gap", "swing_share", "plain_error", "calibrated_error")


def table_text(frame: pd.DataFrame) -> str:
    """Return a table of results as text; columns called `*_s` are seconds, `SHARES` are shares."""
    formatters: dict[str, Callable[[float], str]] = {}
    for column in frame.columns:
        if column.endswith("_s"):
            formatters[column] = format_time
        elif column in SHARES:
            formatters[column] = "{:.1%}".format
        elif frame[column].dtype.kind == "f":
            formatters[column] = "{:.3g}".format
    titles = {c: c.removesuffix("_s").replace("_", " ") for c in frame.columns}
    shown = frame.rename(columns=titles)
    return shown.to_string(index=False, formatters={titles[c]: f for c, f in formatters.items()})


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as Markdown, its lines each with a line end; no text in it ends a cell or starts HTML."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(value: object) -> str:
    return escape(printable(str(value)), quote=False).replace("|", "/")
