"""Start order against a label of the tasks: whether a schedule walks the diagonals of a network."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import one_number_each, open_axes, plain, set_title, verbatim
from simsched.schedule import Schedule


def start_order_frame(schedule: Schedule, label: npt.ArrayLike) -> pd.DataFrame:
    """Return the tasks in start order.

    Parameters
    ----------
    schedule : Schedule
    label : array_like, shape (n,)
        One number per task, for example layer + step; NaN for tasks without one.

    Returns
    -------
    DataFrame
        position (0 is the first to start), task, start_s, label.

    Raises
    ------
    SimschedError
        If `label` is not one number per task.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 2)])
    >>> schedule = ss.simulate(graph, "generic[cores=1]", "critical-path")
    >>> ss.plots.start_order_frame(schedule, graph.depths)[["position", "task", "label"]].values.tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [2.0, 2.0, 1.0]]
    """
    labels = one_number_each(label, schedule.graph.n_tasks, "label", "task").astype(np.float64)
    order = schedule.start_order
    return pd.DataFrame(
        {
            "position": np.arange(len(order), dtype=np.int32),
            "task": order,
            "start_s": schedule.start_s[order],
            "label": labels[order],
        }
    )


def diagonal_score(schedule: Schedule, label: npt.ArrayLike) -> float:
    """Return how closely the start order follows the labels, from -1 to 1.

    It is Spearman's rank correlation between the position in start order and the label, over the tasks that
    have a label, ties sharing the mean of their ranks: 1 when tasks of a higher label always start after
    those of a lower one and labels are distinct (slightly less with ties), 0 when the order has nothing to do
    with the labels, negative when it runs against them. NaN with fewer than two labelled tasks, or one label only.

    Parameters
    ----------
    schedule : Schedule
    label : array_like, shape (n,)
        As in `start_order_frame`.

    Returns
    -------
    float

    References
    ----------
    C. Spearman, "The proof and measurement of association between two things", American Journal of Psychology
    15 (1904).

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 2)])
    >>> schedule = ss.simulate(graph, "generic[cores=1]", "fifo")
    >>> round(ss.plots.diagonal_score(schedule, [0, 1, 2]), 2), round(ss.plots.diagonal_score(schedule, [2, 1, 0]), 2)
    (1.0, -1.0)
    """
    ranks = start_order_frame(schedule, label)["label"].dropna().rank().to_numpy()
    if len(ranks) < 2 or np.ptp(ranks) == 0:
        return float("nan")
    return float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1])


def start_order(schedule: Schedule, label: npt.ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw the label of each task over its position in start order; a wavefront is a rising diagonal.

    Parameters
    ----------
    schedule : Schedule
    label : array_like, shape (n,)
        See `start_order_frame`; the name of a pandas Series names the axis.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import pandas as pd
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 2)])
    >>> schedule = ss.simulate(graph, "generic[cores=1]", "wavefront")
    >>> ss.plots.start_order(schedule, pd.Series(graph.depths, name="depth")).get_ylabel()
    'depth'
    """
    frame = start_order_frame(schedule, label)
    ax = open_axes((7.0, 4.0), ax)
    many = len(frame) > 2000
    ax.plot(
        frame["position"],
        frame["label"],
        ".",
        markersize=2 if many else 4,
        alpha=0.6,
        color="#0072B2",
        rasterized=many,
    )
    ax.set_xlabel("position in start order")
    verbatim(ax.set_ylabel(plain(str(getattr(label, "name", None) or "label"))))
    set_title(
        ax,
        plain(
            f"start order of {schedule.policy or 'schedule'}: diagonal score {_score(schedule, label)}", 200
        ),
    )
    return ax


def _score(schedule: Schedule, label: npt.ArrayLike) -> str:
    score = diagonal_score(schedule, label)
    return "unknown" if np.isnan(score) else f"{score:.3f}"
