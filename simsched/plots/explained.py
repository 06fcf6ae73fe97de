"""Drawings of `simsched.explain`: the critical path through time, the cores' time, the best improvements."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from simsched.drawing import Artist, Axes, Container
from simsched.errors import SimschedError
from simsched.explain.core_time import IDLE, SHARED, SLOW_DOWNS, TEAM, labelled, seen_parts
from simsched.plots.canvas import (
    GREY,
    HIGHLIGHT,
    OKABE_ITO,
    RGB,
    open_axes,
    outside_legend,
    plain,
    require_columns,
    set_title,
)
from simsched.plots.picture import inline_svg
from simsched.units import time_unit

#: Most kinds of tasks with separate rows in the drawing of a path.
MOST_KINDS = 8


def critical_path(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw a critical path through time: one row per kind of task, and one each for dispatch and queue.

    Parameters
    ----------
    frame : DataFrame
        As `Explanation.critical_path` returns it.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If a column is missing.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], kinds=["a", "b", "b"])
    >>> ax = ss.simulate(graph, "generic[cores=1]", "fifo").explain().plot_critical_path()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b: 83.3%', 'a: 16.7%']
    """
    require_columns(frame, ["begin_s", "seconds_s", "part", "kind"], "critical_path")
    rows = _rows(frame)
    totals = frame["seconds_s"].groupby(rows, sort=False).sum().sort_values(ascending=False, kind="stable")
    whole_s = float(totals.sum())
    unit = time_unit(whole_s)
    ax = open_axes((8.0, 1.2 + 0.3 * len(totals)), ax)
    # Rows are named; colours of kinds would be other ones than a Gantt chart's beside it.
    for place, name in enumerate(totals.index):
        ours = frame[rows == name]
        waits = ours["part"].iloc[0] != "run"
        begins, lengths = ((ours[column] * unit.per_s).tolist() for column in ("begin_s", "seconds_s"))
        ax.broken_barh(
            list(zip(begins, lengths, strict=True)),
            (place - 0.4, 0.8),
            color=GREY if waits else HIGHLIGHT,
        )
    labels = [f"{plain(str(name))}: {seconds / whole_s:.1%}" for name, seconds in totals.items()]
    ax.set_yticks(range(len(totals)), labels, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel(f"time ({unit.name})")
    set_title(ax, "critical path through time")
    return ax


def _rows(frame: pd.DataFrame) -> pd.Series[str]:
    """Return the row of each segment: its kind if it is one of the longest, or the cause of its wait."""
    run = frame["part"] == "run"
    kinds = frame["kind"].astype(object).where(frame["kind"] != "", "no kind")
    longest = frame["seconds_s"][run].groupby(kinds[run]).sum().sort_values(ascending=False, kind="stable")
    kept = kinds.where(kinds.isin(list(longest.index[:MOST_KINDS])), "other kinds")
    return kept.where(run, "waiting: " + frame["part"].astype(str)).astype(str)


def core_time(frames: Mapping[str, pd.DataFrame], ax: Axes | None = None) -> Axes:
    """Draw the use of the cores' time in schedules, one bar each; from the left: work, team, slow-down, idle.

    Parameters
    ----------
    frames : mapping of str to DataFrame
        Name of each, and its table, as returned by `Explanation.core_time`.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If there are none, or a column is missing.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> both = {p: ss.simulate(graph, "generic[cores=2]", p).explain().core_time for p in ("fifo", "sequential")}
    >>> [label.get_text() for label in ss.plots.core_time(both).get_yticklabels()]
    ['fifo', 'sequential']
    """
    if not frames:
        raise SimschedError("core_time draws one table or more; there is none")
    for frame in frames.values():
        require_columns(frame, ["group", "cause", "share"], "core_time")
    ax = open_axes((8.0, 1.6 + 0.5 * len(frames)), ax)
    handles: dict[str, Container] = {}
    for place, frame in enumerate(frames.values()):
        right = left = 0.0
        for group, cause, part in seen_parts(frame):
            label, share = labelled(group, cause), 100 * part
            face, hatch = _style(cause)
            bar = ax.barh(
                place, share, 0.7, left=right if share > 0 else left, facecolor=face, hatch=hatch,
                edgecolor="white", linewidth=0.5,
            )  # fmt: skip
            right, left = right + max(share, 0.0), left + min(share, 0.0)
            handles.setdefault(label, bar)
    ax.set_yticks(range(len(frames)), [plain(name) for name in frames], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel("core-time (%)")
    rows = (zip(frame["group"].tolist(), frame["cause"].tolist(), strict=True) for frame in frames.values())
    order = list(dict.fromkeys(labelled(group, cause) for pairs in rows for group, cause in pairs))
    shown = sorted(handles, key=order.index)
    outside_legend(ax, [handles[label] for label in shown], shown)
    return ax


def _style(cause: str) -> tuple[RGB, str]:
    """Return the colour of a cause, and the hatching that shows its group."""
    if cause in SLOW_DOWNS:
        return OKABE_ITO[1 + SLOW_DOWNS.index(cause) % (len(OKABE_ITO) - 2)], "////"
    if cause in TEAM:
        # The colour of work, paler and paler.
        pale = 0.35 + 0.22 * list(TEAM).index(cause)
        red, green, blue = (part + pale * (1 - part) for part in OKABE_ITO[0])
        return (red, green, blue), "\\\\\\\\"
    if cause in IDLE:
        grey = 0.85 - 0.11 * IDLE.index(cause)
        return (grey, grey, grey), "...."
    return (OKABE_ITO[-1], "xxxx") if cause == SHARED else (OKABE_ITO[0], "")


def core_time_svg(frames: Mapping[str, pd.DataFrame], width: int = 640) -> str:
    """Return the drawing as one `<svg>` element.

    Parameters
    ----------
    frames : mapping of str to DataFrame
        As for `core_time`.
    width : int
        Width in CSS pixels.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    shares = {name: seen_parts(frame) for name, frame in frames.items()}
    height = 70 + max(40 * len(frames), *(15 * len(parts) for parts in shares.values()))
    description = "; ".join(
        f"{name}: " + ", ".join(f"{labelled(group, cause)} {100 * share:.0f} %" for group, cause, share in parts)
        for name, parts in shares.items()
    )  # fmt: skip
    return inline_svg(
        lambda figure: core_time(frames, ax=figure.add_subplot()),
        width,
        height,
        f"Core-time of {description}",
    )


def what_if(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the best improvements: the reduction of the makespan by a faster task, or kind of tasks (hatched).

    Parameters
    ----------
    frame : DataFrame
        As `Explanation.what_if` returns it.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If a column is missing.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> frame = ss.simulate(graph, "generic[cores=2]", "fifo").explain().what_if()
    >>> [label.get_text() for label in ss.plots.what_if(frame).get_yticklabels()]
    ['task 2, 2x faster', 'task 0, 2x faster']
    """
    require_columns(frame, ["what", "name", "speedup", "gain"], "what_if")
    ax = open_axes((8.0, 1.2 + 0.25 * len(frame)), ax)
    gains = 100 * frame["gain"].to_numpy(np.float64)
    kinds = (frame["what"] == "kind").to_numpy()
    handles: list[Artist] = []
    for ours, colour, hatch in ((~kinds, OKABE_ITO[0], ""), (kinds, OKABE_ITO[1], "////")):
        bars = ax.barh(np.flatnonzero(ours), gains[ours], 0.8, color=colour, hatch=hatch, edgecolor="white")
        handles += list(bars)[:1]
    faster = zip(frame["name"].tolist(), frame["speedup"].tolist(), strict=True)
    labels = [f"{plain(name)}, {speedup:g}x faster" for name, speedup in faster]
    ax.set_yticks(range(len(frame)), labels, parse_math=False)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.invert_yaxis()
    ax.set_xlabel("makespan saved (%)")
    present = [
        name for name, some in (("one task", (~kinds).any()), ("all tasks of a kind", kinds.any())) if some
    ]
    outside_legend(ax, handles, present)
    return ax
