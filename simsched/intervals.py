"""Intervals of repeated replays, and of their ratios."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Share of random samples within an interval.
LEVEL = 0.95
#: Relative difference below which makespans count as equal.
SAME = 0.005
#: Logarithms that differ by less differ only by rounding.
ROUNDING = 1e-12


class Interval(NamedTuple):
    """A typical value, and the ends of an interval; NaN for a single sample, which has no spread."""

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


class Ratio(NamedTuple):
    """A ratio of geometric means, the ends of its interval, and the p-value of there being no difference.

    Interval and p-value are NaN for a single pair, which shows no spread.
    """

    ratio: float
    low: float
    high: float
    p: float


def paired_ratio(logs: npt.ArrayLike) -> Ratio:
    """Return the ratio from pairs: Student's t on its logarithms, which is exact for log-normal ratios.

    Parameters
    ----------
    logs : array_like of float, shape (n,)
        Logarithms of the ratio in each pair, at least one.

    Examples
    --------
    >>> found = paired_ratio(np.log([0.90, 0.92, 0.94]))
    >>> round(found.ratio, 3), round(found.low, 3), round(found.high, 3), round(found.p, 3)
    (0.92, 0.871, 0.971, 0.022)
    """
    from scipy.special import stdtr, stdtrit

    values = np.asarray(logs, np.float64)
    mean, n = float(values.mean()), len(values)
    if n == 1:
        return Ratio(float(np.exp(mean)), np.nan, np.nan, np.nan)
    error = float(values.std(ddof=1)) / np.sqrt(n)
    if error <= ROUNDING:
        # Every pair agrees: there is no randomness.
        same = 1.0 if abs(mean) <= ROUNDING else float(np.exp(mean))
        return Ratio(same, same, same, float(same == 1))
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * error
    ratio, low, high = np.exp([mean, mean - half, mean + half]).tolist()
    return Ratio(ratio, low, high, 2 * float(stdtr(n - 1, -abs(mean) / error)))


def typical(seconds: npt.ArrayLike) -> Interval:
    """Return the geometric mean of some seconds, shape (n,) with n at least 1, and its interval by `paired_ratio`.

    Examples
    --------
    >>> typical([1.0, 4.0]).middle
    2.0
    """
    values = np.asarray(seconds, np.float64)
    # A graph of no length takes the same time whatever is sampled.
    return Interval(*paired_ratio(np.log(values))[:3]) if values.all() else Interval(0.0, 0.0, 0.0)
