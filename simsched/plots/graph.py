"""A task graph by depth: its dependencies, and its width."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.graph.columns import Floats
from simsched.plots.canvas import by_kind, outside_legend, plain, set_title, shown_axes
from simsched.text import counted

#: Beyond this a picture shows nothing but ink.
MAX_TASKS = 20_000


def graph_frame(graph: TaskGraph) -> pd.DataFrame:
    """Return the position of each task.

    Parameters
    ----------
    graph : TaskGraph

    Returns
    -------
    DataFrame
        task, depth, row, kind. Rows of a depth are 1 apart around 0, in the order of the mean row of their
        predecessors, ties by index.

    Raises
    ------
    SimschedError
        If the graph has more than `MAX_TASKS` tasks.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)])
    >>> ss.plots.graph_frame(graph)[["task", "depth", "row"]].values.tolist()
    [[0.0, 0.0, -0.5], [1.0, 0.0, 0.5], [2.0, 1.0, 0.0]]
    """
    if graph.n_tasks > MAX_TASKS:
        raise SimschedError(
            f"{counted(graph.n_tasks, 'task')} are too many for a picture; draw at most {MAX_TASKS}"
        )
    return pd.DataFrame(
        {
            "task": np.arange(graph.n_tasks),
            "depth": graph.depths,
            "row": _rows(graph),
            "kind": graph.kinds.to_list(),
        }
    )


def _rows(graph: TaskGraph) -> Floats:
    rows = np.zeros(graph.n_tasks)
    order = np.argsort(graph.depths, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(graph.depths[order])) + 1)
    for level in levels:
        before = [graph.predecessors.neighbours(task) for task in level]
        mean = np.array([rows[tasks].mean() if len(tasks) else 0.0 for tasks in before])
        rows[level[np.argsort(mean, kind="stable")]] = np.arange(len(level)) - (len(level) - 1) / 2
    return rows


def draw_graph(graph: TaskGraph, ax: Axes | None = None) -> Axes:
    """Draw the tasks by depth, coloured by kind, with lines from each to its successors.

    Parameters
    ----------
    graph : TaskGraph
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If the graph has more than `MAX_TASKS` tasks.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)], kinds=["a", "a", "b"])
    >>> [text.get_text() for text in ss.plots.draw_graph(graph).get_legend().get_texts()]
    ['a', 'b']
    """
    places = graph_frame(graph)[["depth", "row"]].to_numpy(float)
    colours = by_kind(graph.kinds, np.ones(graph.n_tasks))
    ax = shown_axes((9.0, 4.0), ax)
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    lines = np.stack([places[graph.successors.sources()], places[graph.successors.indices]], axis=1)
    ax.add_collection(LineCollection(list(lines), colors="0.8", linewidths=0.5, zorder=1))
    ax.scatter(places[:, 0], places[:, 1], s=12 if graph.n_tasks < 500 else 4, c=colours.rgb, zorder=2)
    marks = [Line2D([], [], color=rgb, marker="o", linestyle="") for _, rgb in colours.groups]
    outside_legend(ax, marks, [kind for kind, _ in colours.groups])
    ax.set_xlabel("depth")
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    set_title(
        ax, plain(f"{graph.name}: {counted(graph.n_tasks, 'task')}, {counted(graph.n_edges, 'edge')}", 120)
    )
    return ax
