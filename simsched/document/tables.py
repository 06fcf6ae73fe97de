"""Tables of results as text: seconds with a fitting unit, shares in percent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simsched.document.parts import Table
from simsched.text import shortened
from simsched.units import format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

SHARES = ("utilization", "efficiency", "binds_share", "gap", "swing_share", "plain_error", "calibrated_error")
#: Cells of a policy's spec.
MOST_CELLS = 40


def table_of(frame: pd.DataFrame) -> Table:
    """Return a table of results as text; columns called `*_s` are seconds, `SHARES` shares, `-` is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> table_of(pd.DataFrame({"makespan_s": [0.0042], "gap": [0.25]})).rows
    [('4.2 ms', '25.0%')]
    """
    columns = [_cells(frame, name) for name in frame.columns]
    titles = [name.removesuffix("_s").replace("_", " ") for name in frame.columns]
    return Table("", titles, list(zip(*columns, strict=True)))


def _cells(frame: pd.DataFrame, name: str) -> list[str]:
    cells, text = frame[name], _format(frame, name)
    shown = ["-" if missing else text(cell) for cell, missing in zip(cells, cells.isna(), strict=True)]
    return _short(shown) if name == "policy" else shown


def _short(specs: list[str]) -> list[str]:
    """Return specs, the middle of long ones (such as widths by kind) left out where they stay distinct."""
    short = [shortened(spec, MOST_CELLS) for spec in specs]
    return short if len({*short}) == len({*specs}) else specs


def _format(frame: pd.DataFrame, name: str) -> Callable[[Any], str]:
    if name.endswith("_s"):
        return format_time
    if name in SHARES:
        return "{:z.1%}".format  # -0.0 % is 0.0 %
    if frame[name].dtype.kind == "b":
        return lambda cell: "yes" if cell else ""
    return "{:.3g}".format if frame[name].dtype.kind == "f" else str
