"""Makespan by layout, executors x width, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.drawing import Axes, Rectangle
from simsched.errors import SimschedError
from simsched.plots.canvas import outside_legend, require_columns, set_title, shown_axes
from simsched.plots.palette import OKABE_ITO, readable
from simsched.units import format_time

COLUMNS = ["executors", "width", "makespan_s", "relative", "state"]
#: Beyond this many times the best, colours no longer differ.
MOST_TIMES = 16.0
#: Appearance of highlighted cells, by state; those of the legend.
FRAMES: Mapping[str, Mapping[str, Any]] = {
    "best": {"edgecolor": OKABE_ITO[3], "linewidth": 3.0},
    "tied": {"edgecolor": OKABE_ITO[3], "linewidth": 2.0, "linestyle": ":"},
    "failed": {"edgecolor": "0.4", "linewidth": 0.0, "hatch": "xxxx"},
    "does not fit": {"edgecolor": "0.7", "linewidth": 0.0, "hatch": "////"},
    "not tried": {"edgecolor": "0.85", "linewidth": 0.5},
}


def layouts_frame(tuned: pd.DataFrame, cores: int | None = None, tie: float = 0.01) -> pd.DataFrame:
    """Return every pair of tried executors and widths, with its time relative to the best.

    Parameters
    ----------
    tuned : DataFrame
        What `simsched.tune` returns: executors, width, makespan_s.
    cores : int, optional
        Worker cores of the machine: pairs that need more do not fit. The most that any layout tried uses when not
        given.
    tie : float
        Layouts that take at most this share longer than the best are tied with it.

    Returns
    -------
    DataFrame
        One row per pair, by executors, then width: executors, width, makespan_s, relative (makespan over the shortest;
        1 where both are 0), state: "best" (of equals the first), "tied", "slower", "failed", "does not
        fit" or "not tried"; makespan_s and relative are NaN in the last three.

    Raises
    ------
    SimschedError
        If a column is missing, no layout has a makespan, or `tie` is below 0.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> layouts_frame(ss.tune(graph, "generic[cores=2]", "fifo"))[["executors", "width", "state"]].values.tolist()
    [[1, 1, 'not tried'], [1, 2, 'slower'], [2, 1, 'best'], [2, 2, 'does not fit']]
    """
    require_columns(tuned, ["executors", "width", "makespan_s"], "layouts_frame")
    if not tie >= 0:
        raise SimschedError(f"tie is {tie}; expected a share of the best time, 0 or more")
    keys = ["executors", "width"]
    tried = tuned.drop_duplicates(keys).set_index(keys)["makespan_s"]
    if not tried.notna().any():
        raise SimschedError("no layout of this table has a makespan: there is nothing to compare")
    pairs = pd.MultiIndex.from_product([sorted(set(tuned[key])) for key in keys], names=keys)
    frame = tried.reindex(pairs).reset_index()
    shortest = float(tried.min())
    frame["relative"] = frame["makespan_s"] / shortest if shortest else frame["makespan_s"] + 1.0
    most = max(k * w for k, w in tried.index) if cores is None else cores
    states: dict[str, npt.ArrayLike] = {
        "best": pairs == tried.idxmin(),
        "tied": frame["relative"] <= 1 + tie,
        "slower": frame["makespan_s"].notna(),
        "failed": pairs.isin(tried.index),
        "does not fit": frame["executors"] * frame["width"] > most,
    }
    frame["state"] = np.select(
        [np.asarray(s, bool) for s in states.values()], np.array(list(states)), "not tried"
    )
    return frame[COLUMNS]


def layouts(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the time of each layout over that of the best as a heat map.

    The best has a full frame, those tied with it a dotted one; layouts beyond the machine are hatched, untried ones
    are empty.

    Parameters
    ----------
    frame : DataFrame
        What `layouts_frame` returns.
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
    >>> ax = layouts(layouts_frame(ss.tune(graph, "generic[cores=2]", "fifo")))
    >>> [text.get_text() for text in ax.texts]
    ['1.5', '1']
    """
    require_columns(frame, COLUMNS, "layouts", "layouts_frame")
    executors, widths = sorted(set(frame["executors"])), sorted(set(frame["width"]))
    ax = shown_axes((3.2 + 0.6 * len(widths), 1.4 + 0.42 * len(executors)), ax)
    times = frame.pivot(index="executors", columns="width", values="relative").to_numpy(np.float64)
    # Cells without a number are transparent.
    ax.set_facecolor("white")
    image = ax.imshow(
        np.log(times), cmap="viridis_r", vmin=0.0, vmax=np.log(MOST_TIMES), aspect="auto", origin="lower"
    )
    size = min(9.0, 90.0 / max(len(widths), len(executors), 1))
    for (row, column), time in np.ndenumerate(times):
        if np.isfinite(time):
            colour = readable(image.to_rgba(np.log(time))[:3])
            ax.text(column, row, f"{time:.3g}", ha="center", va="center", color=colour, fontsize=size)
    _frame_cells(ax, frame, executors, widths)
    ax.set_xticks(range(len(widths)), [str(width) for width in widths])
    ax.set_yticks(range(len(executors)), [str(number) for number in executors])
    ax.set(xlabel="width (cores of an executor)", ylabel="executors")
    best = frame[frame["state"] == "best"].iloc[0]
    layout, time = f"{best['executors']}x{best['width']}", format_time(best["makespan_s"])
    set_title(ax, f"time over that of the best, {layout}: {time}")
    return ax


def _frame_cells(ax: Axes, frame: pd.DataFrame, executors: list[int], widths: list[int]) -> None:
    from matplotlib.patches import Rectangle

    def cell(x: float, y: float, state: str) -> Rectangle:
        # The best is above its neighbours' frames, and within its own cell.
        order = 2.0 + (state == "best") + (state == "tied") / 2
        return Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, zorder=order, **FRAMES[state])

    for row in frame[frame["state"].isin(FRAMES)].to_dict("records"):
        ax.add_patch(cell(widths.index(row["width"]), executors.index(row["executors"]), row["state"]))
    there = [state for state in FRAMES if (frame["state"] == state).any()]
    outside_legend(ax, [cell(0, 0, state) for state in there], there)
