"""Measured ops: their seconds by width and by how a team shares tiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Literal, get_args

import pandas as pd

from simsched.errors import CostError
from simsched.multimap import multimap

#: "shared": two threads of a tile share its L2, and tiles are filled in sequence; "apart": one thread per tile.
Sharing = Literal["shared", "apart"]
#: Methods of finding intervals.
How = Literal["covariance", "bootstrap", "none"]
SHARINGS: tuple[Sharing, ...] = get_args(Sharing)

#: Schema of files: unknown keys and values of other types are errors. Read by `calibration_file`.
STRICT = {"extra": "forbid", "strict": True, "allow_inf_nan": False}


#: Most threads of a team, and most runs: the range of 32-bit counts.
MOST = 2**31 - 1


class _ImpossibleError(CostError, ValueError):
    """An impossible value; where it comes from a file, pydantic, which catches ValueError alone, adds its place."""


@dataclass(frozen=True)
class Op:
    """An op: tasks of one kind and shape, which share a cost curve.

    Parameters
    ----------
    kind : str
        Kind of the tasks, as the graph spells it.
    shape : str
        Shapes of their inputs as text (`64x512;512x512`); "" where unknown.
    flops, bytes_B : float or None
        Operations, and bytes read and written; None where unknown.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.fitting import Op
    >>> str(Op("MatMul", "64x512;512x512", flops=2 * 64 * 512 * 512))
    'MatMul(64x512;512x512)'
    """

    __pydantic_config__ = STRICT

    kind: str
    shape: str = ""
    flops: float | None = None
    bytes_B: float | None = None

    def __post_init__(self) -> None:
        for name in ("flops", "bytes_B"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < inf:
                raise _ImpossibleError(
                    f"{name} of {self} is {value}; it must be zero or more, finite, or None"
                )

    def __str__(self) -> str:
        return f"{self.kind or 'op'}({self.shape})"


@dataclass(frozen=True)
class Point:
    """Seconds of an op on teams of one width.

    Parameters
    ----------
    width : int
        Threads of the team.
    seconds : float
        Median over the runs; above zero.
    sharing : {"shared", "apart"}
        The team's sharing of tiles; "apart" on one thread, and on machines without tiles.
    spread : float or None
        Half the interquartile range of the runs over their median; None where unknown.
    runs : int
        Runs that counted.
    dropped : int
        Runs that did not, as other programs took more than a hundredth of their time.

    Examples
    --------
    >>> from simsched.costs.fitting import Point
    >>> Point(width=4, seconds=2e-3, spread=0.02, runs=10).seconds
    0.002
    """

    __pydantic_config__ = STRICT

    width: int
    seconds: float
    sharing: Sharing = "apart"
    spread: float | None = None
    runs: int = 1
    dropped: int = 0

    def __post_init__(self) -> None:
        if not (1 <= self.width <= MOST and self.width % 1 == 0):
            raise _ImpossibleError(
                f"a point has width {self.width}; expected a whole number from 1 to {MOST}"
            )
        if not 0 < self.seconds < inf:
            raise _ImpossibleError(
                f"a point on {self.width} threads has {self.seconds} seconds; expected above zero, finite"
            )
        if self.sharing not in SHARINGS:
            raise _ImpossibleError(f"sharing {self.sharing!r} is none of {', '.join(SHARINGS)}")
        if self.spread is not None and not (self.spread >= 0 and isfinite(self.spread)):
            raise _ImpossibleError(f"spread is {self.spread}; it must be zero or more, finite, or None")
        if not (1 <= self.runs <= MOST and 0 <= self.dropped <= MOST):
            raise _ImpossibleError(
                f"{self.runs} runs, {self.dropped} dropped; expected from 1 and 0 to {MOST}"
            )


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval.

    Parameters
    ----------
    value : float
    low, high : float or None
        Ends of the interval; None where there are too few points.

    Examples
    --------
    >>> from simsched.costs.fitting import Interval
    >>> share = Interval(0.1, low=0.08, high=0.13)
    >>> share.low <= share.value <= share.high
    True
    """

    __pydantic_config__ = STRICT

    value: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise _ImpossibleError(
                f"interval of {self.value} has one end, {self.low} to {self.high}; give both or none"
            )
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise _ImpossibleError(
                f"interval of {self.value} goes from {self.low} to {self.high}; swap the ends"
            )


@dataclass(frozen=True)
class Fit:
    """A cost curve fitted to the points of one op; see `simsched.costs.fitting.parametric`.

    Parameters
    ----------
    sharing : {"shared", "apart"}
        The sharing of the fitted points.
    one_core_s, serial_share, thread_overhead : Interval
        t1, s and a of docs/costs.md.
    confidence : float
        Of the intervals, as 0.95.
    intervals : {"covariance", "bootstrap", "none"}
        How they were found.
    r2_log : float or None
        Share of the variance of the log seconds that the curve explains; None where they have none.
    max_residual : float
        Largest `|predicted - measured| / measured`.
    points : int
        Points fitted.

    Examples
    --------
    >>> from simsched.costs.fitting import Point, fit_curve
    >>> fit = fit_curve([Point(1, 8e-3), Point(2, 5e-3), Point(4, 3.5e-3)])
    >>> round(fit.one_core_s.value, 6), round(fit.serial_share.value, 3), fit.points
    (0.008, 0.25, 3)
    """

    __pydantic_config__ = STRICT

    sharing: Sharing
    one_core_s: Interval
    serial_share: Interval
    thread_overhead: Interval
    confidence: float
    intervals: How
    r2_log: float | None
    max_residual: float
    points: int

    def __post_init__(self) -> None:
        t1, s, a = (each.value for each in (self.one_core_s, self.serial_share, self.thread_overhead))
        if not (0 < t1 < inf and 0 <= s <= 1 and 0 <= a < inf):
            raise _ImpossibleError(
                f"a fit has one_core_s {t1}, serial_share {s}, thread_overhead {a}; expected above zero, "
                "a share from 0 to 1, and zero or more; all finite"
            )
        if not 0 < self.confidence < 1 or self.points < 1 or not 0 <= self.max_residual < inf:
            raise _ImpossibleError(
                f"a fit has confidence {self.confidence}, {self.points} points, max_residual {self.max_residual}; "
                "expected between 0 and 1, at least 1, and zero or more"
            )


@dataclass(frozen=True)
class MeasuredOp:
    """An op and its measurements.

    Parameters
    ----------
    op : Op
    points : tuple of Point
        At most one per width and sharing.
    fits : tuple of Fit
        Curves fitted to them; at most one a sharing.

    Examples
    --------
    >>> from simsched.costs.fitting import MeasuredOp, Op, Point
    >>> measured = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
    >>> measured.sharings, [point.seconds for point in measured.of("apart")]
    (('apart',), [4e-06, 3e-06])
    """

    __pydantic_config__ = STRICT

    op: Op
    points: tuple[Point, ...]
    fits: tuple[Fit, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.points:
            raise _ImpossibleError(f"{self.op} has no points")
        _once([(point.width, point.sharing) for point in self.points], f"{self.op} has two points of")
        _once([fit.sharing for fit in self.fits], f"{self.op} has two fits of")

    @property
    def sharings(self) -> tuple[Sharing, ...]:
        """How teams of more than one thread shared tiles; without such teams, how single threads did."""
        wide = {point.sharing for point in self.points if point.width > 1}
        return tuple(s for s in SHARINGS if s in (wide or {point.sharing for point in self.points}))

    def of(self, sharing: Sharing) -> tuple[Point, ...]:
        """Return the points of one sharing by width, and that of one thread, which shares nothing with itself."""
        alone = {point.width: point for point in self.points if point.width == 1}
        chosen = alone | {point.width: point for point in self.points if point.sharing == sharing}
        return tuple(chosen[width] for width in sorted(chosen))


def measured_ops(rows: Iterable[tuple[Op, Point]]) -> tuple[MeasuredOp, ...]:
    """Return the ops of a table of points, each with its own, in order of first appearance.

    Parameters
    ----------
    rows : iterable of (Op, Point)
        Ops of one kind and shape are one op.

    Returns
    -------
    tuple of MeasuredOp

    Examples
    --------
    >>> from simsched.costs.fitting import Op, Point, measured_ops
    >>> product, add = Op("MatMul", "8x8;8x8"), Op("Add", "8x8;8x8")
    >>> rows = [(product, Point(1, 4e-6)), (add, Point(1, 1e-6)), (product, Point(2, 3e-6))]
    >>> [(str(one.op), len(one.points)) for one in measured_ops(rows)]
    [('MatMul(8x8;8x8)', 2), ('Add(8x8;8x8)', 1)]
    """
    found = multimap(((op.kind, op.shape), (op, point)) for op, point in rows)
    return tuple(MeasuredOp(each[0][0], tuple(point for _, point in each)) for each in found.values())


def points_frame(ops: Sequence[MeasuredOp]) -> pd.DataFrame:
    """Return one row per point: kind, shape, flops, bytes_B, width, sharing, seconds, spread, runs, dropped.

    Parameters
    ----------
    ops : sequence of MeasuredOp

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> from simsched.costs.fitting import MeasuredOp, Op, Point, points_frame
    >>> ops = [MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))]
    >>> points_frame(ops)[["kind", "width", "seconds"]].values.tolist()
    [['MatMul', 1, 4e-06], ['MatMul', 2, 3e-06]]
    """
    names = ("width", "sharing", "seconds", "spread", "runs", "dropped")
    rows: list[Mapping[str, object]] = [
        {
            **{name: getattr(one.op, name) for name in ("kind", "shape", "flops", "bytes_B")},
            **{name: getattr(point, name) for name in names},
        }
        for one in ops
        for point in one.points
    ]
    return pd.DataFrame(rows, columns=["kind", "shape", "flops", "bytes_B", *names])


def fits_frame(ops: Sequence[MeasuredOp]) -> pd.DataFrame:
    """Return one row a fitted curve: kind, shape, sharing, the parameters, their ends, and how well it fits."""
    rows = []
    for one in ops:
        for fit in one.fits:
            row: dict[str, object] = {"kind": one.op.kind, "shape": one.op.shape, "sharing": fit.sharing}
            for name in ("one_core_s", "serial_share", "thread_overhead"):
                found = getattr(fit, name)
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
            rows.append(row | {"r2_log": fit.r2_log, "max_residual": fit.max_residual, "points": fit.points})
    return pd.DataFrame(rows)


def _once(keys: Sequence[object], said: str) -> None:
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            raise _ImpossibleError(f"{said} {key}; merge them first")
        seen.add(key)
