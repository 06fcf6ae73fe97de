"""Makespan and efficiency by number of cores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.drawing import Artist, Axes
from simsched.intervals import LEVEL, share_within
from simsched.plots.canvas import LOWER_BOUND, log_ticks, require_columns, shown_axes
from simsched.units import TimeUnit, time_unit

COLOUR = "#0072B2"
BOUNDS = (
    ("critical_path_s", "critical path", "#D55E00"),
    ("area_s", "area (work over cores)", "#009E73"),
    ("bound_s", LOWER_BOUND, "#000000"),
)


def scaling(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw makespan and its lower bounds by number of cores, and efficiency on a second axis.

    Cores and makespan have logarithmic axes: perfect scaling is a straight line. Extrapolated points are hollow, and
    the line to them is dashed; the knee has its own line. The lower bound is a wide grey line, so that lines on
    it are visible.

    Parameters
    ----------
    frame : DataFrame
        Result of `simsched.predict`: cores, makespan_s, critical_path_s, area_s, bound_s, efficiency; where there
        are low_s and high_s, the area between them is shaded; extrapolated and knee may be missing.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes
        That of the makespan.

    Raises
    ------
    SimschedError
        If a column is missing.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> scaling(ss.predict(graph, "generic", "critical-path", [1, 2])).get_ylabel()
    'makespan (s)'
    """
    require_columns(
        frame, ["cores", "makespan_s", "efficiency", *(column for column, _, _ in BOUNDS)], "scaling"
    )
    ax = shown_axes((8.0, 4.2), ax)
    frame = frame.sort_values("cores", kind="stable")
    unit = time_unit(float(frame["makespan_s"].max()))
    cores = frame["cores"].to_numpy()
    lines = [*_makespan(ax, frame, unit), *_interval(ax, frame, unit)]
    mark = "_" if len(frame) == 1 else ""  # a line has no length there
    for column, label, colour in BOUNDS:
        # The bound is always on one of the others: a wide line below them, on which all else is seen.
        below = column == "bound_s"
        lines += ax.plot(
            cores, frame[column] * unit.per_s, "-" if below else "--", marker=mark, color=colour, label=label,
            linewidth=6.0 if below else 1.2, alpha=0.25 if below else 1.0, zorder=1.5 if below else 2.5,
            markersize=14 if below else 8,
        )  # fmt: skip
    twin = ax.twinx()
    lines += twin.plot(
        cores, 100 * frame["efficiency"], "s-", color="0.6", markersize=4, linewidth=1, label="efficiency"
    )
    _label_axes(ax, twin, frame, unit)
    lines += _knee(ax, frame)
    ax.legend(
        handles=lines, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize="small", frameon=False
    )
    return ax


def _makespan(ax: Axes, frame: pd.DataFrame, unit: TimeUnit) -> list[Artist]:
    """Draw the makespans; each piece of the line is solid where neither of its ends is extrapolated."""
    cores, seconds = frame["cores"].to_numpy(), (frame["makespan_s"] * unit.per_s).to_numpy()
    guessed = np.asarray(frame.get("extrapolated", np.zeros(len(frame))), np.bool_)
    lines: list[Artist] = []
    lines += ax.plot(
        cores,
        np.where(guessed, np.nan, seconds),
        "o-",
        color=COLOUR,
        markersize=5,
        linewidth=2.2,
        label="makespan",
    )
    if guessed.any():
        reached = guessed | np.append(guessed[1:], False) | np.insert(guessed[:-1], 0, False)
        ax.plot(cores, np.where(reached, seconds, np.nan), "--", color=COLOUR)
        lines += ax.plot(
            cores[guessed],
            seconds[guessed],
            "o",
            color=COLOUR,
            markerfacecolor="white",
            markersize=5,
            label="extrapolated",
        )
    return lines


def _knee(ax: Axes, frame: pd.DataFrame) -> list[Artist]:
    """Mark the knee, where there is one."""
    at = frame.loc[frame["knee"], "cores"] if "knee" in frame else []
    return [
        ax.axvline(cores, color="0.5", linestyle="-.", linewidth=1, label=f"knee, {cores:g} cores")
        for cores in at
    ]


def _interval(ax: Axes, frame: pd.DataFrame, unit: TimeUnit) -> list[Artist]:
    """Shade the area between low_s and high_s, where they are known."""
    if not {"low_s", "high_s"} <= set(frame) or frame["low_s"].isna().all():
        return []
    low, high = frame["low_s"] * unit.per_s, frame["high_s"] * unit.per_s
    level = share_within(int(frame["samples"].min())) if "samples" in frame else LEVEL
    # A single core count has no area: it gets a bar.
    ax.vlines(frame["cores"], low, high, color=COLOUR, linewidth=2)
    return [
        ax.fill_between(
            frame["cores"],
            low,
            high,
            color=COLOUR,
            alpha=0.25,
            linewidth=0,
            label=f"{100 * level:.0f} % interval",
        )
    ]


def _legible(cores: npt.NDArray[np.int64]) -> list[int]:
    """Return at most ten of some ascending core counts whose labels have room next to each other."""
    first, last = float(cores[0]), float(cores[-1])
    step, shown = (last / first) ** (1 / 9), [int(cores[0])]
    for count in cores[1:-1].tolist():
        # A rounding takes no room.
        if count >= shown[-1] * step * (1 - 1e-9) and count * step <= last * (1 + 1e-9):
            shown.append(count)
    return shown if len(cores) == 1 else [*shown, int(cores[-1])]


def _label_axes(ax: Axes, twin: Axes, frame: pd.DataFrame, unit: TimeUnit) -> None:
    cores = np.unique(frame["cores"].to_numpy())
    if len(cores):
        ax.set_xscale("log", base=2)
        shown = _legible(cores)
        ax.set_xticks(shown, [f"{c:g}" for c in shown])
        ax.minorticks_off()
    if (frame["makespan_s"] > 0).any():
        log_ticks(ax, "y")
    ax.set(xlabel="cores", ylabel=f"makespan ({unit.name})")
    twin.set_ylabel("efficiency (%)", color="0.4")
    twin.set_ylim(0, max(105.0, 105 * float(frame["efficiency"].max())) if len(frame) else 105.0)
    twin.tick_params(colors="0.4")
    twin.grid(False)
