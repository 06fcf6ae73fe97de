"""Result tables as pictures: makespan by number of cores, and by policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.plots.canvas import plain, require_columns, shown_axes
from simsched.units import TimeUnit, format_time, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BOUNDS = (
    ("critical_path_s", "critical path", "#D55E00"),
    ("area_s", "area (work over cores)", "#009E73"),
    ("bound_s", "lower bound", "#000000"),
)


def scaling(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw makespan and its lower bounds by number of cores, and efficiency on a second axis.

    Cores and makespan have logarithmic axes: perfect scaling is a straight line.

    Parameters
    ----------
    frame : DataFrame
        What `simsched.predict` returns: cores, makespan_s, critical_path_s, area_s, bound_s, efficiency;
        other columns are not drawn.
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
    """
    require_columns(
        frame, ["cores", "makespan_s", "efficiency", *(column for column, _, _ in BOUNDS)], "scaling"
    )
    ax = shown_axes((8.0, 4.2)) if ax is None else ax
    frame = frame.sort_values("cores", kind="stable")
    unit = time_unit(float(frame["makespan_s"].max()))
    cores = frame["cores"].to_numpy()
    lines = ax.plot(cores, frame["makespan_s"] * unit.per_s, "o-", color="#0072B2", label="makespan")
    for column, label, colour in BOUNDS:
        width = 1.8 if column == "bound_s" else 1.0
        style = ":" if column == "bound_s" else "--"
        lines += ax.plot(cores, frame[column] * unit.per_s, style, color=colour, linewidth=width, label=label)
    twin = ax.twinx()
    lines += twin.plot(
        cores, 100 * frame["efficiency"], "s-", color="0.6", markersize=4, linewidth=1, label="efficiency"
    )
    _label_axes(ax, twin, frame, unit)
    ax.legend(
        handles=lines, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize="small", frameon=False
    )
    return ax


def _label_axes(ax: Axes, twin: Axes, frame: pd.DataFrame, unit: TimeUnit) -> None:
    cores = np.unique(frame["cores"].to_numpy())
    if len(cores):
        ax.set_xscale("log", base=2)
        shown = cores if len(cores) <= 10 else cores[np.linspace(0, len(cores) - 1, 10).astype(int)]
        ax.set_xticks(shown, [f"{c:g}" for c in shown])
        ax.minorticks_off()
    if (frame["makespan_s"] > 0).any():
        _log_ticks(ax)
    ax.set_xlabel("cores")
    ax.set_ylabel(f"makespan ({unit.name})")
    twin.set_ylabel("efficiency (%)", color="0.4")
    twin.set_ylim(0, max(105.0, 105 * float(frame["efficiency"].max())) if len(frame) else 105.0)
    twin.tick_params(colors="0.4")
    twin.grid(False)


def _log_ticks(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def comparison(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the makespan of each policy as a bar, and its lower bound as a line.

    Parameters
    ----------
    frame : DataFrame
        What `simsched.compare` returns: policy, layout, makespan_s, bound_s, speedup; the first row is at the
        top. A row without makespan is a run that failed.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If a column is missing.
    """
    require_columns(frame, ["policy", "layout", "makespan_s", "bound_s", "speedup"], "comparison")
    rows = np.arange(len(frame))
    ax = shown_axes((8.0, 1.3 + 0.35 * len(frame))) if ax is None else ax
    makespan, bound = frame["makespan_s"].to_numpy(np.float64), frame["bound_s"].to_numpy(np.float64)
    longest = float(np.max(makespan[np.isfinite(makespan)], initial=0.0))
    unit = time_unit(longest)
    ax.barh(rows, np.nan_to_num(makespan * unit.per_s), color="#56B4E9", height=0.7)
    ax.vlines(bound * unit.per_s, rows - 0.5, rows + 0.5, color="#D55E00", linewidth=2, label="lower bound")
    for row, seconds, speedup in zip(rows.tolist(), makespan, frame["speedup"], strict=True):
        ax.text(
            seconds * unit.per_s if np.isfinite(seconds) else 0.0,
            row,
            _bar_text(seconds, speedup),
            va="center",
            fontsize="small",
        )
    ax.set_yticks(rows, _row_names(frame), parse_math=False, usetex=False)
    ax.set_ylim(max(len(frame), 1) - 0.5, -0.5)
    ax.set_xlim(0, 1.25 * longest * unit.per_s or 1.0)
    ax.set_xlabel(f"makespan ({unit.name})")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    return ax


def _bar_text(seconds: float, speedup: float) -> str:
    if not np.isfinite(seconds):
        return " failed"
    return f" {format_time(seconds)}" + (f" (×{speedup:.3g})" if np.isfinite(speedup) else "")


def _row_names(frame: pd.DataFrame) -> list[str]:
    layouts = frame["layout"].fillna("").astype(str)
    return [
        plain(f"{policy} {layout}".strip()) for policy, layout in zip(frame["policy"], layouts, strict=True)
    ]
