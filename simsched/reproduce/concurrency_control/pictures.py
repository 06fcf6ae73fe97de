"""Pictures of concurrency control's tables: bars by setting, op, interval and step; ops that run at each event."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from simsched.plots.canvas import outside_legend, plain, shown_axes
from simsched.plots.corunning_events import corunning_events_frame
from simsched.plots.palette import OKABE_ITO
from simsched.plots.published import grouped_bars
from simsched.reproduce.concurrency_control.runs import Runs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.reproduce.concurrency_control.system import ConcurrencyControl
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


def _events(runs: Runs, frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the ops that run at every start and finish of the first network, their means, and published means dotted."""
    ax = shown_axes((9.0, 4.5), ax)
    network = frame["network"].iloc[0]
    handles, labels = [], []
    for colour, row in zip(OKABE_ITO, frame[frame["network"] == network].itertuples(), strict=False):
        running = corunning_events_frame(runs.strategy(network, row.strategy))["tasks_running"]
        handles += ax.plot(
            range(1, len(running) + 1), running, drawstyle="steps-mid", color=colour, linewidth=0.8, alpha=0.6
        )
        labels.append(f"{row.strategy}, mean {row.simulated:.2f}")
        ax.axhline(row.simulated, color=colour, linestyle="--", linewidth=1)
        if row.paper is not None and row.paper == row.paper:
            handles.append(ax.axhline(row.paper, color=colour, linestyle=":", linewidth=2))
            labels.append(f"{row.strategy}, published mean {row.paper:.2f}")
    ax.set_xlabel(f"starts and finishes of {plain(network)}")
    ax.set_ylabel("ops running")
    ax.set_ylim(0, None)
    ax.spines[["top", "right"]].set_visible(False)
    outside_legend(ax, handles, labels)
    return ax


def pictures_of(system: ConcurrencyControl) -> Mapping[str, Drawing]:
    """Return what draws each table; the ops that run at each event come from a replay of their own."""
    return {**_TABLES, "Fig. 4": partial(_events, Runs(system))}


_TABLES: Mapping[str, Drawing] = {
    "Table I": _uniform,
    "Table II": _widths,
    "Table III": _pairs,
    "Table V": _accuracies,
    "Fig. 3": _steps,
}
