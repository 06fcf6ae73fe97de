"""Seconds by threads: measured ones with the curves fitted to them, and those of a graph's longest tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simsched.costs import CostModel
from simsched.costs.fitting import Calibration, Fit, Interval, MeasuredOp
from simsched.costs.fitting.parametric import formula
from simsched.costs.fitting.points import Sharing
from simsched.drawing import Axes, ErrorbarContainer
from simsched.graph import TaskGraph
from simsched.graph.columns import Floats
from simsched.machine import Machine, RuntimeProfile, machine as machine_of
from simsched.plots.canvas import (
    LONGEST_PAIR,
    OKABE_ITO,
    RGB,
    layer_labels,
    layers,
    log_ticks,
    open_axes,
    outside_legend,
    require_columns,
)
from simsched.renamed import old_arguments
from simsched.schedule.one_core import best_kind
from simsched.units import time_unit


@old_arguments(most="max_kinds")
def model_curves_frame(
    graph: TaskGraph,
    machine: str | Path | Machine,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    max_kinds: int = 6,
) -> pd.DataFrame:
    """Return the seconds of some tasks by threads in replays on a machine; `cost_curves` draws them.

    Parameters
    ----------
    graph, machine, costs, runtime
        As in `simsched.simulate`.
    max_kinds : int
        Kinds, those that hold most seconds on one core; of each its longest task, of equal ones the lowest index.

    Returns
    -------
    DataFrame
        The columns of `cost_curves_frame`, one row per kind and width from 1 to the hardware threads, in powers of two:
        fitted_s as in replays; measured_s as recorded, on any machine, NaN where that is unknown; sharing is
        "", and the others are NaN. Where the graph gives seconds by kind of cores, fitted_s are those of the kind on
        which all tasks in sequence take the least, and measured_s is NaN.

    Examples
    --------
    >>> import simsched as ss
    >>> frame = model_curves_frame(ss.TaskGraph.from_edges([2.0, 1.0], kinds="MatMul"), "generic[cores=2]")
    >>> frame[["width", "measured_s"]].values.tolist()
    [[1.0, 2.0], [2.0, nan]]
    """
    target = machine_of(machine)
    costs_there = (costs or CostModel()).on(graph, target, runtime)
    on_machine = costs_there.in_turn(best_kind(costs_there))
    recorded_s = graph.durations_s if graph.seconds_by_kind is None else np.full(graph.n_tasks, np.nan)
    rows: list[dict[str, Any]] = []
    for task in _longest(graph, on_machine.one_core_s, max_kinds):
        threads, seconds = int(graph.widths[task]), float(recorded_s[task])
        known = {threads} if threads <= target.n_threads and np.isfinite(seconds) else set()
        powers = (2**k for k in range(target.n_threads.bit_length()))
        rows += [
            {
                "kind": graph.kinds[task],
                "shape": graph.shapes[task],
                "sharing": "",
                "width": width,
                "measured_s": seconds if width == threads else np.nan,
                "fitted_s": on_machine.seconds_of(task, width),
            }
            for width in sorted({*powers, target.n_threads, *known})
        ]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _longest(graph: TaskGraph, one_core_s: np.ndarray, most: int) -> list[int]:
    """Return the longest task of each of the kinds that hold most seconds."""
    codes = graph.kinds.codes
    held = np.bincount(codes, one_core_s, len(graph.kinds.labels))
    there = graph.kinds.counts > 0
    kinds = [kind for kind in np.argsort(-held, kind="stable").tolist() if there[kind]][:most]
    return [int(np.where(codes == kind, one_core_s, -1.0).argmax()) for kind in kinds]


COLUMNS = ["kind", "shape", "sharing", "width", "measured_s", "spread", "fitted_s", "low_s", "high_s"]


@old_arguments(most="max_ops")
def cost_curves_frame(calibration: Calibration, max_ops: int | None = None) -> pd.DataFrame:
    """Return measured points and fitted curves, op by op.

    Parameters
    ----------
    calibration : Calibration
    max_ops : int, optional
        Only the ops that take longest on their least width; all when not given.

    Returns
    -------
    DataFrame
        One row for each op, sharing and width from 1 to the widest measured: kind, shape, sharing, width, measured_s
        and spread (NaN where it was not measured), fitted_s, and low_s and high_s, between which the curve lies for all
        parameters within their intervals: more than a joint interval, as it takes all their ends together. NaN where
        there is no curve, or no interval.

    Examples
    --------
    >>> from simsched.costs.fitting import Calibration, MeasuredOp, Op, Point
    >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
    >>> cost_curves_frame(Calibration.of([op], "made up"))["measured_s"].tolist()
    [4e-06, 3e-06]
    """
    runtime = calibration.runtime()
    longest = sorted(calibration.ops, key=lambda one: -one.of(one.sharings[0])[0].seconds)
    parts = [_rows(one, sharing, runtime) for one in longest[:max_ops] for sharing in one.sharings]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def _rows(one: MeasuredOp, sharing: Sharing, runtime: RuntimeProfile) -> pd.DataFrame:
    points = {point.width: point for point in one.of(sharing)}
    widths = np.arange(1, max(points) + 1)
    fit = next((fit for fit in one.fits if fit.sharing == sharing), None)
    spreads = {width: np.nan if p.spread is None else p.spread for width, p in points.items()}
    return pd.DataFrame(
        {
            "kind": one.op.kind,
            "shape": one.op.shape,
            "sharing": sharing,
            "width": widths,
            "measured_s": [points[w].seconds if w in points else np.nan for w in widths.tolist()],
            "spread": [spreads.get(w, np.nan) for w in widths.tolist()],
            "fitted_s": _curve(fit, "value", widths.astype(np.float64), runtime),
            "low_s": _curve(fit, "low", widths.astype(np.float64), runtime),
            "high_s": _curve(fit, "high", widths.astype(np.float64), runtime),
        }
    )[COLUMNS]


def _curve(fit: Fit | None, end: str, widths: Floats, runtime: RuntimeProfile) -> Floats:
    """Return the curve through one end of all intervals; it rises with each parameter."""
    if fit is None or (end != "value" and fit.intervals == "none"):
        return np.full(len(widths), np.nan)

    def at(found: Interval) -> float:
        # Parameters not determined by few widths are fixed, and have no interval.
        value: float | None = getattr(found, end)
        return found.value if value is None else value

    return formula(widths, at(fit.one_core_s), at(fit.serial_share), at(fit.thread_overhead), runtime)


def cost_curves(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw seconds by threads: measurements with their spread, the fitted curves and their intervals.

    Parameters
    ----------
    frame : DataFrame
        Result of `cost_curves_frame`. Threads that share tiles are drawn full, threads apart hollow and dashed. Of
        overlapping curves the lower ones are wider; the legend shows which are equal throughout.
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
    >>> from simsched.costs.fitting import Calibration, MeasuredOp, Op, Point
    >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
    >>> cost_curves(cost_curves_frame(Calibration.of([op], "made up"))).get_ylabel()
    'time (µs)'
    """
    require_columns(frame, COLUMNS, "cost_curves", "cost_curves_frame")
    ax = open_axes((8.0, 4.2), ax)
    longest_s = frame[["measured_s", "fitted_s"]].max().max() if len(frame) else 0.0
    unit = time_unit(float(longest_s))
    curves: list[tuple[str, pd.DataFrame, RGB, bool]] = []
    for place, ((kind, shape), rows) in enumerate(frame.groupby(["kind", "shape"], sort=False)):
        colour = OKABE_ITO[place % len(OKABE_ITO)]
        both = rows["sharing"].nunique() > 1
        for sharing, one in rows.groupby("sharing", sort=False):
            label = f"{kind or 'op'} {shape}".rstrip() + (f", {sharing}" if both else "")
            curves.append((label, one, colour, both and sharing == "apart"))
    drawn = layers([(one["width"], one["fitted_s"].fillna(one["measured_s"])) for _, one, _, _ in curves])
    handles = [
        _draw(ax, one, unit.per_s, colour, hollow, layer.wider_pt)
        for (_, one, colour, hollow), layer in zip(curves, drawn, strict=True)
    ]
    _label(ax, frame, unit.name)
    outside_legend(ax, handles, layer_labels(drawn, [label for label, *_ in curves]), LONGEST_PAIR)
    return ax


def _draw(
    ax: Axes, rows: pd.DataFrame, per_s: float, colour: RGB, hollow: bool, wider_pt: float
) -> ErrorbarContainer:
    """Draw one curve, and return its legend entry."""
    widths, measured = rows["width"], rows["measured_s"] * per_s
    ax.fill_between(
        widths, rows["low_s"] * per_s, rows["high_s"] * per_s, color=colour, alpha=0.15, linewidth=0
    )
    ax.plot(widths, rows["fitted_s"] * per_s, "--" if hollow else "-", color=colour, linewidth=1.2 + wider_pt)
    # A spread as wide as the median itself has no lower end on a logarithmic axis.
    error = measured * rows["spread"].fillna(0.0).clip(upper=0.99)
    return ax.errorbar(
        widths, measured, error, fmt="o", color=colour, markersize=4 + 1.5 * wider_pt, capsize=2, linewidth=1,
        markerfacecolor="white" if hollow else colour,
    )  # fmt: skip


def _label(ax: Axes, frame: pd.DataFrame, unit: str) -> None:
    ax.set_xlabel("threads")
    ax.set_ylabel(f"time ({unit})")
    if len(frame):
        ax.set_xscale("log", base=2)
        most = int(frame["width"].max())
        # A power of two next to the end would be written over it.
        ticks = [*(2**k for k in range(most.bit_length()) if 3 * 2**k <= 2 * most), most]
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    if (frame[["measured_s", "fitted_s"]] > 0).any(axis=None):
        log_ticks(ax, "y")
