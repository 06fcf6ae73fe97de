"""Roofline of a schedule's ops: operations per second by operations per byte, below the machine's limits.

References
----------
Roofline: an insightful visual performance model for multicore
architectures. Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from simsched.drawing import Artist, Axes
from simsched.machine import Machine, machine as machine_of
from simsched.plots.canvas import (
    GREY,
    MARKERS,
    OKABE_ITO,
    open_axes,
    outside_legend,
    require_columns,
    set_title,
    verbatim,
)
from simsched.schedule import Schedule


def roofs_frame(machine: str | Path | Machine) -> pd.DataFrame:
    """Return the compute and bandwidth limits of parts of a machine, from its file.

    Parameters
    ----------
    machine : str, Path or Machine
        As `simsched.machine` takes it.

    Returns
    -------
    DataFrame
        One row per part and level of memory, the smallest part first: part ("one core", "tile of 2 cores", "domain of
        24 cores", "all 68 cores"), cores, level (the memory's name, or "L2"), peak_flops (FP32 operations per second),
        bandwidth_Bps. A part that is one core, or the whole machine, is not repeated; the L2 is there if the file
        states its bandwidth, for whole tiles.

    Examples
    --------
    >>> roofs_frame("generic[cores=4]")["part"].tolist()
    ['one core', 'all 4 cores']
    """
    target = machine_of(machine)
    rows = []
    for cores, part in _parts(target).items():
        one = {"part": part, "cores": cores, "peak_flops": cores * target.peak_flops}
        rows.append({**one, "level": target.memory.name, "bandwidth_Bps": _memory_Bps(target, cores)})
        if target.l2_bandwidth_Bps is not None and cores % target.cores_per_tile == 0:
            tiles = cores // target.cores_per_tile
            rows.append({**one, "level": "L2", "bandwidth_Bps": tiles * target.l2_bandwidth_Bps})
    return pd.DataFrame(rows)[["part", "cores", "level", "peak_flops", "bandwidth_Bps"]]


def _parts(machine: Machine) -> dict[int, str]:
    """Return the names of the parts by their numbers of cores, ascending; of equals the last named below."""
    domain, tile = int(np.bincount(machine.structure.domain_of).max()), machine.cores_per_tile
    parts = {tile: f"tile of {tile} cores", domain: f"domain of {domain} cores"}
    parts |= {machine.n_cores: f"all {machine.n_cores} cores", 1: "one core"}
    return dict(sorted(parts.items()))


def _memory_Bps(machine: Machine, cores: int) -> float:
    """Return the bytes per second that so many neighbouring cores move together."""
    if cores == 1:
        return machine.one_core_Bps
    crowded = cores * machine.core_bandwidth_Bps / machine.tile_slowdown
    return min(float(machine.reach_Bps[cores]), crowded)


#: Area of a marker in square points: of no time, and the addition for the largest share.
SMALLEST, LARGEST = 12.0, 160.0
#: Tones of the machine's parts, from the smallest to the whole.
TONES = ("0.65", "0.5", "0.3", "0.0")


def roofline_frame(schedule: Schedule) -> pd.DataFrame:
    """Return the performance of each op of a schedule: predicted for a replay, measured for a recording.

    Parameters
    ----------
    schedule : Schedule
        A replay, `graph.recorded`, or a real run.

    Returns
    -------
    DataFrame
        One row for the tasks of one kind, FLOPs, bytes and width, the longest together first: kind, tasks (their
        number), width (cores of each), flops, bytes_B (of one), intensity (FLOPs per byte), attained_flops (a second,
        of one, averaged over their time), core_s (core-seconds of all), share (of all core-seconds of the schedule).
        Tasks of which FLOPs, bytes or time are unknown or zero have no place and no row: shares add up to less.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds="MatMul", flops=[8e9, 8e9], bytes_B=[1e9, 1e9])
    >>> frame = roofline_frame(ss.simulate(graph, "generic[cores=2]", "fifo"))
    >>> frame[["tasks", "intensity", "attained_flops", "share"]].values.tolist()
    [[2.0, 8.0, 8000000000.0, 1.0]]
    """
    graph, seconds = schedule.graph, schedule.finish_s - schedule.start_s
    tasks = pd.DataFrame({
        "kind": graph.kinds.to_list(), "flops": graph.flops, "bytes_B": graph.bytes_B, "width": schedule.widths,
        "time_s": seconds, "core_s": seconds * schedule.widths,
    })  # fmt: skip
    all_s = float(tasks["core_s"].sum())
    placed = tasks[(tasks[["flops", "bytes_B", "time_s"]] > 0).all(axis=1)]
    keys = ["kind", "flops", "bytes_B", "width"]
    ops = placed.groupby(keys, sort=False).agg(
        tasks=("time_s", "size"), time_s=("time_s", "sum"), core_s=("core_s", "sum")
    ).reset_index()  # fmt: skip
    ops["intensity"] = ops["flops"] / ops["bytes_B"]
    ops["attained_flops"] = ops["tasks"] * ops["flops"] / ops["time_s"]
    ops["share"] = ops["core_s"] / all_s if all_s else 0.0
    columns = ["kind", "tasks", "width", "flops", "bytes_B", "intensity", "attained_flops", "core_s", "share"]
    return ops.sort_values("core_s", ascending=False, kind="stable", ignore_index=True)[columns]


def roofline(schedule: Schedule, machine: str | Path | Machine | None = None, ax: Axes | None = None) -> Axes:
    """Draw the ops of a schedule below the roofs of one core, a tile, a memory domain and the whole machine.

    A marker is as large as its share of the core time; the 8 kinds that hold most have a colour and a shape each, the
    others are grey. Full lines are the memory, dashed ones the L2; see `roofline_frame` and `roofs_frame`. Roofs are
    those of FP32: products of narrower elements may lie above them.

    Parameters
    ----------
    schedule : Schedule
    machine : str, Path or Machine, optional
        Whose roofs; the schedule's own when not given. A recorded run has none.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If no machine is given and the schedule's own is unknown.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds="MatMul", flops=[8e9, 8e9], bytes_B=[1e9, 1e9])
    >>> ax = roofline(ss.simulate(graph, "generic[cores=2]", "fifo"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['MatMul', 'memory']
    """
    roofs = roofs_frame(schedule.require_machine() if machine is None else machine)
    return draw_roofline(roofline_frame(schedule), roofs, ax)


def draw_roofline(ops: pd.DataFrame, roofs: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw ops below roofs.

    Parameters
    ----------
    ops : DataFrame
        What `roofline_frame` returns: kind, intensity, attained_flops, share.
    roofs : DataFrame
        What `roofs_frame` returns: part, level, peak_flops, bandwidth_Bps.
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
    >>> ops = roofline_frame(ss.simulate(ss.workload("lstm[layers=1,steps=2]"), "knl-7250", "fifo"))
    >>> draw_roofline(ops, roofs_frame("epyc-9654x2")).get_ylabel()
    'GFLOP/s'
    """
    require_columns(ops, ["kind", "intensity", "attained_flops", "share"], "draw_roofline")
    require_columns(roofs, ["part", "level", "peak_flops", "bandwidth_Bps"], "draw_roofline")
    ax = open_axes((8.5, 4.8), ax)
    ax.set(xscale="log", yscale="log")
    places = [*(roofs["peak_flops"] / roofs["bandwidth_Bps"]), *ops["intensity"]]
    ends = min(places) / 3, max(places) * 20
    lines = _draw_roofs(ax, roofs, ends)
    markers = _draw_ops(ax, ops)
    ax.set_xlim(*ends)
    ax.set(xlabel="FLOPs a byte", ylabel="GFLOP/s")
    handles = {**markers, **lines}
    outside_legend(ax, list(handles.values()), list(handles))
    if ops["share"].sum() < 0.995:
        set_title(
            ax,
            f"not shown: {1 - ops['share'].sum():.1%} of the core time, of ops without known FLOPs and bytes",
        )
    return ax


def _draw_roofs(ax: Axes, roofs: pd.DataFrame, ends: tuple[float, float]) -> dict[str, Artist]:
    drawn: dict[str, Artist] = {}
    parts, levels = list(dict.fromkeys(roofs["part"])), list(dict.fromkeys(roofs["level"]))
    for row in roofs.to_dict("records"):
        ridge = min(max(row["peak_flops"] / row["bandwidth_Bps"], ends[0]), ends[1])
        x = np.array([ends[0], ridge, ends[1]])
        y = np.minimum(x * row["bandwidth_Bps"], row["peak_flops"]) / 1e9
        style = "-" if row["level"] == levels[0] else "--"
        (line,) = ax.plot(
            x, y, style, color=TONES[parts.index(row["part"]) - len(parts)], linewidth=1.2, zorder=1
        )
        drawn.setdefault(row["level"], line)
    for part, peak in dict(zip(roofs["part"], roofs["peak_flops"], strict=True)).items():
        text = ax.annotate(
            f"{part}: {_plain(peak / 1e9)} GFLOP/s", (ends[1], peak / 1e9), (0, 2), textcoords="offset points",
            ha="right", va="bottom", fontsize="x-small", color="0.2",
        )  # fmt: skip
        verbatim(text)
    return drawn


def _draw_ops(ax: Axes, ops: pd.DataFrame) -> dict[str, Artist]:
    from matplotlib.colors import to_rgba

    held = ops.groupby("kind", sort=False)["share"].sum().sort_values(ascending=False, kind="stable")
    top = len(OKABE_ITO)
    drawn: dict[str, Artist] = {}
    for place, kind in enumerate(held.index):
        of, other = ops[ops["kind"] == kind], place >= top
        colour = GREY if other else OKABE_ITO[place]
        # Backward ops are on top of forward ones, which show through.
        marker = ax.scatter(
            of["intensity"], of["attained_flops"] / 1e9, s=SMALLEST + LARGEST * of["share"] / ops["share"].max(),
            facecolors=[to_rgba(colour, 0.25)], edgecolors=[colour], linewidths=1.0,
            marker="." if other else MARKERS[place], zorder=2,
        )  # fmt: skip
        drawn.setdefault(f"other ({len(held) - top} kinds)" if other else kind or "no kind", marker)
    return drawn


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
