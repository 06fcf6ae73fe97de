"""Pictures of CHAOS's tables: times and speed-ups by threads, strategies as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simsched.plots.published import curves, grouped_bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.reproduce.system import Drawing


def _times(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    return curves(frame[frame["quantity"] == "time"], "threads", "network", "training (h)", ax)


def _over_xeon(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    chosen = frame[frame["quantity"].str.startswith("speed-up")]
    return curves(chosen, "threads", "network", "speed-up over a sequential Xeon E5", ax)


def _layers(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    named = frame.assign(layers=frame["network"] + ", " + frame["layer"])
    return curves(named, "threads", "layers", "speed-up over one thread", ax)


def _minutes(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    return curves(frame, "threads", "network", "training (min)", ax)


def _strategies(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    setting = frame["network"] + ", " + frame["threads"].astype(str) + " threads"
    return grouped_bars(frame.assign(setting=setting), "setting", "variant", "training (min)", ax)


PICTURES: Mapping[str, Drawing] = {
    "Table 8": _minutes,
    "Fig. 5, 8": _times,
    "Fig. 7": _over_xeon,
    "Table 6": _layers,
    "Table 8, workers": _minutes,
    "Strategies": _strategies,
}
