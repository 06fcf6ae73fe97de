"""Tables for the terminal: seconds with a fitting unit, shares in percent. Tables for Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from simsched.text import printable
from simsched.units import format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

SHARES = ("utilization", "efficiency", "gap", "plain_error", "calibrated_error")


class Table(NamedTuple):
    """A table as text.

    Parameters
    ----------
    caption : str
    columns : tuple of str
    rows : sequence of tuple of str
    """

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


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
    """Return a table as Markdown, its lines each with a line end; no text in it ends a cell or starts markup."""
    lines = [columns, ["---"] * len(columns), *rows]
    shown = (line if i == 1 else map(markdown_text, line) for i, line in enumerate(lines))
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in shown)


def markdown_text(value: object) -> str:
    r"""Return a value as text of a Markdown page: it starts no HTML, link, picture, formula, mention or list.

    Examples
    --------
    >>> markdown_text("![x](http://a) <b> a|b")
    '![x\\](http://a) &lt;b&gt; a\\|b'
    """
    escaped = escape(printable(str(value)), quote=False)
    escaped = re.sub(
        r"[\\`*~$|]|\](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])|^[#+=-](?=[\s=-]|$)", r"\\\g<0>", escaped
    )
    # A space of no width: no backslash keeps a forge from calling somebody, or linking an issue.
    return re.sub(r"[@#](?=\w)", r"\g<0>&#8203;", escaped)
