"""Pictures of concurrency control's tables: bars by setting, convolution, interval, step and network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simsched.plots.published import grouped_bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.reproduce.system import Drawing


def _uniform(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    times = frame[frame["quantity"] == "time"]
    setting = times["inter_op"].astype(str) + " x " + times["intra_op"].astype(str)
    return grouped_bars(times.assign(setting=setting), "setting", "network", "training step (ms)", ax)


def _widths(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    best = frame[frame["quantity"] == "best threads"]
    size = best["input"].map(lambda dims: "x".join(map(str, dims)))
    return grouped_bars(best.assign(size=size), "size", "op", "best threads", ax, log=False)


def _pairs(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    times = frame[frame["quantity"] == "time of 1000 runs"]
    return grouped_bars(times, "strategy", "quantity", "1000 runs of both (s)", ax, log=False)


def _accuracies(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    chosen = frame[frame["quantity"] == "accuracy"]
    return grouped_bars(chosen, "network", "x", "accuracy of hill climbing", ax, log=False)


def _steps(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    gains = frame[frame["quantity"] == "improvement"]
    return grouped_bars(gains, "network", "step", "improvement", ax, log=False)


def _corunning(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    return grouped_bars(frame, "network", "strategy", "mean co-running ops", ax, log=False)


PICTURES: Mapping[str, Drawing] = {
    "Table I": _uniform,
    "Table II": _widths,
    "Table III": _pairs,
    "Table V": _accuracies,
    "Fig. 3": _steps,
    "Fig. 4": _corunning,
}
