"""Measured numbers of a host over those assumed before."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import log_ticks, open_axes, plain, require_columns

COLUMNS = ["number", "unit", "measured", "low", "high", "host", "host_low", "host_high"]


def measured_numbers(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw each measured number over that of the machine `host`, with the intervals of both.

    Parameters
    ----------
    frame : DataFrame
        Table of `simsched.measure`; numbers that `host` has not, or as 0, are left out.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"number": "cores.clock", "unit": "GHz", "measured": 3.0, "low": 2.9, "high": 3.1}
    >>> ax = measured_numbers(pd.DataFrame([{**row, "host": 2.0, "host_low": 1.0, "host_high": 4.0}]))
    >>> [round(float(x), 2) for x in ax.lines[1].get_xdata()]
    [1.5]
    """
    require_columns(frame, COLUMNS, "measured_numbers", "measure")
    known = frame[(frame["host"] > 0) & (frame["measured"] > 0)]
    rows = np.arange(len(known))
    ax = open_axes((8.0, 1.3 + 0.35 * len(known)), ax)
    over = known[["measured", "low", "high", "host_low", "host_high"]].div(known["host"], axis=0)
    low, length = over["host_low"], over["host_high"] - over["host_low"]
    ax.barh(rows, length, left=low, height=0.6, color="0.85", label="as taken until now")
    ax.axvline(1.0, color="0.5", linewidth=1)
    ax.hlines(rows, over["low"], over["high"], color="#0072B2", linewidth=2)
    ax.plot(over["measured"], rows, "o", color="#0072B2", label="measured")
    for row, at, value, unit in zip(
        rows.tolist(), over["measured"], known["measured"], known["unit"], strict=True
    ):
        said = f" {value:.3g} {unit}"
        ax.annotate(said, (at, row), xytext=(4, 5), textcoords="offset points", fontsize="small")
    ax.set_yticks(rows, [plain(str(name)) for name in known["number"]], parse_math=False, usetex=False)
    ax.set_ylim(max(len(known), 1) - 0.5, -0.7)
    log_ticks(ax, "x")
    ax.set_xlabel("over the number of the machine host")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    return ax
