"""Makespan and efficiency by number of cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.errors import SimschedError
from simsched.plots.canvas import log_ticks, require_columns, shown_axes
from simsched.units import TimeUnit, time_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from simsched.costs import CostModel
    from simsched.graph import TaskGraph
    from simsched.machine import Machine, RuntimeProfile
    from simsched.policy import Policy
    from simsched.spec import Engine

BOUNDS = (
    ("critical_path_s", "critical path", "#D55E00"),
    ("area_s", "area (work over cores)", "#009E73"),
    ("bound_s", "lower bound", "#000000"),
)


def scaling_frame(
    graph: TaskGraph,
    machine: str | Path | Machine,
    policy: str | Policy | type[Policy],
    cores: Sequence[int],
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    *,
    seeds: Sequence[int] = (0,),
    width: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Return the makespan by number of cores, and within what it lies over some seeds.

    Parameters
    ----------
    graph, machine, policy, cores, costs, runtime, engine, width, progress
        As in `simsched.predict`. Seeds matter where the cost model has noise, or the policy draws at random.
    seeds : sequence of int
        A replay of each.

    Returns
    -------
    DataFrame
        What `simsched.predict` returns, with the medians over the seeds; low_s and high_s, between which the middle
        95 % of the makespans lie, NaN for a single seed; seeds, their number.

    Raises
    ------
    SimschedError
        If there are no seeds.
    MachineError
        If there are no core counts, or one of them is impossible.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> noisy = ss.CostModel(noise=0.1)
    >>> frame = scaling_frame(graph, "generic", "critical-path", [1, 2], noisy, seeds=range(9))
    >>> (frame["low_s"] < frame["makespan_s"]).tolist()
    [True, True]
    """
    from simsched.sweep import predict
    from simsched.sweep.intervals import spread

    if not len(seeds):
        raise SimschedError(f"seeds is {seeds!r}; expected at least one seed, as in range(10)")
    frames = [
        predict(graph, machine, policy, cores, costs, runtime, engine, seed, width=width, progress=progress)
        for seed in seeds
    ]
    frame = frames[0].copy()
    for column in ("makespan_s", "speedup", "efficiency", "utilization"):
        frame[column] = np.median([one[column] for one in frames], axis=0)
    found = [spread(samples) for samples in zip(*(one["makespan_s"] for one in frames), strict=True)]
    place = list(frame).index("makespan_s") + 1
    frame.insert(place, "low_s", [one.low for one in found])
    frame.insert(place + 1, "high_s", [one.high for one in found])
    return frame.assign(seeds=len(seeds))


def scaling(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw makespan and its lower bounds by number of cores, and efficiency on a second axis.

    Cores and makespan have logarithmic axes: perfect scaling is a straight line.

    Parameters
    ----------
    frame : DataFrame
        What `scaling_frame` or `simsched.predict` returns: cores, makespan_s, critical_path_s, area_s, bound_s,
        efficiency; where there are low_s and high_s, what lies between them is shaded. Others are not drawn.
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
    ax = shown_axes((8.0, 4.2)) if ax is None else ax
    frame = frame.sort_values("cores", kind="stable")
    unit = time_unit(float(frame["makespan_s"].max()))
    cores = frame["cores"].to_numpy()
    lines: list[Artist] = [
        *ax.plot(
            cores, frame["makespan_s"] * unit.per_s, "o-", color="#0072B2", markersize=4, label="makespan"
        ),
        *_interval(ax, frame, unit),
    ]
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


def _interval(ax: Axes, frame: pd.DataFrame, unit: TimeUnit) -> list[Artist]:
    """Shade what lies between low_s and high_s, where they are known."""
    if not {"low_s", "high_s"} <= set(frame) or frame["low_s"].isna().all():
        return []
    low, high = frame["low_s"] * unit.per_s, frame["high_s"] * unit.per_s
    # A single core count has no area: a bar stands at each.
    ax.vlines(frame["cores"], low, high, color="#0072B2", linewidth=2)
    return [
        ax.fill_between(
            frame["cores"], low, high, color="#0072B2", alpha=0.25, linewidth=0, label="95 % of the replays"
        )
    ]


def _label_axes(ax: Axes, twin: Axes, frame: pd.DataFrame, unit: TimeUnit) -> None:
    cores = np.unique(frame["cores"].to_numpy())
    if len(cores):
        ax.set_xscale("log", base=2)
        shown = cores if len(cores) <= 10 else cores[np.linspace(0, len(cores) - 1, 10).astype(int)]
        ax.set_xticks(shown, [f"{c:g}" for c in shown])
        ax.minorticks_off()
    if (frame["makespan_s"] > 0).any():
        log_ticks(ax, "y")
    ax.set_xlabel("cores")
    ax.set_ylabel(f"makespan ({unit.name})")
    twin.set_ylabel("efficiency (%)", color="0.4")
    twin.set_ylim(0, max(105.0, 105 * float(frame["efficiency"].max())) if len(frame) else 105.0)
    twin.tick_params(colors="0.4")
    twin.grid(False)
