"""Recorded and predicted makespans by number of cores."""

from __future__ import annotations

import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import log_ticks, open_axes, require_columns
from simsched.units import time_unit

PREDICTED, RECORDED = "#0072B2", "#D55E00"


def learned_curve(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw predicted makespans with their intervals by number of cores, and recorded ones as points.

    Parameters
    ----------
    frame : DataFrame
        Result of `Learned.predict`: cores, makespan_s, low_s, high_s, extrapolated, recorded_s. Extrapolated points are
        hollow.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If a column is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"cores": 1, "makespan_s": 2.0, "low_s": 1.0, "high_s": 3.0, "extrapolated": False, "recorded_s": 2.1}
    >>> learned_curve(pd.DataFrame([row])).get_ylabel()
    'makespan (s)'
    """
    require_columns(
        frame, ["cores", "makespan_s", "low_s", "high_s", "extrapolated", "recorded_s"], "learned_curve"
    )
    ax = open_axes((8.0, 4.2), ax)
    frame = frame.sort_values("cores", kind="stable")
    unit = time_unit(float(frame["makespan_s"].max()))
    cores = frame["cores"].to_numpy()
    low, middle, high = (frame[key].to_numpy() * unit.per_s for key in ("low_s", "makespan_s", "high_s"))
    ax.fill_between(cores, low, high, color=PREDICTED, alpha=0.15, linewidth=0, label="95 % interval")
    ax.plot(cores, middle, "-", color=PREDICTED, linewidth=1.2, label="predicted")
    beyond = frame["extrapolated"].to_numpy(bool)
    for mask, fill in ((~beyond, PREDICTED), (beyond, "white")):
        ax.plot(cores[mask], middle[mask], "o", color=PREDICTED, markerfacecolor=fill, markersize=5)
    ax.plot(
        cores,
        frame["recorded_s"] * unit.per_s,
        "x",
        color=RECORDED,
        markersize=8,
        markeredgewidth=2,
        label="recorded",
    )
    log_ticks(ax, "x")
    log_ticks(ax, "y")
    ax.set(xlabel="cores", ylabel=f"makespan ({unit.name})")
    ax.legend(fontsize="small", frameon=False)
    return ax
