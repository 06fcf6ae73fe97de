"""Tried layouts as a heat map or bars, and the best makespan of searches by the number of their replays."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from simsched.drawing import Axes
from simsched.errors import SimschedError
from simsched.plots.canvas import Size, log_ticks, open_axes, outside_legend, require_columns
from simsched.plots.comparison import comparison
from simsched.plots.layouts import layouts, layouts_frame
from simsched.plots.overlap import LONGEST_PAIR, layers
from simsched.plots.palette import OKABE_ITO
from simsched.spec import Search
from simsched.units import time_unit


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
COLUMNS = ["search", "evaluation", "policy", "layout", "makespan_s", "best_s"]


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
        parts.append(tried.assign(search=name, best_s=tried["makespan_s"].cummin())[COLUMNS])
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
    require_columns(frame, COLUMNS, "tuning", "tuning_frame")
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
    names = list(searches)
    labels = [layer.label(name, names) for layer, name in zip(drawn, names, strict=True)]
    outside_legend(ax, lines, labels, LONGEST_PAIR).set_title("best so far")
    return ax
