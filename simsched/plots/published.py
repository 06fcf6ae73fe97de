"""Pictures in the style of papers, simulated against published: grouped bars on log axes, and curves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from simsched.drawing import Artist, Axes
from simsched.plots.canvas import (
    LONGEST_PAIR,
    OKABE_ITO,
    layer_labels,
    layers,
    open_axes,
    outside_legend,
    plain,
    require_columns,
    set_title,
    shown_axes,
)


def grouped_bars(
    frame: pd.DataFrame,
    label: str,
    group: str,
    title: str,
    ax: Axes | None = None,
    *,
    log: bool = True,
    value: str = "simulated",
) -> Axes:
    """Draw one bar per row, grouped under labels, with a black line at each published number.

    Parameters
    ----------
    frame : DataFrame
        Rows of one quantity, as `Reproduction.frame` returns them.
    label, group : str
        Columns that name the place on the axis and the bar there.
    title : str
        Of the axis of values.
    ax : Axes, optional
        Where to draw; a new figure when not given.
    log : bool
        Whether the axis of values is logarithmic.
    value : str
        Column of the bars.

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
    >>> frame = ss.reproduce("chaos", tables=["Table 8"]).frame("Table 8", "predicted time")
    >>> len(ss.plots.grouped_bars(frame, "network", "threads", "minutes").patches) == len(frame)
    True
    """
    require_columns(frame, [label, group, value], "grouped_bars")
    labels, groups = list(dict.fromkeys(frame[label])), list(dict.fromkeys(frame[group]))
    ax = open_axes((max(6.0, 0.3 * len(labels) * (len(groups) + 1)), 4.0), ax)
    width = 0.8 / max(len(groups), 1)
    handles: list[Artist] = []
    for i, name in enumerate(groups):
        rows, colour = frame[frame[group] == name], OKABE_ITO[i % len(OKABE_ITO)]
        places = np.array([labels.index(one) for one in rows[label]]) + (i - (len(groups) - 1) / 2) * width
        handles.append(ax.bar(places, rows[value], 0.94 * width, color=colour)[0])
        _published(ax, places, rows, width)
    ax.set_xticks(range(len(labels)), map(plain, map(str, labels)), rotation=30, ha="right", parse_math=False)
    if log:
        _logarithmic(ax)
    ax.set_ylabel(title)
    outside_legend(ax, handles, [str(name) for name in groups])
    return ax


def _logarithmic(ax: Axes) -> None:
    from matplotlib.ticker import LogFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(LogFormatter())


def curves(frame: pd.DataFrame, x: str, group: str, title: str, ax: Axes | None = None) -> Axes:
    """Draw simulated numbers over a numeric key as lines, published ones as crosses, both axes logarithmic.

    Parameters
    ----------
    frame : DataFrame
        Rows of one quantity, as `Reproduction.frame` returns them.
    x, group : str
        Columns along the axis, and of the lines.
    title : str
        Of the axis of values.
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
    >>> frame = ss.reproduce("chaos", tables=["Table 8"]).frame("Table 8", "predicted time")
    >>> ss.plots.curves(frame, "threads", "network", "minutes").get_ylabel()
    'minutes'
    """
    require_columns(frame, [x, group, "simulated", "paper"], "curves")
    ax = open_axes((7.0, 4.2), ax)
    handles: list[Artist] = []
    groups = list(dict.fromkeys(frame[group]))
    parts = [frame[frame[group] == name] for name in groups]
    drawn = layers([(rows[x], rows["simulated"]) for rows in parts])
    for i, (rows, layer) in enumerate(zip(parts, drawn, strict=True)):
        colour, wide = OKABE_ITO[i % len(OKABE_ITO)], layer.wider_pt
        handles += ax.plot(
            rows[x], rows["simulated"], "o-", color=colour, linewidth=1.5 + wide, markersize=4 + 1.5 * wide
        )
    crosses = ax.plot(frame[x], frame["paper"].astype(float), "x", color="black", markersize=8)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ticks = _apart(sorted(set(frame[x])))
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.yaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set(xlabel=plain(x), ylabel=title)
    names = [str(name) for name in groups]
    outside_legend(ax, [*handles, *crosses], [*layer_labels(drawn, names), "published"], LONGEST_PAIR)
    return ax


def _apart(ticks: list[float]) -> list[float]:
    """Return ticks without those that the next one would cover on a logarithmic axis."""
    return [*(tick for tick, after in pairwise(ticks) if after > 1.1 * tick), *ticks[-1:]]


def _published(ax: Axes, places: np.ndarray, rows: pd.DataFrame, width: float) -> None:
    if "paper" in rows:
        known = rows["paper"].notna().to_numpy()
        values = rows["paper"].to_numpy()[known].astype(float)
        ax.hlines(values, places[known] - width / 2, places[known] + width / 2, color="black", linewidth=2)


def relative_times(matrix: pd.DataFrame, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw a table of ratios as a logarithmic heat map with the number in each cell; empty ones are grey.

    Parameters
    ----------
    matrix : DataFrame
        Ratios of at least 1, as `Crossed.matrix` returns them.
    title : str
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import pandas as pd
    >>> import simsched as ss
    >>> matrix = pd.DataFrame([[1.0, 1.5], [2.0, 1.0]], ["fifo", "corun"], ["lstm", "resnet50"])
    >>> [text.get_text() for text in ss.plots.relative_times(matrix).texts]
    ['1', '1.5', '2', '1']
    """
    rows, columns = matrix.shape
    ax = shown_axes((2.5 + 1.1 * columns, 1.6 + 0.5 * rows), ax)
    shades = np.log10(matrix.to_numpy(float))
    # Beyond a hundred times longer colours no longer differ.
    ax.imshow(shades, cmap="YlOrRd", vmin=0.0, vmax=2.0, aspect="auto")
    # Cells without a number are transparent.
    ax.set_facecolor("lightgrey")
    for (row, column), shade in np.ndenumerate(shades):
        if np.isfinite(shade):
            dark = "white" if shade > 1.2 else "black"
            ax.text(column, row, f"{10**shade:.3g}", ha="center", va="center", color=dark)
    names = [plain(str(name)) for name in matrix.columns]
    ax.set_xticks(range(columns), names, rotation=20, ha="right", parse_math=False, usetex=False)
    ax.set_yticks(range(rows), [plain(str(name)) for name in matrix.index], parse_math=False, usetex=False)
    ax.set(xlabel="workloads of", ylabel="policy of")
    set_title(ax, title)
    return ax
