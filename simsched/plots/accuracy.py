"""Predicted makespans against measured and recorded ones, and measured numbers of a host over assumed ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.intervals import LEVEL, share_within
from simsched.plots.canvas import (
    MARKERS,
    OKABE_ITO,
    layers,
    log_ticks,
    open_axes,
    outside_legend,
    plain,
    require_columns,
    shown_axes,
)
from simsched.units import time_unit

#: Errors beyond the grey band are worth a look.
BAND = 0.1
POINT_PT = 5.0


def accuracy(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the predicted over the measured makespan of every case, on logarithmic axes, with errors of 10 % in grey.

    Policies have a colour and a shape each; both repeat after 8. Of points on each other the lower ones are larger.

    Parameters
    ----------
    frame : DataFrame
        The `table` of a cross-check: policy, measured_s, predicted_s; a case that took no time is left out.
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
    >>> import pandas as pd
    >>> import simsched as ss
    >>> table = pd.DataFrame({"policy": ["fifo"], "measured_s": [1.0], "predicted_s": [1.05]})
    >>> ss.plots.accuracy(table).get_xlabel()
    'measured makespan (s)'
    """
    require_columns(frame, ["policy", "measured_s", "predicted_s"], "accuracy")
    ax = shown_axes((7.0, 4.5), ax)
    shown = frame[(frame["measured_s"] > 0) & (frame["predicted_s"] > 0)]
    if not len(shown):
        ax.text(0.5, 0.5, "no case took time", transform=ax.transAxes, ha="center", va="center")
        return ax
    both = shown[["measured_s", "predicted_s"]]
    unit = time_unit(float(both.median().median()))
    ends = np.array([float(both.min().min()) / 1.3, float(both.max().max()) * 1.3]) * unit.per_s
    ax.fill_between(ends, ends * (1 - BAND), ends * (1 + BAND), color="0.9", linewidth=0)
    ax.plot(ends, ends, color="0.4", linewidth=1)
    _points(ax, shown, unit.per_s)
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    log_ticks(ax, "x")
    log_ticks(ax, "y")
    ax.set(xlabel=f"measured makespan ({unit.name})", ylabel=f"predicted ({unit.name})")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _points(ax: Axes, shown: pd.DataFrame, per_s: float) -> None:
    handles, policies = [], list(dict.fromkeys(shown["policy"]))
    rows = list(zip(shown["measured_s"].tolist(), shown["predicted_s"].tolist(), strict=True))
    order = np.argsort([policies.index(policy) for policy in shown["policy"]], kind="stable")
    wider_pt = np.empty(len(shown))
    wider_pt[order] = [one.wider_pt for one in layers([([rows[k][0]], [rows[k][1]]) for k in order])]
    for place, policy in enumerate(policies):
        own = (shown["policy"] == policy).to_numpy()
        of = shown[own]
        handles.append(
            ax.scatter(
                of["measured_s"] * per_s, of["predicted_s"] * per_s, s=(POINT_PT + 1.5 * wider_pt[own]) ** 2, alpha=0.8,
                linewidths=0,
                color=[OKABE_ITO[place % len(OKABE_ITO)]], marker=MARKERS[place % len(MARKERS)],
            )
        )  # fmt: skip
    outside_legend(ax, handles, policies)


PREDICTED, RECORDED = "#0072B2", "#D55E00"


def learned_curve(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw predicted makespans with their intervals by number of cores, and recorded ones as points.

    Parameters
    ----------
    frame : DataFrame
        Result of `Learned.predict`: cores, makespan_s, low_s, high_s, extrapolated, recorded_s. Extrapolated points are
        hollow.
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
    >>> import pandas as pd
    >>> row = {"cores": 1, "makespan_s": 2.0, "low_s": 1.0, "high_s": 3.0, "extrapolated": False, "recorded_s": 2.1}
    >>> learned_curve(pd.DataFrame([row])).get_ylabel()
    'makespan (s)'
    """
    require_columns(
        frame, ["cores", "makespan_s", "low_s", "high_s", "extrapolated", "recorded_s"], "learned_curve"
    )
    ax = open_axes((8.0, 4.2), ax)
    frame = frame.sort_values("cores", kind="stable")
    unit = time_unit(float(frame["makespan_s"].max()))
    cores = frame["cores"].to_numpy()
    low, middle, high = (frame[key].to_numpy() * unit.per_s for key in ("low_s", "makespan_s", "high_s"))
    level = share_within(int(frame["samples"].min())) if "samples" in frame else LEVEL
    ax.fill_between(
        cores, low, high, color=PREDICTED, alpha=0.15, linewidth=0, label=f"{100 * level:.0f} % interval"
    )
    ax.plot(cores, middle, "-", color=PREDICTED, linewidth=1.2, label="predicted")
    beyond = frame["extrapolated"].to_numpy(bool)
    for mask, fill in ((~beyond, PREDICTED), (beyond, "white")):
        ax.plot(cores[mask], middle[mask], "o", color=PREDICTED, markerfacecolor=fill, markersize=5)
    ax.plot(
        cores,
        frame["recorded_s"] * unit.per_s,
        "x",
        color=RECORDED,
        markersize=8,
        markeredgewidth=2,
        label="recorded",
    )
    log_ticks(ax, "x")
    log_ticks(ax, "y")
    ax.set(xlabel="cores", ylabel=f"makespan ({unit.name})")
    ax.legend(fontsize="small", frameon=False)
    return ax


COLUMNS = ["number", "unit", "measured", "low", "high", "host", "host_low", "host_high"]


def measured_numbers(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw each measured number over that of the machine `host`, with the intervals of both.

    Parameters
    ----------
    frame : DataFrame
        Table of `simsched.measure`; numbers that `host` has not, or as 0, are left out.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"number": "cores.clock", "unit": "GHz", "measured": 3.0, "low": 2.9, "high": 3.1}
    >>> ax = measured_numbers(pd.DataFrame([{**row, "host": 2.0, "host_low": 1.0, "host_high": 4.0}]))
    >>> [round(float(x), 2) for x in ax.lines[1].get_xdata()]
    [1.5]
    """
    require_columns(frame, COLUMNS, "measured_numbers", "measure")
    known = frame[(frame["host"] > 0) & (frame["measured"] > 0)]
    rows = np.arange(len(known))
    ax = open_axes((8.0, 1.3 + 0.35 * len(known)), ax)
    over = known[["measured", "low", "high", "host_low", "host_high"]].div(known["host"], axis=0)
    low, length = over["host_low"], over["host_high"] - over["host_low"]
    ax.barh(rows, length, left=low, height=0.6, color="0.85", label="as taken until now")
    ax.axvline(1.0, color="0.5", linewidth=1)
    ax.hlines(rows, over["low"], over["high"], color="#0072B2", linewidth=2)
    ax.plot(over["measured"], rows, "o", color="#0072B2", label="measured")
    for row, at, value, unit in zip(
        rows.tolist(), over["measured"], known["measured"], known["unit"], strict=True
    ):
        said = f" {value:.3g} {unit}"
        ax.annotate(said, (at, row), xytext=(4, 5), textcoords="offset points", fontsize="small")
    ax.set_yticks(rows, [plain(str(name)) for name in known["number"]], parse_math=False, usetex=False)
    ax.set_ylim(max(len(known), 1) - 0.5, -0.7)
    log_ticks(ax, "x")
    ax.set_xlabel("over the number of the machine host")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    return ax
