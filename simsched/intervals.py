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


def share_within(n: int) -> float:
    """Return the share of other samples that fall in the interval of n of them.

    Examples
    --------
    >>> round(share_within(20), 2), share_within(100)
    (0.9, 0.95)
    """
    return min(LEVEL, (n - 1) / (n + 1))


def spread(samples: npt.ArrayLike) -> Interval:
    """Return the median of some samples, shape (n,) with n at least 1, and the interval in which 95 % of others fall.

    Its ends are such quantiles that another sample falls below each with just their probability; of fewer than 39
    samples the extremes, between which (n - 1) / (n + 1) of others fall: 90 % of 20.

    Examples
    --------
    >>> spread([2.0, 1.0, 3.0])
    Interval(middle=2.0, low=1.0, high=3.0)
    """
    values = np.asarray(samples, np.float64)
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    several = len(values) > 1
    low, high = np.quantile(values, ends, method="weibull") if several else (np.nan, np.nan)
    return Interval(float(np.median(values)), float(low), float(high))
