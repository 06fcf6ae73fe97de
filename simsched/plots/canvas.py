"""Axes to draw on, the text allowed on them, checks of the data, colours and shapes, and overlapping curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.drawing import Artist, Axes, Container, Figure, Legend, ScalarMappable, Text
from simsched.errors import SimschedError, require
from simsched.graph.columns import Floats, LabelColumn
from simsched.schedule import Schedule
from simsched.text import printable

Size = tuple[float, float]

LONGEST_LABEL = 40
#: Legend of `bound_s`; intervals, of sampled costs, may reach below it.
LOWER_BOUND = "lower bound (costs as they are)"


def require_matplotlib() -> None:
    """Raise `MissingExtraError` if matplotlib is not installed."""
    require("matplotlib", "viz", "drawing")


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


RGB = tuple[float, float, float]

# Okabe and Ito, "Color Universal Design" (2008): distinguishable for colour-blind readers. Black comes last.
OKABE_ITO: tuple[RGB, ...] = tuple(
    (int(code[0:2], 16) / 255, int(code[2:4], 16) / 255, int(code[4:6], 16) / 255)
    for code in ("0072B2", "E69F00", "009E73", "D55E00", "56B4E9", "CC79A7", "F0E442", "000000")
)
GREY: RGB = (0.72, 0.72, 0.72)
HIGHLIGHT: RGB = OKABE_ITO[3]
#: Shapes of points, as many as colours.
MARKERS = "osD^vPX*"

RULES = ("kind", "executor", "critical", "depth")


def readable(rgb: npt.ArrayLike) -> str:
    """Return black or white, by contrast with a colour, shape (3,) (relative luminance of Rec. 709)."""
    return "black" if float(np.dot(rgb, (0.2126, 0.7152, 0.0722))) > 0.45 else "white"


@dataclass(frozen=True, eq=False)
class Colouring:
    """Colour of every task, and the meaning of the colours.

    Parameters
    ----------
    rgb : float64 array, shape (n, 3)
        Colour of each task.
    groups : tuple of (str, RGB)
        The legend; empty where a colour bar replaces it.
    bar : ScalarMappable or None
        Values of the colour bar.
    bar_label : str
        Its label.
    """

    rgb: Floats
    groups: tuple[tuple[str, RGB], ...] = ()
    bar: ScalarMappable | None = None
    bar_label: str = ""


def colouring(schedule: Schedule, color: str | npt.ArrayLike | Colouring) -> Colouring:
    """Return the colours of the tasks by a rule's name, by an array of one number per task, or as given.

    Raises
    ------
    SimschedError
        On an unknown rule, or an array that is not one number per task.
    """
    if isinstance(color, Colouring):
        return color
    if isinstance(color, str):
        if color not in RULES:
            raise SimschedError(
                f"color={color!r} is unknown; give one of {', '.join(RULES)}, or one number per task"
            )
        if color == "depth":
            return _by_value(schedule.graph.depths.astype(np.float64), "depth")
        rule = {"kind": _by_kind, "executor": _by_executor, "critical": _by_critical_path}[color]
        return rule(schedule)
    values = one_number_each(color, schedule.graph.n_tasks, "color", "task").astype(np.float64)
    return _by_value(values, str(getattr(color, "name", None) or ""))


def _by_kind(schedule: Schedule) -> Colouring:
    return by_kind(schedule.graph.kinds, (schedule.finish_s - schedule.start_s) * schedule.widths)


def by_kind(kinds: LabelColumn, amounts: Floats) -> Colouring:
    """Return a colour for each of the 8 kinds that hold most of the amounts, shape (n,); the others are grey."""
    held = np.bincount(kinds.codes, amounts, len(kinds.labels))
    used = np.flatnonzero(kinds.counts)
    ranked = used[np.argsort(-held[used], kind="stable")]
    top = ranked[: len(OKABE_ITO)]
    of_kind = np.tile(np.asarray(GREY), (len(kinds.labels), 1))
    of_kind[top] = np.asarray(OKABE_ITO)[: len(top)]
    groups = [(kinds.labels[k] or "no kind", OKABE_ITO[i]) for i, k in enumerate(top.tolist())]
    if len(ranked) > len(top):
        groups.append((f"other ({len(ranked) - len(top)} kinds)", GREY))
    return Colouring(of_kind[kinds.codes], tuple(groups))


def _by_executor(schedule: Schedule) -> Colouring:
    held, rank = np.unique(schedule.executor, return_inverse=True)
    rgb = np.asarray(OKABE_ITO)[rank % len(OKABE_ITO)]
    # With more executors than colours, the colours only distinguish neighbours.
    if len(held) > len(OKABE_ITO):
        return Colouring(rgb)
    return Colouring(rgb, tuple((f"executor {e}", OKABE_ITO[i]) for i, e in enumerate(held.tolist())))


def _by_critical_path(schedule: Schedule) -> Colouring:
    rgb = np.tile(np.asarray(GREY), (schedule.graph.n_tasks, 1))
    rgb[schedule.graph.critical_path(schedule.alone_s)] = HIGHLIGHT
    return Colouring(rgb, (("critical path", HIGHLIGHT), ("other tasks", GREY)))


def _by_value(values: Floats, label: str) -> Colouring:
    rgb, bar = shaded(values)
    return Colouring(rgb, bar=bar, bar_label=label)


def shaded(values: Floats, limits: tuple[float, float] | None = None) -> tuple[Floats, ScalarMappable]:
    """Return the colour of each value, shape (n, 3), grey for unknown ones, and the mapping for a colour bar.

    The bar reaches from one limit to the other; from the least to the largest value where there are none.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    known = np.isfinite(values)
    found = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 1.0)
    low, high = limits or found
    bar = ScalarMappable(Normalize(low, high if high > low else low + 1), "viridis")
    rgb = np.asarray(bar.to_rgba(np.where(known, values, low)), np.float64)[:, :3]
    rgb[~known] = GREY
    return rgb, bar


#: Values that differ by less, relative to each other, are one point of a picture.
NEAR = 0.01
#: Points of line width between a curve and the one above it, and how much wider the lowest may be.
STEP_PT, MOST_PT = 2.5, 6.0
#: Letters of a legend that names two curves in a line.
LONGEST_PAIR = 2 * LONGEST_LABEL + 12


@dataclass(frozen=True)
class Layer:
    """Style of a curve among others.

    Parameters
    ----------
    above : int
        Curves on top of it and of each other, at least in part: 0 where it is on top.
    wider_pt : float
        Addition to its line width.
    same_as : int or None
        Place of the first curve that is equal to it throughout.
    """

    above: int
    wider_pt: float
    same_as: int | None


def layer_labels(drawn: Sequence[Layer], names: Sequence[str]) -> list[str]:
    """Return the names of curves for a legend, cut where they are long, each with the first curve that it equals."""
    same = ("" if one.same_as is None else f" (same as {plain(names[one.same_as])})" for one in drawn)
    return [f"{plain(name)}{equal}" for name, equal in zip(names, same, strict=True)]


def layers(curves: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> list[Layer]:
    """Return the styles of curves, the first at the bottom, so that none hides another.

    Curves overlap where both have the same two neighbouring points, to 1 %; a curve of one point, where they
    have that point. The lower of them is drawn wider by 2.5 points for each one above, by at most 6 points in all.

    Parameters
    ----------
    curves : sequence of pairs of array_like, shape (points,)
        x, ascending, and y of each; NaN where there is none.

    Examples
    --------
    >>> x = [1.0, 2.0, 4.0]
    >>> [(one.above, one.same_as) for one in layers([(x, [3.0, 2.0, 1.0]), (x, [3.0, 2.0, 2.0]), (x, [3.0, 2.0, 1.0])])]
    [(2, None), (1, None), (0, 0)]
    >>> layers([(x, [3.0, 2.0, 1.0]), (x, [4.0, 3.0, 2.0])])[0].wider_pt
    0.0
    """
    points = [(np.asarray(x, np.float64), np.asarray(y, np.float64)) for x, y in curves]
    above = [0] * len(points)
    for low in reversed(range(len(points))):
        on_it = (above[k] for k in range(low + 1, len(points)) if _touch(points[low], points[k]))
        above[low] = max(on_it, default=-1) + 1
    step = min(STEP_PT, MOST_PT / max(above, default=0)) if any(above) else 0.0
    return [Layer(count, step * count, _first_equal(points, k)) for k, count in enumerate(above)]


def _touch(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> bool:
    """Return whether two curves have a piece in common."""
    _, here, there = np.intersect1d(one[0], other[0], return_indices=True)
    near = np.isclose(one[1][here], other[1][there], rtol=NEAR, atol=0.0)
    if min(len(one[0]), len(other[0])) < 2:
        return bool(near.any())
    # Neighbours among the points of both.
    return bool((near[1:] & near[:-1] & (np.diff(here) == 1) & (np.diff(there) == 1)).any())


def _first_equal(points: Sequence[tuple[Floats, Floats]], place: int) -> int | None:
    x, y = points[place]
    for k, (other_x, other_y) in enumerate(points[:place]):
        if np.array_equal(x, other_x) and np.allclose(y, other_y, rtol=1e-9, atol=0.0, equal_nan=True):
            return k
    return None
