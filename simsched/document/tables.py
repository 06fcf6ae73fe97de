"""Tables for the terminal: seconds with a fitting unit, shares in percent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simsched.document.table_layout import Column, laid_out
from simsched.text import printable, shortened
from simsched.units import format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

SHARES = ("utilization", "efficiency", "binds_share", "gap", "swing_share", "plain_error", "calibrated_error")
#: Cells of a policy's spec.
MOST_CELLS = 40


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
