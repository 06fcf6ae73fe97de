"""Pictures of W-Par's tables, of some of their rows where there are many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simsched.plots.published import curves, grouped_bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.reproduce.system import Drawing


def _times(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    shown = frame[frame["cell"] == "lstm"]
    sizes = shown["config"].map(lambda config: "/".join(map(str, config)))
    return grouped_bars(shown.assign(run=sizes), "run", "system", "batch of LSTM (ms)", ax)


def _by_cores(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    layers = frame["layers"].min()
    shown = _named(frame[frame["layers"] == layers])
    return curves(shown, "cores", "run", f"speed-up over Seq on one core, {layers} layers", ax)


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
    """Return the frame with a column that names system and mini-batches."""
    return frame.assign(run=frame["system"] + ", mini-batches: " + frame["mini_batches"].astype(str))


PICTURES: Mapping[str, Drawing] = {
    "Table 4": _times,
    "Fig. 10, 11": _by_cores,
    "Fig. 12": _busy,
    "Fig. 14": _over_keras,
    "Table 6": _tasks,
}
