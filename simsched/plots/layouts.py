"""Makespan by layout, as a heat map or bars, and the best makespan of searches by the number of their replays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.drawing import Axes, Rectangle
from simsched.errors import SimschedError
from simsched.plots.canvas import (
    LONGEST_PAIR,
    OKABE_ITO,
    Size,
    layer_labels,
    layers,
    log_ticks,
    open_axes,
    outside_legend,
    readable,
    require_columns,
    set_title,
    shown_axes,
)
from simsched.plots.policies import comparison
from simsched.spec import Search
from simsched.units import format_time, time_unit

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
    ticks = min(10.0, 2.5 * size)
    ax.set_xticks(range(len(widths)), [str(width) for width in widths], fontsize=ticks)
    ax.set_yticks(range(len(executors)), [str(number) for number in executors], fontsize=ticks)
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


def tuned(
    frame: pd.DataFrame, ax: Axes | None = None, *, method: Search = "enumerate", cores: int | None = None
) -> Axes:
    """Draw layouts on a grid as a heat map, others as bars, and a search as its best makespan so far.

    Parameters
    ----------
    frame : DataFrame
        What `simsched.tune` returns.
    ax : Axes, optional
        Where to draw; a new figure when not given.
    method : {"enumerate", "widths", "optuna"}
        How it was searched.
    cores : int, optional
        As in `layouts_frame`.

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
    >>> tuned(ss.tune(graph, "generic[cores=2]", "fifo")).get_xlabel()
    'makespan (s)'
    """
    require_columns(frame, ["executors", "width", "policy", "makespan_s"], "tuned")
    if method != "enumerate":
        return tuning(tuning_frame({method: frame}), ax=ax)
    if _is_grid(frame):
        return layouts(layouts_frame(frame, cores), ax=ax)
    return comparison(frame, ax=ax)


def _is_grid(frame: pd.DataFrame) -> bool:
    """Return whether layouts form a grid: more than one width for a number of executors, of one policy."""
    return bool(frame["executors"].duplicated().any()) and frame["policy"].nunique() == 1


def tuned_size(frame: pd.DataFrame, method: Search) -> Size:
    """Return width and height of the picture, in inches."""
    bars = method == "enumerate" and not _is_grid(frame)
    return (7.0, 1.3 + 0.35 * len(frame)) if bars else (8.0, 4.4)


LINE_PT, DOT_PT = 1.5, 6.0
TRIED_COLUMNS = ["search", "evaluation", "policy", "layout", "makespan_s", "best_s"]


def tuning_frame(tuned: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the history of some searches.

    Parameters
    ----------
    tuned : mapping of str to DataFrame
        What `simsched.tune` returns, by a name of the search.

    Returns
    -------
    DataFrame
        One row a replay, by search, then in the order in which they were tried: search, evaluation (from 1), policy,
        layout, makespan_s, best_s (the shortest so far).

    Raises
    ------
    SimschedError
        If there is no search, or a column is missing.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> tuning_frame({"all": ss.tune(graph, "generic[cores=2]", "fifo")})[["makespan_s", "best_s"]].values.tolist()
    [[6.0, 6.0], [4.0, 4.0]]
    """
    if not tuned:
        raise SimschedError("there is no search to draw; give {name: ss.tune(...)}")
    parts = []
    for name, frame in tuned.items():
        require_columns(frame, ["evaluation", "policy", "layout", "makespan_s"], "tuning_frame")
        tried = frame.sort_values("evaluation", ignore_index=True)
        parts.append(tried.assign(search=name, best_s=tried["makespan_s"].cummin())[TRIED_COLUMNS])
    return pd.concat(parts, ignore_index=True)


def tuning(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the best makespan so far of each search as a line of steps, and every replay as a dot.

    Of overlapping lines the lower ones are wider; the legend shows which are equal throughout.

    Parameters
    ----------
    frame : DataFrame
        What `tuning_frame` returns.
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
    >>> ax = tuning(tuning_frame({"all": ss.tune(graph, "generic[cores=2]", "fifo")}))
    >>> ax.get_ylabel()
    'makespan (s)'
    """
    require_columns(frame, TRIED_COLUMNS, "tuning", "tuning_frame")
    ax = open_axes((7.0, 4.0), ax)
    unit = time_unit(float(frame["makespan_s"].max()))
    searches = {str(name): rows for name, rows in frame.groupby("search", sort=False)}
    drawn, lines = layers([(rows["evaluation"], rows["best_s"]) for rows in searches.values()]), []
    for number, (rows, layer) in enumerate(zip(searches.values(), drawn, strict=True)):
        colour, at = OKABE_ITO[number % len(OKABE_ITO)], rows["evaluation"]
        size = DOT_PT + 1.5 * layer.wider_pt
        ax.plot(at, rows["makespan_s"] * unit.per_s, ".", color=colour, markersize=size, alpha=0.4)
        best = rows["best_s"] * unit.per_s
        lines += ax.step(at, best, where="post", color=colour, linewidth=LINE_PT + layer.wider_pt)
    if (frame["makespan_s"] > 0).all():
        log_ticks(ax, "y")
    ax.set(xlabel="replays", ylabel=f"makespan ({unit.name})")
    outside_legend(ax, lines, layer_labels(drawn, list(searches)), LONGEST_PAIR).set_title("best so far")
    return ax
