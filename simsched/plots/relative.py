"""Relative times as a heat map."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.plots.canvas import plain, set_title, shown_axes


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
