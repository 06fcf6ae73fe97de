"""Intervals of repeated replays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Share of what is drawn at random that an interval holds.
LEVEL = 0.95
#: Times that a bootstrap draws the samples anew.
DRAWS = 2000


class Interval(NamedTuple):
    """A median, and the ends of an interval; these are NaN where there is a single sample, which tells of no spread."""

    median: float
    low: float
    high: float


def spread(samples: npt.ArrayLike) -> Interval:
    """Return the median and the range that holds the middle 95 % of some samples, shape (n,) with n at least 1.

    Examples
    --------
    >>> spread([2.0, 1.0, 3.0]).median
    2.0
    """
    return _interval(np.asarray(samples, np.float64), np.asarray(samples, np.float64))


def median_interval(samples: npt.ArrayLike, generator: np.random.Generator) -> Interval:
    """Return the median and its 95 % percentile-bootstrap interval of some samples, shape (n,) with n at least 1.

    References
    ----------
    An Introduction to the Bootstrap, 1993, Sec. 13.

    Examples
    --------
    >>> median_interval([1.0, 1.0, 1.0], np.random.default_rng(0))
    Interval(median=1.0, low=1.0, high=1.0)
    """
    values = np.asarray(samples, np.float64)
    return _interval(values, np.median(generator.choice(values, (DRAWS, len(values))), axis=1))


def _interval(values: npt.NDArray[np.float64], draws: npt.NDArray[np.float64]) -> Interval:
    low, high = (
        np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(values) > 1 else (np.nan, np.nan)
    )
    return Interval(float(np.median(values)), float(low), float(high))
