"""Pictures of W-Par's tables: times and speed-ups as bars, speed-ups by cores, and how busy cores are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simsched.plots.published import curves, grouped_bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.reproduce.system import Drawing


def _times(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    sizes = frame["config"].map(lambda config: "/".join(map(str, config)))
    return grouped_bars(frame.assign(run=frame["cell"] + " " + sizes), "run", "system", "batch (ms)", ax)


def _by_cores(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    return curves(_named(frame), "cores", "run", "speed-up over Seq on one core", ax)


def _busy(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    named = _named(frame).assign(on=frame["cores"].astype(str) + " cores")
    return grouped_bars(named, "run", "on", "share of time that cores are busy", ax, log=False)


def _over_keras(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    layers = frame["mode"] + ", " + frame["layers"].astype(str) + " layers"
    return grouped_bars(frame.assign(run=layers), "run", "system", "speed-up over Keras", ax, log=False)


def _tasks(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    layers = frame["layers"].astype(str) + " layers"
    return grouped_bars(frame.assign(run=layers), "run", "quantity", "tasks, milliseconds", ax)


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with a column that names system, layers and mini-batches."""
    parts = frame["mini_batches"].astype(str) + " mini-batches"
    return frame.assign(run=frame["system"] + ", " + frame["layers"].astype(str) + " layers, " + parts)


PICTURES: Mapping[str, Drawing] = {
    "Table 4": _times,
    "Fig. 10, 11": _by_cores,
    "Fig. 12": _busy,
    "Fig. 14": _over_keras,
    "Table 6": _tasks,
}
