"""Pictures of a paper's tables in its form: bars and curves of a quantity, named by the columns of its cases."""

from __future__ import annotations

from typing import Any

import pandas as pd

from simsched.drawing import Axes
from simsched.plots.published import curves, grouped_bars


def bars(
    label: str,
    group: str,
    title: str,
    quantity: str,
    frame: pd.DataFrame,
    ax: Axes | None = None,
    *,
    log: bool = True,
) -> Axes:
    """Draw the rows of a quantity as `grouped_bars`.

    Parameters
    ----------
    label, group : str
        Names of the place on the axis and of the bar there, with columns in braces: `{layers} layers`.
    title : str
        Of the axis of values.
    quantity : str
        Its name; all rows when empty.
    frame : DataFrame
        Of the table; see `Reproduction.frame`.
    ax : Axes, optional
        Where to draw; a new figure when not given.
    log : bool
        Whether the axis of values is logarithmic.
    """
    rows = _named(frame, quantity, label=label, group=group)
    return grouped_bars(rows, "label", "group", title, ax, log=log)


def lines(x: str, group: str, title: str, quantity: str, frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the rows of a quantity as `curves` over a column; all else is as for `bars`."""
    return curves(_named(frame, quantity, group=group), x, "group", title, ax)


def _named(frame: pd.DataFrame, quantity: str, **names: str) -> pd.DataFrame:
    rows = frame[frame["quantity"] == quantity] if quantity else frame
    cases: Any = rows.to_dict("records")
    return rows.assign(**{name: [words.format(**case) for case in cases] for name, words in names.items()})
