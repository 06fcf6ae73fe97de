"""Makespan by policy or by machine, as bars, and policies on several workloads, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs import CostModel
from simsched.drawing import Artist, Axes, Container
from simsched.graph import TaskGraph
from simsched.intervals import Interval, typical
from simsched.later import later
from simsched.machine import Machine, RuntimeProfile
from simsched.plots.canvas import (
    LONGEST_LABEL,
    LOWER_BOUND,
    MARKERS,
    OKABE_ITO,
    log_ticks,
    open_axes,
    outside_legend,
    plain,
    require_columns,
)
from simsched.policy import Layout, Policy
from simsched.spec import Engine
from simsched.text import distinct, printable
from simsched.units import format_time, time_unit


def comparison(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the makespan of each policy or machine as a bar, its lower bound and its interval as lines.

    Bars that are over 5 times as long as the shortest end at the edge, in an arrow; their seconds stand beside them.

    Parameters
    ----------
    frame : DataFrame
        Result of `simsched.compare` or `simsched.machines`: policy, layout, makespan_s, bound_s, speedup, and where
        there are any machine, low_s, high_s and fastest_share; the first row is at the top. A row without makespan is a
        run that failed.
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
    >>> ax = comparison(ss.compare(graph, "generic[cores=2]", ["sequential", "fifo"]))
    >>> [round(bar.get_width()) for bar in ax.patches]
    [6, 4]
    """
    require_columns(frame, ["policy", "layout", "makespan_s", "bound_s", "speedup"], "comparison")
    rows = np.arange(len(frame))
    ax = open_axes((8.0, 1.3 + 0.35 * len(frame)), ax)
    makespan, bound = frame["makespan_s"].to_numpy(np.float64), frame["bound_s"].to_numpy(np.float64)
    ends, longest = _ends(frame)
    unit = time_unit(longest)
    ax.barh(rows, np.nan_to_num(makespan * unit.per_s), color="#56B4E9", height=0.7)
    ax.vlines(bound * unit.per_s, rows - 0.5, rows + 0.5, color="#D55E00", linewidth=2, label=LOWER_BOUND)
    if "high_s" in frame:
        ax.hlines(
            rows,
            frame["low_s"] * unit.per_s,
            ends * unit.per_s,
            color="0.35",
            linewidth=1,
            label="interval",
        )
    _point_beyond(ax, np.flatnonzero(makespan > 1.05 * longest))
    # A column beside the axes: at the ends of bars, the layout would have to know how wide the axes will be.
    for row, text in enumerate(_bar_texts(frame)):
        ax.text(1.0, row, text, va="center", fontsize="small", transform=ax.get_yaxis_transform())
    ax.set_yticks(rows, _row_names(frame), parse_math=False, usetex=False)
    ax.set_ylim(max(len(frame), 1) - 0.5, -0.5)
    ax.set_xlim(0, 1.05 * longest * unit.per_s or 1.0)
    ax.set_xlabel(f"makespan ({unit.name})")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    return ax


def _ends(frame: pd.DataFrame) -> tuple[npt.NDArray[np.float64], float]:
    """Return the ends of bars with their intervals, and the last of those that are no `MOST_TIMES` of the shortest."""
    makespan = frame["makespan_s"].to_numpy(np.float64)
    ends = makespan if "high_s" not in frame else np.fmax(makespan, frame["high_s"].to_numpy(np.float64))
    fits = np.isfinite(makespan) & (makespan <= MOST_TIMES * np.nanmin(makespan, initial=np.inf))
    fits = fits if fits.any() else np.isfinite(makespan)
    longest = float(np.max(ends[fits], initial=0.0))
    return ends, longest


def _point_beyond(ax: Axes, rows: npt.NDArray[np.int64]) -> None:
    """Draw an arrow at the edge for each bar that is cut there."""
    edge = np.full(len(rows), 0.985)
    ax.plot(edge, rows, ">", color="black", markersize=5, transform=ax.get_yaxis_transform())


def _bar_texts(frame: pd.DataFrame) -> list[str]:
    shares = frame["fastest_share"] if "fastest_share" in frame else [np.nan] * len(frame)
    rows = zip(frame["makespan_s"].astype(float), frame["speedup"], shares, strict=True)
    return [_bar_text(*row) for row in rows]


def _bar_text(seconds: float, speedup: float, fastest_share: float) -> str:
    if not np.isfinite(seconds):
        return " failed"
    often = f", fastest in {fastest_share:.0%}" if fastest_share > 0 else ""
    return f" {format_time(seconds)}" + (f" (×{speedup:.3g})" if np.isfinite(speedup) else "") + often


def _row_names(frame: pd.DataFrame) -> list[str]:
    layouts, policies = (frame[name].fillna("").astype(str) for name in ("layout", "policy"))
    if "machine" in frame:
        policies = frame["machine"].astype(str) + ": " + policies.str.partition("[")[0]
    names = [f"{name} {layout}".strip(" :") for name, layout in zip(policies, layouts, strict=True)]
    return distinct([printable(name) for name in names], LONGEST_LABEL)


COLUMNS = ["workload", "policy", "layout", "seeds", "makespan_s", "low_s", "high_s",
           "relative", "relative_low", "relative_high"]  # fmt: skip
#: Bars that are as many times as long as the shortest are cut, with an arrow: beside them, others would be stubs.
MOST_TIMES = 5.0
#: Ratios that differ more have a logarithmic axis.
LINEAR_TIMES = 4.0


def policies_frame(
    graphs: Mapping[str, TaskGraph],
    machine: str | Path | Machine,
    policies: Sequence[str | Policy | type[Policy]],
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    *,
    seeds: Sequence[int] = range(10),
) -> pd.DataFrame:
    """Replay graphs under policies with each seed, and return geometric means with their intervals.

    A seed gives a task the same noise under every policy, so policies are compared pairwise: within a seed.

    Parameters
    ----------
    graphs : mapping of str to TaskGraph
        By the name that the table has for each.
    machine, layout, costs, runtime, engine
        As in `simsched.replayed`. Without noise in the cost model, and with no policy that draws at random, all seeds
        give the same and the intervals have no width.
    policies : sequence of policies
        The others are relative to the first.
    seeds : sequence of int
        A replay of each.

    Returns
    -------
    DataFrame
        One row per graph and policy: workload, policy, layout, seeds (number); makespan_s (geometric mean over the
        seeds), low_s, high_s (its 95 % interval, `simsched.intervals.paired_ratio`); relative, relative_low,
        relative_high: the same of the makespan over that of the first policy with the same seed. Intervals are NaN for
        a single seed.

    Raises
    ------
    SimschedError
        If there are no graphs, policies or seeds, or one is listed twice.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> frame = policies_frame({"three": graph}, "generic[cores=2]", ["sequential", "fifo"], seeds=[0])
    >>> frame["makespan_s"].round(9).tolist()
    [6.0, 4.0]
    """
    return _summarised(
        later("replayed")(graphs, machine, policies, layout, costs, runtime, engine, seeds=seeds)
    )


def _summarised(replays: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `policies_frame` from a result of `simsched.replayed`."""
    rows = []
    for (workload, policy), runs in replays.groupby(["graph", "policy"], sort=False):
        first = replays[(replays["graph"] == workload) & (replays["policy"] == replays["policy"].iloc[0])]
        numbers = _intervals(runs["makespan_s"].to_numpy(), first["makespan_s"].to_numpy())
        facts = {"workload": workload, "policy": policy, "layout": runs["layout"].iloc[0], "seeds": len(runs)}
        rows.append({**facts, **numbers})
    return pd.DataFrame(rows)[COLUMNS]


def _intervals(makespans: np.ndarray, first: np.ndarray) -> dict[str, float]:
    absolute = typical(makespans)
    relative = typical(makespans / first) if makespans.all() else Interval(1.0, 1.0, 1.0)
    return {
        **dict(zip(("makespan_s", "low_s", "high_s"), absolute, strict=True)),
        **dict(zip(("relative", "relative_low", "relative_high"), relative, strict=True)),
    }


def policies(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the makespan of each policy over that of the first, workload by workload, with its interval.

    Policies have a colour and a shape each; both repeat after 8.

    Parameters
    ----------
    frame : DataFrame
        What `policies_frame` returns.
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
    >>> frame = policies_frame({"three": graph}, "generic[cores=2]", ["sequential", "fifo"], seeds=[0])
    >>> policies(frame).get_xlabel()
    'makespan over that of sequential'
    """
    require_columns(frame, COLUMNS, "policies", "policies_frame")
    workloads, names = list(dict.fromkeys(frame["workload"])), list(dict.fromkeys(frame["policy"]))
    ax = open_axes((8.0, 1.3 + 0.16 * (len(names) + 1) * len(workloads)), ax)
    ax.axvline(1.0, color="0.5", linewidth=1, zorder=1)
    handles: list[Artist | Container] = []
    for place, name in enumerate(names):
        rows = frame[frame["policy"] == name]
        y = [workloads.index(one) + 0.8 * ((place + 0.5) / len(names) - 0.5) for one in rows["workload"]]
        ends = np.array([rows["relative"] - rows["relative_low"], rows["relative_high"] - rows["relative"]])
        handles.append(
            ax.errorbar(
                rows["relative"], y, xerr=np.maximum(np.nan_to_num(ends), 0.0), linestyle="",
                marker=MARKERS[place % len(MARKERS)], color=OKABE_ITO[place % len(OKABE_ITO)],
                markersize=4.5, elinewidth=1.6, capsize=3,
            )
        )  # fmt: skip
    _label(ax, frame, workloads, names)
    outside_legend(ax, handles, names)
    return ax


def draw_replayed(replays: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw a result of `simsched.replayed`, as `policies` does."""
    return policies(_summarised(replays), ax=ax)


def _label(ax: Axes, frame: pd.DataFrame, workloads: list[str], names: list[str]) -> None:
    ax.set_yticks(
        range(len(workloads)), [plain(str(one)) for one in workloads], parse_math=False, usetex=False
    )
    ax.set_ylim(max(len(workloads), 1) - 0.5, -0.5)
    # Lines between the workloads show which points belong together.
    ax.hlines(
        np.arange(1, len(workloads)) - 0.5,
        0,
        1,
        transform=ax.get_yaxis_transform(),
        color="0.85",
        linewidth=1,
    )
    if len(frame) and frame["relative"].max() > LINEAR_TIMES * frame["relative"].min() > 0:
        log_ticks(ax, "x")
    ax.set_xlabel(f"makespan over that of {plain(names[0])}" if names else "", parse_math=False, usetex=False)
