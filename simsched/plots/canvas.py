"""Axes to draw on, the allowed text on them, and checks of the data to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from simsched.drawing import Artist, Axes, Container, Figure, Legend, Text
from simsched.errors import MissingExtraError, SimschedError
from simsched.text import printable

if TYPE_CHECKING:
    import pandas as pd

Size = tuple[float, float]

LONGEST_LABEL = 40


def require_matplotlib() -> None:
    """Raise `MissingExtraError` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingExtraError("matplotlib", "viz", "drawing") from None


def shown_axes(size: Size, ax: Axes | None) -> Axes:
    """Return `ax`, or those of a new pyplot figure of `size` inches: a notebook shows it, a script saves it."""
    if ax is not None:
        return ax
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def open_axes(size: Size, ax: Axes | None) -> Axes:
    """Return axes as `shown_axes` does, without the frame's lines above and on the right."""
    ax = shown_axes(size, ax)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def detached_figure(size: Size) -> Figure:
    """Return a figure of `size` inches that pyplot does not register, so that nothing is left behind."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def plain(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return `text` on one line, without characters that cannot be drawn or stored, cut to `longest`."""
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return printable(text)


def verbatim(*texts: Text) -> None:
    """Draw `texts` literally: a `$` in a name from a file starts no formula."""
    for text in texts:
        text.set_parse_math(False)
        text.set_usetex(False)


def set_title(ax: Axes, title: str) -> None:
    """Set a title that is not a formula."""
    verbatim(ax.set_title(title, fontsize="medium", loc="left"))


def outside_legend(
    ax: Axes, handles: Sequence[Artist | Container], labels: Sequence[str], longest: int = LONGEST_LABEL
) -> Legend:
    """Put a legend to the right of the data; every label is shown literally, cut to `longest`."""
    # Matplotlib leaves out labels that start with "_": the legend is made with others, then renamed.
    legend = ax.legend(
        handles, [f"label {i}" for i in range(len(labels))],
        loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, fontsize="small", frameon=False,
    )  # fmt: skip
    for text, label in zip(legend.get_texts(), labels, strict=True):
        verbatim(text)
        text.set_text(plain(label, longest))
    return legend


def log_ticks(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def require_columns(frame: pd.DataFrame, columns: Sequence[str], what: str, maker: str = "") -> None:
    """Raise `SimschedError`, which names the function that makes such tables, if one to be drawn lacks a column."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise SimschedError(
            f"{what} draws a table with {', '.join(columns)}; this one lacks {', '.join(missing)}"
            + (f"; {maker} makes one" if maker else "")
        )


def one_number_each(values: npt.ArrayLike, n: int, called: str, each: str) -> npt.NDArray[np.generic]:
    """Return numbers as an array, shape (n,): integers unchanged, others as floats, None as NaN.

    Raises
    ------
    SimschedError
        If they are not one number each; `called` is their name for the caller, `each` that of their owners.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        array = np.empty(0, np.str_)
    if array.dtype.kind not in "biuf":
        raise SimschedError(
            f"{called} is an array of something else than numbers; give one number per {each}, or NaN"
        )
    if array.shape != (n,):
        raise SimschedError(f"{called} has shape {array.shape}; expected one number per {each}, ({n},)")
    return array
