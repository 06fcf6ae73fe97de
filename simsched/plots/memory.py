"""Bytes of live data objects at each place, over time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import open_axes, outside_legend, plain, set_title
from simsched.schedule import MemoryUse
from simsched.units import format_bytes, time_unit

#: Places that are drawn, those with the highest peaks.
MOST_PLACES = 8
#: A size of more than so many times the highest peak is written and not drawn, as the bytes would be a line at 0.
FAR = 10


def memory_frame(use: MemoryUse) -> pd.DataFrame:
    """Return the bytes at each place over time, one row for each change: place, time_s, bytes_B (from then on).

    Parameters
    ----------
    use : MemoryUse
        From `Schedule.memory`.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], edge_bytes=4e6)
    >>> memory_frame(ss.simulate(graph, "generic[cores=2]", "fifo").memory()).values.tolist()
    [[0.0, 0.0, 4000000.0], [0.0, 3.0, 0.0]]
    """
    curves = [use.curve(place) for place in range(len(use.peak))]
    return pd.DataFrame({
        "place": np.repeat(np.arange(len(curves)), [len(times_s) for times_s, _ in curves]),
        "time_s": np.concatenate([times_s for times_s, _ in curves]),
        "bytes_B": np.concatenate([bytes_B for _, bytes_B in curves]),
    })  # fmt: skip


def memory(use: MemoryUse, ax: Axes | None = None) -> Axes:
    """Draw the bytes at each place over time, and the size of the place, where it is known, as a dashed line.

    A size far above the highest peak is in the legend only. Of more than eight places those with the highest peaks are
    drawn.

    Parameters
    ----------
    use : MemoryUse
        From `Schedule.memory`.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], edge_bytes=4e6)
    >>> ss.plots.memory(ss.simulate(graph, "generic[cores=2]", "fifo").memory()).get_ylabel()
    'live bytes (MB)'
    """
    ax = open_axes((10.0, 3.2), ax)
    peak, curves = use.peak, [use.curve(place) for place in range(len(use.peak))]
    shown = peak.sort_values("peak_B", ascending=False, kind="stable").head(MOST_PLACES).sort_index()
    sizes, most_B = set(shown["size_B"]), float(peak["peak_B"].max())
    end_s = max(float(times_s[-1]) for times_s, _ in curves)
    unit, (name, per_B) = time_unit(end_s), _byte_unit(most_B)
    lines = []
    for place in shown.index:
        times_s, bytes_B = curves[place]
        # Outputs stay: each curve goes on to the end.
        time = np.append(times_s, end_s) * unit.per_s
        lines += ax.plot(time, np.append(bytes_B, bytes_B[-1]) * per_B, drawstyle="steps-post", linewidth=1.5)
    labels = shown["name"].tolist()
    if len(sizes) == 1 and np.isfinite(size_B := sizes.pop()):
        lines.append(ax.axhline(size_B * per_B, color="black", linestyle="--", linewidth=1))
        labels.append("size of each" if len(peak) > 1 else "size")
        if size_B > FAR * most_B > 0:
            labels[-1] += f": {format_bytes(size_B)}, beyond the picture"
            ax.set_ylim(top=1.1 * most_B * per_B)
    ax.set_ylim(bottom=0)
    ax.set(xlabel=f"time ({unit.name})", ylabel=f"live bytes ({name})")
    outside_legend(ax, lines, labels)
    set_title(ax, plain(f"Memory of {use.graph.name}", 200))
    return ax


def _byte_unit(bytes_B: float) -> tuple[str, float]:
    """Return the largest unit in which some bytes are at least 1, and its number per byte."""
    units = (("TB", 1e-12), ("GB", 1e-9), ("MB", 1e-6), ("kB", 1e-3))
    return next((unit for unit in units if bytes_B * unit[1] >= 1), ("B", 1.0))
