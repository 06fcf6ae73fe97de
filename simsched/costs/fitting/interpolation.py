"""Curves through measured widths, interpolated between and extrapolated beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from simsched.errors import CostError

Array = npt.NDArray[np.float64]

#: "linear": straight between the two nearest widths, as the paper does; "pchip": the monotone cubic of Fritsch and
#: Carlson through log seconds over log widths.
Method = Literal["linear", "pchip"]


@dataclass(frozen=True, eq=False)
class WidthCurve:
    """Seconds by width, through measured points; of one curve, or of several over the same widths.

    Parameters
    ----------
    widths : array_like of int, shape (k,)
        Measured widths, ascending.
    seconds : array_like of float, shape (k,) or (curves, k)
        Seconds on each.
    method : {"pchip", "linear"}
        How widths between two measured ones are filled. Neither leaves the range of its two neighbours, so both keep
        what rises rising and what falls falling; a gain of 1 / w is met exactly by "pchip".

    Notes
    -----
    Beyond the widest width the last line continues if it rises, for a convex curve a lower bound; if it falls,
    nothing is gained that was not measured. Below the narrowest the first two points' power of the width continues, no
    steeper than 1 / w and never rising. A single point gives the same for all widths.

    Raises
    ------
    CostError
        If widths are not ascending whole numbers from 1, or seconds not above zero and finite.

    Examples
    --------
    >>> from simsched.costs.fitting import WidthCurve
    >>> curve = WidthCurve([1, 2, 4], [8.0, 4.0, 2.0])
    >>> curve(3).round(3).tolist()
    2.667
    """

    widths: npt.ArrayLike
    seconds: npt.ArrayLike
    method: Method = "pchip"

    def __post_init__(self) -> None:
        widths, seconds = np.asarray(self.widths, np.float64), np.asarray(self.seconds, np.float64)
        if self.method not in get_args(Method):
            raise CostError(f"method {self.method!r} is none of {', '.join(get_args(Method))}")
        if widths.ndim != 1 or widths.shape != seconds.shape[-1:] or seconds.ndim > 2 or not len(widths):
            raise CostError(
                f"{widths.shape} widths and {seconds.shape} seconds; expected as many, at least one"
            )
        whole = np.isfinite(widths).all() and (widths % 1 == 0).all()
        if not whole or widths[0] < 1 or (np.diff(widths) <= 0).any():
            raise CostError(f"widths {widths.tolist()} are not ascending whole numbers from 1")
        if not (np.isfinite(seconds) & (seconds > 0)).all():
            raise CostError(f"seconds {seconds.tolist()} are not above zero and finite")
        for name, column in (("widths", widths), ("seconds", seconds)):
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    @property
    def widest(self) -> int:
        """The widest measured width."""
        return int(np.asarray(self.widths)[-1])

    def __call__(self, widths: npt.ArrayLike) -> Array:
        """Return the seconds on each width, shape of `widths`; of several curves one row per curve."""
        known, rows = np.asarray(self.widths), np.atleast_2d(np.asarray(self.seconds))
        every = np.asarray(widths, np.float64)
        at = every.ravel()
        found = self._between(np.clip(at, known[0], known[-1]), known, rows)
        # Measured seconds are kept to the bit, and rounding makes no width faster than both of its neighbours.
        place = np.minimum(np.searchsorted(known, at), len(known) - 1)
        ends = rows[:, np.maximum(place - 1, 0)], rows[:, place]
        found = np.clip(found, np.minimum(*ends), np.maximum(*ends))
        found = self._beyond(at, known, rows, np.where(known[place] == at, rows[:, place], found))
        return found.reshape(np.shape(self.seconds)[:-1] + every.shape)

    def _between(self, at: Array, known: Array, rows: Array) -> Array:
        if self.method == "linear" or len(known) == 1:
            return np.array([np.interp(at, known, row) for row in rows]).reshape(len(rows), len(at))
        from scipy.interpolate import PchipInterpolator

        return np.asarray(np.exp(PchipInterpolator(np.log(known), np.log(rows), axis=1)(np.log(at))))

    @staticmethod
    def _beyond(at: Array, known: Array, rows: Array, found: Array) -> Array:
        if len(known) == 1:
            return found
        first, second, before, last = (rows[:, [place]] for place in (0, 1, -2, -1))
        rise = np.maximum((last - before) / (known[-1] - known[-2]), 0.0)
        gain = np.clip(np.log(first / second) / np.log(known[1] / known[0]), 0.0, 1.0)
        found = np.where(at > known[-1], last + rise * (at - known[-1]), found)
        return np.where(at < known[0], first * (known[0] / np.maximum(at, 1.0)) ** gain, found)


def dents(widths: Sequence[int], seconds: Sequence[float]) -> dict[int, float]:
    """Return the non-convex points of a curve: width, and share above the line through its neighbours.

    Curves are convex in threads (concurrency control, Sec. III-C): the returned dents are noise, or a step of the op's
    pieces.

    Parameters
    ----------
    widths : sequence of int
        Ascending.
    seconds : sequence of float
        On each of them.

    Returns
    -------
    dict of int to float

    Examples
    --------
    >>> dents([1, 2, 3, 4], [8.0, 4.0, 3.6, 2.0])
    {3: 0.2}
    """
    w, c = np.asarray(widths, np.float64), np.asarray(seconds, np.float64)
    if len(w) < 3:
        return {}
    line = c[:-2] + (c[2:] - c[:-2]) * (w[1:-1] - w[:-2]) / (w[2:] - w[:-2])
    above = c[1:-1] / line - 1
    return {int(w[i + 1]): round(float(above[i]), 12) for i in np.flatnonzero(above > 1e-9)}
