"""Intervals of repeated replays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Share of what is drawn at random that an interval holds.
LEVEL = 0.95


class Interval(NamedTuple):
    """A typical value, and the ends of an interval; NaN where there is a single sample, which tells of no spread."""

    middle: float
    low: float
    high: float


def spread(samples: npt.ArrayLike) -> Interval:
    """Return the median and the range that holds the middle 95 % of some samples, shape (n,) with n at least 1.

    Examples
    --------
    >>> spread([2.0, 1.0, 3.0]).middle
    2.0
    """
    values = np.asarray(samples, np.float64)
    several = len(values) > 1
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if several else (np.nan, np.nan)
    return Interval(float(np.median(values)), float(low), float(high))
