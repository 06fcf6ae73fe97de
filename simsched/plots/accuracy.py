"""Predicted over measured makespans."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import log_ticks, outside_legend, require_columns, shown_axes
from simsched.plots.overlap import layers
from simsched.plots.palette import MARKERS, OKABE_ITO
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
