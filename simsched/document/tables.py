"""Tables for the terminal: seconds with a fitting unit, shares in percent. Tables for Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, Any, NamedTuple

from simsched.document.table_layout import Column, laid_out
from simsched.text import printable, shortened
from simsched.units import format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

SHARES = ("utilization", "efficiency", "binds_share", "gap", "swing_share", "plain_error", "calibrated_error")
#: Cells of a policy's spec.
MOST_CELLS = 40


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


def table_text(frame: pd.DataFrame, width: int | None = None) -> str:
    """Return a table of results as text; columns called `*_s` are seconds, `SHARES` shares, `-` is unknown.

    Parameters
    ----------
    frame : pandas.DataFrame
        The results.
    width : int or None
        Cells of a line, as of a terminal; as wide as it gets when None.
    """
    return laid_out(columns_of(frame), width)


def columns_of(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of a table of results as text, as `table_text` shows them."""
    return [_column(frame, name) for name in frame.columns]


def _column(frame: pd.DataFrame, name: str) -> Column:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    cells, text = frame[name], _format(frame, name)
    shown = [
        "-" if missing else printable(text(cell)) for cell, missing in zip(cells, cells.isna(), strict=True)
    ]
    if name == "policy":
        shown = _short(shown)
    is_text = is_bool_dtype(cells) or not is_numeric_dtype(cells)
    return Column(name.removesuffix("_s").replace("_", " "), shown, is_text)


def _short(specs: list[str]) -> list[str]:
    """Return specs with the middle of long ones left out, as of widths by kind, where they stay distinct."""
    short = [shortened(spec, MOST_CELLS) for spec in specs]
    return short if len({*short}) == len({*specs}) else specs


def _format(frame: pd.DataFrame, name: str) -> Callable[[Any], str]:
    if name.endswith("_s"):
        return format_time
    if name in SHARES:
        return "{:.1%}".format
    if frame[name].dtype.kind == "b":
        return lambda cell: "yes" if cell else ""
    return "{:.3g}".format if frame[name].dtype.kind == "f" else str


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as Markdown, its lines each with a line end; no text in it ends a cell or starts markup."""
    lines = [columns, ["---"] * len(columns), *rows]
    shown = (line if i == 1 else map(markdown_text, line) for i, line in enumerate(lines))
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in shown)


def markdown_notes(notes: Iterable[str]) -> str:
    r"""Return a section of notes as Markdown; nothing where there are none.

    Examples
    --------
    >>> print(markdown_notes(["a|b"]).strip())
    ## Notes
    <BLANKLINE>
    - a\|b
    """
    lines = [f"- {markdown_text(note)}\n" for note in notes]
    return f"\n## Notes\n\n{''.join(lines)}" if lines else ""


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


def unmarked(markdown: str) -> str:
    r"""Return text as it was before `markdown_text`, for who reads the Markdown itself.

    Examples
    --------
    >>> unmarked(markdown_text("a|b * me@home <c>"))
    'a|b * me@home <c>'
    """
    return unescape(re.sub(r"\\([\\`*~$|\]_#+=-])", r"\1", markdown.replace("&#8203;", "")))
