"""Overlapping curves and points: the lower ones are wider, so that all are visible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.graph.columns import Floats
from simsched.plots.canvas import LONGEST_LABEL, plain

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

    def label(self, name: str, names: Sequence[str]) -> str:
        """Return a curve's name for a legend, cut where it is long, and the curve that it equals."""
        return (
            plain(name) if self.same_as is None else f"{plain(name)} (same as {plain(names[self.same_as])})"
        )


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
