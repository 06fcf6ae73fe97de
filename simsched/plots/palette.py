"""Colours and shapes of drawings, and the colours of the tasks of a Gantt chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.drawing import ScalarMappable
from simsched.errors import SimschedError
from simsched.graph.columns import Floats, LabelColumn
from simsched.plots.canvas import one_number_each
from simsched.schedule import Schedule

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
