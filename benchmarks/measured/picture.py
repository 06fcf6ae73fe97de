"""The picture of all tables: measured against modelled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from measured.table import BANDWIDTH_BAR, KERNEL_BAR, Table

MARKERS = "os^Dv"


def draw(tables: Sequence[Table], path: Path) -> None:
    """Write measured against modelled, seconds left and rates right, with the bars as bands."""
    figure = Figure(figsize=(13, 6.5), layout="constrained")
    axes = figure.subplots(1, 2)
    colours = mpl.colormaps["tab20"].colors
    for ax, unit, title in zip(axes, ("s", "B/s"), ("seconds", "bytes a second"), strict=True):
        mine = [table for table in tables if table.unit == unit]
        values = np.concatenate([table.rows[["measured", "modelled"]].to_numpy().ravel() for table in mine])
        ends = np.array([values.min() / 1.5, values.max() * 1.5])
        for bar, grey in ((KERNEL_BAR, "0.93"), (BANDWIDTH_BAR, "0.85")):
            ax.fill_between(ends, ends * (1 - bar), ends * (1 + bar), color=grey, lw=0, label=f"± {bar:.0%}")
        ax.plot(ends, ends, color="black", lw=0.8)
        for i, table in enumerate(mine):
            label = f"{table.name}: {table.median:.1%}"
            colour = colours[(2 * i) % 20 + i // 10]
            ax.plot(
                table.rows.measured, table.rows.modelled, MARKERS[i % len(MARKERS)],
                color=colour, ms=3.5, mew=0, alpha=0.75, label=label,
            )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal", title=title)
        ax.set(xlabel="measured", ylabel="modelled")
        ax.legend(
            fontsize=6.5, loc="upper left", frameon=False, title="table: median error", title_fontsize=7
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
