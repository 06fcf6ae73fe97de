"""Tables for the terminal: seconds with a fitting unit, shares in percent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

SHARES = ("utilization", "efficiency", "gap")


def format_seconds(seconds: float) -> str:
    """Return seconds with four digits and a fitting unit.

    Examples
    --------
    >>> format_seconds(0.0123456), format_seconds(0.0), format_seconds(75.0)
    ('12.35 ms', '0 s', '75 s')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds == 0 or abs(seconds) * factor >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def table_text(frame: pd.DataFrame) -> str:
    """Return a table of results as text; columns called `*_s` are seconds, `SHARES` are shares."""
    formatters: dict[str, Callable[[float], str]] = {}
    for column in frame.columns:
        if column.endswith("_s"):
            formatters[column] = format_seconds
        elif column in SHARES:
            formatters[column] = "{:.1%}".format
        elif frame[column].dtype.kind == "f":
            formatters[column] = "{:.3g}".format
    titles = {c: c.removesuffix("_s").replace("_", " ") for c in frame.columns}
    shown = frame.rename(columns=titles)
    return shown.to_string(index=False, formatters={titles[c]: f for c, f in formatters.items()})
