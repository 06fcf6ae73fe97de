"""Resampled measurements: points sampled within their errors, curves within their fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import asinh, erf, exp, log, log1p, pi, sqrt
from statistics import NormalDist, median

import numpy as np

from simsched.costs.curves import Curve, sampled_between
from simsched.costs.fitting.by_work import WorkModel
from simsched.costs.fitting.parametric import curve_of
from simsched.costs.fitting.points import Fit, Interval, MeasuredOp, Point
from simsched.machine.confidence import FACTORS

#: The standard error of a median over that of a mean, for many normal samples.
MEDIAN = sqrt(pi / 2)


def sigma_of_spread(spread: float) -> float:
    """Return the standard deviation of the log of log-normal seconds whose half interquartile range is `spread`.

    Half the interquartile range over the median of a log-normal variable is sinh(0.6745 sigma).
    """
    return asinh(spread) / NormalDist().inv_cdf(0.75)


def sampled_ops(ops: Sequence[MeasuredOp], generator: np.random.Generator) -> tuple[MeasuredOp, ...]:
    """Return the ops with every point sampled anew; points without a spread have the median of the others'."""
    spreads = [point.spread for one in ops for point in one.points if point.spread is not None]
    usual = median(spreads) if spreads else 0.0

    def sampled(point: Point) -> Point:
        # The standard error of the log of a median of runs.
        spread = usual if point.spread is None else point.spread
        error = MEDIAN * sigma_of_spread(spread) / sqrt(point.runs) * generator.standard_normal()
        return replace(point, seconds=point.seconds * exp(error))

    return tuple(replace(one, points=tuple(sampled(point) for point in one.points)) for one in ops)


def sampled_curve_of(fits: Sequence[Fit], generator: np.random.Generator) -> Curve:
    """Return the curve of a kind from its fits, sampled with replacement, each within its intervals."""
    again = [fits[place] for place in generator.integers(len(fits), size=len(fits)).tolist()]
    return curve_of([_sampled_fit(fit, generator) for fit in again])


def _sampled_fit(fit: Fit, generator: np.random.Generator) -> Fit:
    serial = min(_within(fit.serial_share, fit.confidence, generator), 1.0)
    added = _within(fit.thread_overhead, fit.confidence, generator)
    return replace(
        fit,
        serial_share=replace(fit.serial_share, value=serial),
        thread_overhead=replace(fit.thread_overhead, value=added),
    )


def _within(number: Interval, confidence: float, generator: np.random.Generator) -> float:
    z = generator.standard_normal()
    if number.low is None or number.high is None:
        return number.value
    # `sampled_between` reads the ends as those of 95 %. Percentiles of a bootstrap may leave out the value itself.
    scale = NormalDist().inv_cdf(0.975) / NormalDist().inv_cdf((1 + confidence) / 2)
    low = max(number.value - scale * max(number.value - number.low, 0.0), 0.0)
    return sampled_between(number.value, low, number.value + scale * max(number.high - number.value, 0.0), z)


def disturbed(facts: Mapping[str, object]) -> float:
    """Return the share of a calibration's runs dropped as disturbed, in [0, 1]; 0 where it is not recorded.

    Examples
    --------
    >>> disturbed({"runs": 40, "dropped": 10}), disturbed({})
    (0.25, 0.0)
    """
    runs, dropped = (facts.get(name) for name in ("runs", "dropped"))
    if not isinstance(runs, (int, float)) or not isinstance(dropped, (int, float)) or not runs > 0:
        return 0.0
    return min(max(dropped / runs, 0.0), 1.0)


def scatter(facts: Mapping[str, object]) -> float:
    """Return the standard deviation of the log of a makespan between runs, at most 1; 0 where not recorded.

    Examples
    --------
    >>> scatter({"scatter": 0.05}), scatter({})
    (0.05, 0.0)
    """
    found = facts.get("scatter", 0.0)
    return min(max(float(found), 0.0), 1.0) if isinstance(found, (int, float)) else 0.0


def work_sigma(model: WorkModel) -> float:
    """Return the standard deviation of the log seconds of a shape predicted from its work.

    It follows from the mean error of left-out shapes; a kind of a single shape has none, and counts as a number
    of low confidence.
    """
    if model.error != model.error:
        return log(FACTORS["low"]) / NormalDist().inv_cdf(0.975)
    return sigma_of_error(model.error)


def sigma_of_error(error: float) -> float:
    """Return the standard deviation of the log of log-normal factors of median 1 whose mean error is `error`.

    The mean of `|factor - 1|` is exp(sigma^2 / 2) erf(sigma / sqrt 2): for small ones sigma over sqrt(pi / 2), but a
    factor of eleven, an error of 10, is not a sigma of 12.5.

    Examples
    --------
    >>> [round(sigma_of_error(error), 3) for error in (0.0, 0.01, 0.25, 1.0, 10.0)]
    [0.0, 0.013, 0.304, 0.931, 2.16]
    """
    from scipy.optimize import brentq

    if not error:
        return 0.0
    # The mean is no less than sigma over sqrt(pi / 2), nor, from 1 on, than 0.68 exp(sigma^2 / 2).
    most = min(sqrt(pi / 2) * error, max(sqrt(2 * (log1p(error) + 0.39)), 1.0)) * (1 + 1e-6)
    return float(brentq(lambda sigma: exp(sigma**2 / 2) * erf(sigma / sqrt(2)) - error, 0.0, most))
