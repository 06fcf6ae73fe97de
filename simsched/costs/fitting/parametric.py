"""Cost curves fitted to measured points: serial share, parallel share, overhead of a thread.

    c(1) = t1,    c(w) = s t1 + (1 - s) t1 / w + a sqrt(1 ms x t1) (w - 1) + F + f w

is the formula of docs/costs.md without its two bounds: measured ops run on all threads of their team, and the memory's
part is in the serial and parallel shares. F and f are the machine's, and given. The residuals are those of log seconds,
so that a tenth too long counts as much on one thread as on many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simsched.costs.curves import REFERENCE_S, Curve
from simsched.costs.fitting.points import Fit, How, Interval, MeasuredOp, Point, Sharing
from simsched.errors import CostError
from simsched.graph.columns import Floats
from simsched.machine import RuntimeProfile

#: A share or an overhead this near to its bound is at it: no measurement distinguishes the two.
AT_BOUND = 1e-9


def formula(widths: Floats, t1: float, s: float, a: float, runtime: RuntimeProfile) -> Floats:
    """Return c(w) of this module's formula, shape (widths,)."""
    region = runtime.region_s + runtime.region_per_thread_s * widths
    team = s * t1 + (1 - s) * t1 / widths + a * np.sqrt(REFERENCE_S * t1) * (widths - 1) + region
    return np.where(widths == 1, t1, team)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Points to fit, and how many of (log t1, s, a) are determined: with one width t1, with two also s."""

    widths: Floats
    log_s: Floats
    runtime: RuntimeProfile

    @property
    def free(self) -> int:
        return min(3, len(np.unique(self.widths)))

    def curve(self, x: Floats) -> Floats:
        t1, s, a = self.full(x)
        return np.log(formula(self.widths, t1, s, a, self.runtime))

    def full(self, x: Floats) -> tuple[float, float, float]:
        s, a = (float(x[1]) if len(x) > 1 else 0.0), (float(x[2]) if len(x) > 2 else 0.0)
        return float(np.exp(x[0])), s, a

    def solved(self, log_s: Floats) -> tuple[Floats, Floats]:
        """Return the best parameters, and the Jacobian there."""
        from scipy.optimize import least_squares

        n = self.free
        low, high = np.array([-np.inf, 0.0, 0.0])[:n], np.array([np.inf, 1.0, np.inf])[:n]
        start = np.clip(self._start(np.exp(log_s))[:n], np.maximum(low, -1e300), np.minimum(high, 1e300))
        found = least_squares(
            lambda x: self.curve(x) - log_s,
            start,
            bounds=(low, high),
            x_scale="jac",
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        x = np.asarray(found.x)
        # The solver stays strictly between the bounds: a result next to one is on it.
        for bound in (low, high):
            x = np.where(np.abs(x - bound) < AT_BOUND, bound, x)
        return x, np.asarray(found.jac)

    def _start(self, seconds: Floats) -> Floats:
        """Return the parameters of least relative error: the curve is linear in S, P and A."""
        from scipy.optimize import nnls

        w = self.widths
        region = np.where(w == 1, 0.0, self.runtime.region_s + self.runtime.region_per_thread_s * w)
        columns = np.stack([np.ones_like(w), 1 / w, w - 1], axis=1)[:, : self.free]
        (serial, parallel, added), _ = _padded(
            *nnls(columns / seconds[:, None], (seconds - region) / seconds)
        )
        t1 = max(serial + parallel, float(seconds.min()) * 1e-3)
        return np.array([np.log(t1), min(serial / t1, 1.0), added / np.sqrt(REFERENCE_S * t1)])


def _padded(found: Floats, error: float) -> tuple[tuple[float, float, float], float]:
    one = [float(value) for value in found] + [0.0] * (3 - len(found))
    # A single width determines the sum only: it is parallel work.
    return ((0.0, one[0], 0.0) if len(found) == 1 else (one[0], one[1], one[2])), error


def fit_curve(
    points: Sequence[Point],
    sharing: Sharing = "apart",
    runtime: RuntimeProfile | None = None,
    *,
    confidence: float = 0.95,
    bootstrap: int = 0,
    generator: np.random.Generator | None = None,
) -> Fit:
    """Fit the cost curve of one op.

    Parameters
    ----------
    points : sequence of Point
        On one width the one-core seconds are fitted, with a perfect gain; on two also the serial share; on three or
        more all parameters.
    sharing : {"shared", "apart"}
        The sharing of the points.
    runtime : RuntimeProfile, optional
        What part of the seconds is forking, joining and the barrier; none when not given.
    confidence : float
        Of the intervals.
    bootstrap : int
        Residuals are sampled again so often, and the intervals are percentiles; 0 takes them from the covariance.
    generator : numpy Generator, optional
        Of the draws; needed for a bootstrap.

    Returns
    -------
    Fit

    Raises
    ------
    CostError
        If there are no points, the confidence is not a share, or a bootstrap has no generator.

    Notes
    -----
    Intervals by covariance: x +- t sqrt(diag((J'J)^-1) RSS / (n - p)) with Student's t, cut to the allowed range of the
    parameters. No interval with at most as many points as parameters: the curve passes through them.

    Examples
    --------
    >>> from simsched.costs.fitting import Point, fit_curve
    >>> fit = fit_curve([Point(1, 8e-3), Point(2, 5e-3), Point(4, 3.5e-3)])
    >>> round(fit.one_core_s.value, 6), round(fit.serial_share.value, 3)
    (0.008, 0.25)
    """
    _check(points, confidence, bootstrap, generator)
    widths = np.array([point.width for point in points], np.float64)
    problem = _Problem(widths, np.log([point.seconds for point in points]), runtime or RuntimeProfile())
    x, jacobian = problem.solved(problem.log_s)
    residual = problem.curve(x) - problem.log_s
    ends = _ends(problem, x, jacobian, residual, confidence, bootstrap, generator)
    how: How = "none" if ends is None else "bootstrap" if bootstrap else "covariance"
    t1, s, a = (_interval(i, value, ends, x) for i, value in enumerate(problem.full(x)))
    worst = float(np.abs(np.expm1(residual)).max())
    return Fit(sharing, t1, s, a, confidence, how, r2(problem.log_s, residual), worst, len(points))


def _check(points: Sequence[Point], confidence: float, bootstrap: int, generator: object) -> None:
    if not points:
        raise CostError("a curve cannot be fitted to no points")
    if not 0 < confidence < 1:
        raise CostError(f"confidence is {confidence}; expected between 0 and 1")
    if bootstrap < 0:
        raise CostError(f"bootstrap is {bootstrap}; expected the number of samples, or 0")
    if bootstrap and generator is None:
        raise CostError("a bootstrap takes random samples; give it a generator, as np.random.default_rng(0)")


def fitted(one: MeasuredOp, runtime: RuntimeProfile | None = None) -> MeasuredOp:
    """Return an op with a curve fitted to the points of each sharing that has more than one width.

    Parameters
    ----------
    one : MeasuredOp
        Its own fits are replaced.
    runtime : RuntimeProfile, optional
        As in `fit_curve`.

    Returns
    -------
    MeasuredOp

    Examples
    --------
    >>> from simsched.costs.fitting import MeasuredOp, Op, Point, fitted
    >>> one = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 8e-3), Point(2, 5e-3)))
    >>> [(fit.sharing, round(fit.serial_share.value, 3)) for fit in fitted(one).fits]
    [('apart', 0.25)]
    """
    fits = [(s, one.of(s)) for s in one.sharings]
    return replace(one, fits=tuple(fit_curve(points, s, runtime) for s, points in fits if len(points) > 1))


def r2(log_s: Floats, residual: Floats) -> float | None:
    """Return the share of the variance of log seconds that a fit explains; None where there is none."""
    if not np.ptp(log_s) > 0:  # their mean may have a rounding error, and a variance appear
        return None
    total = float(((log_s - log_s.mean()) ** 2).sum())
    return 1 - float((residual**2).sum()) / total


def _ends(
    problem: _Problem,
    x: Floats,
    jacobian: Floats,
    residual: Floats,
    confidence: float,
    bootstrap: int,
    generator: np.random.Generator | None,
) -> tuple[Floats, Floats] | None:
    """Return the lower and upper ends of the free parameters; None where the points do not determine them."""
    spare = len(residual) - len(x)
    if spare < 1:
        return None
    if bootstrap and generator is not None:
        return _percentiles(
            problem, x, residual * np.sqrt(len(residual) / spare), confidence, bootstrap, generator
        )
    from scipy.special import stdtrit

    with np.errstate(all="ignore"):
        covariance = np.linalg.pinv(jacobian.T @ jacobian) * float((residual**2).sum()) / spare
        half = float(stdtrit(spare, (1 + confidence) / 2)) * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return x - half, x + half


def _percentiles(
    problem: _Problem,
    x: Floats,
    residual: Floats,
    confidence: float,
    times: int,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return percentiles of the parameters of curves fitted again, each to the first plus residuals sampled again."""
    fitted = problem.curve(x)
    draws = [problem.solved(fitted + generator.choice(residual, len(residual)))[0] for _ in range(times)]
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return low, high


_MAP: tuple[Callable[[float], float], ...] = (
    lambda v: float(np.exp(min(v, 700.0))),
    lambda v: min(max(v, 0.0), 1.0),
    lambda v: max(v, 0.0),
)


def _interval(i: int, value: float, ends: tuple[Floats, Floats] | None, x: Floats) -> Interval:
    if ends is None or i >= len(x):
        return Interval(value)
    low, high = (_MAP[i](float(end[i])) for end in ends)
    return Interval(value, low, high)


def curve_of(fits: Sequence[Fit]) -> Curve:
    """Return one `Curve` for a kind: medians of the serial shares and overheads of its fits.

    Parameters
    ----------
    fits : sequence of Fit
        Of ops of one kind.

    Returns
    -------
    Curve

    Raises
    ------
    CostError
        If there are no fits.

    Examples
    --------
    >>> from simsched.costs.fitting import Point, curve_of, fit_curve
    >>> fits = [fit_curve([Point(1, 8e-3), Point(2, 5e-3), Point(4, seconds)]) for seconds in (3.5e-3, 3.5e-3)]
    >>> round(curve_of(fits).serial_share, 3)
    0.25
    """
    if not fits:
        raise CostError("no fits, no curve")
    serial = float(np.median([fit.serial_share.value for fit in fits]))
    return Curve(serial, float(np.median([fit.thread_overhead.value for fit in fits])), family="fitted")
