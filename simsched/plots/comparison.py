"""Makespan by policy, or by machine, as bars."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import open_axes, plain, require_columns
from simsched.units import format_time, time_unit


def comparison(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the makespan of each policy or machine as a bar, its lower bound and its interval as lines.

    Parameters
    ----------
    frame : DataFrame
        Result of `simsched.compare` or `simsched.machines`: policy, layout, makespan_s, bound_s, speedup, and where
        there are any machine, low_s and high_s; the first row is at the top. A row without makespan is a run that
        failed.
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
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> ax = comparison(ss.compare(graph, "generic[cores=2]", ["sequential", "fifo"]))
    >>> [round(bar.get_width()) for bar in ax.patches]
    [6, 4]
    """
    require_columns(frame, ["policy", "layout", "makespan_s", "bound_s", "speedup"], "comparison")
    rows = np.arange(len(frame))
    ax = open_axes((8.0, 1.3 + 0.35 * len(frame)), ax)
    makespan, bound = frame["makespan_s"].to_numpy(np.float64), frame["bound_s"].to_numpy(np.float64)
    ends = makespan if "high_s" not in frame else np.fmax(makespan, frame["high_s"].to_numpy(np.float64))
    longest = float(np.max(ends[np.isfinite(ends)], initial=0.0))
    unit = time_unit(longest)
    ax.barh(rows, np.nan_to_num(makespan * unit.per_s), color="#56B4E9", height=0.7)
    ax.vlines(bound * unit.per_s, rows - 0.5, rows + 0.5, color="#D55E00", linewidth=2, label="lower bound")
    if "high_s" in frame:
        ax.hlines(
            rows,
            frame["low_s"] * unit.per_s,
            ends * unit.per_s,
            color="0.35",
            linewidth=1,
            label="interval",
        )
    for row, end, text in zip(rows.tolist(), ends * unit.per_s, _bar_texts(frame), strict=True):
        ax.text(end if np.isfinite(end) else 0.0, row, text, va="center", fontsize="small")
    ax.set_yticks(rows, _row_names(frame), parse_math=False, usetex=False)
    ax.set_ylim(max(len(frame), 1) - 0.5, -0.5)
    ax.set_xlim(0, 1.25 * longest * unit.per_s or 1.0)
    ax.set_xlabel(f"makespan ({unit.name})")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    return ax


def _bar_texts(frame: pd.DataFrame) -> list[str]:
    pairs = zip(frame["makespan_s"].astype(float), frame["speedup"], strict=True)
    return [_bar_text(seconds, speedup) for seconds, speedup in pairs]


def _bar_text(seconds: float, speedup: float) -> str:
    if not np.isfinite(seconds):
        return " failed"
    return f" {format_time(seconds)}" + (f" (×{speedup:.3g})" if np.isfinite(speedup) else "")


def _row_names(frame: pd.DataFrame) -> list[str]:
    layouts, policies = (frame[name].fillna("").astype(str) for name in ("layout", "policy"))
    if "machine" in frame:
        policies = frame["machine"].astype(str) + ": " + policies.str.partition("[")[0]
    return [plain(f"{name} {layout}".strip(" :")) for name, layout in zip(policies, layouts, strict=True)]
