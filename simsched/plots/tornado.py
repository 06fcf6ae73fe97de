"""Sensitivity of a makespan: one bar per uncertain number."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import OKABE_ITO, open_axes, plain, require_columns
from simsched.renamed import old_arguments
from simsched.units import time_unit

#: Bars at most, unless a number is given.
MOST = 15


@old_arguments(most="max_rows")
def tornado(frame: pd.DataFrame, ax: Axes | None = None, max_rows: int = MOST) -> Axes:
    """Draw the makespan with each number at either end of its interval, the widest bar first.

    Parameters
    ----------
    frame : DataFrame
        What `simsched.sensitivity` returns.
    ax : Axes, optional
        Where to draw; a new figure when not given.
    max_rows : int
        Bars at most; the picture says how many numbers are left out.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If a column is missing.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([float("nan")], flops=[1e12])
    >>> tornado(ss.sensitivity(graph, "generic", "fifo")).get_xlabel()
    'makespan (s)'
    """
    ends = ["low_makespan_s", "high_makespan_s"]
    require_columns(frame, ["parameter", "value", "unit", "low", "high", "makespan_s", *ends], "tornado")
    shown = frame.head(max_rows)
    ax = open_axes((8.0, 1.4 + 0.32 * len(shown)), ax)
    unit = time_unit(float(frame["makespan_s"].max()) if len(frame) else 1.0)
    nominal = shown["makespan_s"].to_numpy() * unit.per_s
    for column, colour, label in zip(ends, OKABE_ITO[:2], ("at its low end", "at its high end"), strict=True):
        width = shown[column].to_numpy() * unit.per_s - nominal
        ax.barh(np.arange(len(shown)), width, left=nominal, color=colour, height=0.7, label=label)
    if len(shown):
        ax.axvline(nominal[0], color="0.3", linewidth=1)
    _label(ax, shown, [f"{row.low:.3g} to {row.high:.3g} {row.unit}" for row in shown.itertuples()])
    ax.set_xlabel(f"makespan ({unit.name})")
    _tell_rest(ax, frame.iloc[max_rows:])
    return ax


@old_arguments(most="max_rows")
def sobol_bars(frame: pd.DataFrame, ax: Axes | None = None, max_rows: int = MOST) -> Axes:
    """Draw first and total Sobol indices of each number with their intervals, the largest total first.

    Parameters
    ----------
    frame : DataFrame
        What `simsched.sobol` returns.
    ax, max_rows
        As in `tornado`.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If a column is missing.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([float("nan")], flops=[1e12])
    >>> found = ss.sobol(graph, "generic", "fifo", parameters=["cores.clock"], samples=4)
    >>> sobol_bars(found).get_xlabel()
    "share of the makespan's variance"
    """
    kinds = {"first": "by itself", "total": "total"}
    require_columns(
        frame,
        ["parameter", *(f"{kind}{end}" for kind in kinds for end in ("", "_low", "_high"))],
        "sobol_bars",
    )
    shown = frame.head(max_rows)
    ax = open_axes((8.0, 1.4 + 0.4 * len(shown)), ax)
    for place, (kind, label) in enumerate(kinds.items()):
        value = shown[kind].to_numpy(float)
        ends = np.maximum([value - shown[f"{kind}_low"], shown[f"{kind}_high"] - value], 0.0)
        at = np.arange(len(shown)) + 0.38 * (place - 0.5)
        ax.barh(
            at, value, 0.36, xerr=ends.tolist(), color=OKABE_ITO[place], label=label, error_kw={"capsize": 2}
        )
    ax.axvline(0.0, color="0.3", linewidth=1)
    _label(ax, shown, [""] * len(shown))
    ax.set_xlabel("share of the makespan's variance")
    _tell_rest(ax, frame.iloc[max_rows:])
    return ax


def _label(ax: Axes, shown: pd.DataFrame, beside: list[str]) -> None:
    names = [
        f"{plain(name)}\n{plain(text)}".strip() for name, text in zip(shown["parameter"], beside, strict=True)
    ]
    ax.set_yticks(range(len(shown)), names, parse_math=False, usetex=False, fontsize="small")
    ax.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    if len(shown):
        ax.legend(frameon=False, fontsize="small", loc="lower right")


def _tell_rest(ax: Axes, rest: pd.DataFrame) -> None:
    if len(rest):
        ax.set_title(f"{len(rest)} more numbers have less effect, or none", fontsize="small", loc="left")
