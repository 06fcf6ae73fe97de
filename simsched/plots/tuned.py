"""The tried layouts and widths of a search: the picture that suits the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.plots.canvas import require_columns
from simsched.plots.comparison import comparison
from simsched.plots.layouts import layouts, layouts_frame
from simsched.plots.tuning import tuning, tuning_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.plots.canvas import Size
    from simsched.spec import Search


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
