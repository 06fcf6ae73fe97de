"""Cost curves through what is known of an op: its best width, its seconds there, and those on a wider team."""

from __future__ import annotations

from math import sqrt

from simsched.costs.curves import REFERENCE_S, Curve
from simsched.errors import CostError
from simsched.machine import RuntimeProfile


def curve_through(
    best: int,
    best_s: float,
    widest: int,
    slower: float,
    runtime: RuntimeProfile | None = None,
) -> tuple[float, Curve]:
    """Return the one-core seconds and the curve of an op that is fastest on `best` threads.

    The three terms of a cost curve (serial part, parallel part, overhead a thread) follow from three facts: its seconds
    at the best width, that it is flat there, and its seconds at the widest. Where the widest is the best, being flat
    there is an assumption (it might gain from more), and the serial part is taken to be nothing; so it is where
    `slower` would take it below nothing, and then the curve does not meet `slower`.

    Parameters
    ----------
    best : int
        Width on which the op is fastest; at least 2.
    best_s : float
        Its seconds there.
    widest : int
        A width at least as large, usually all cores.
    slower : float
        How much slower it is there, over `best_s`; 0 where the widest is the best.
    runtime : RuntimeProfile, optional
        What part of the seconds is forking, joining and the barrier; none when not given.

    Returns
    -------
    float, Curve
        Seconds on one core, and the curve that gives those on more.

    Raises
    ------
    CostError
        If no curve goes through these numbers.

    Examples
    --------
    >>> one_core_s, curve = curve_through(best=42, best_s=11.1e-3, widest=68, slower=0.102)
    >>> round(one_core_s, 3), round(curve.serial_share, 3)
    (0.203, 0.008)
    """
    said = f"fastest on {best} threads in {best_s:g} s, {slower:g} slower on {widest}"
    if not 2 <= best <= widest or not best_s > 0 or not slower >= 0:
        raise CostError(f"{said}: expected 2 <= best <= widest, seconds above 0 and a gain of 0 or more")
    if (slower == 0) != (best == widest):
        raise CostError(f"{said}: the best width, and only it, is 0 slower than itself")
    runtime = runtime or RuntimeProfile()
    region_s, per_thread_s = runtime.region_s, runtime.region_per_thread_s
    # c = S + P / w + A (w - 1) + F + f w is flat at w = best, so P = best^2 (A + f); `slope_s` is A + f.
    slope_s = slower * best_s * widest / max(widest - best, 1) ** 2
    serial_s = best_s - region_s - 2 * best * slope_s + slope_s - per_thread_s
    if best == widest or serial_s < 0:
        slope_s = (best_s - region_s - per_thread_s) / (2 * best - 1)
        serial_s = 0.0
    overhead_s, one_core_s = slope_s - per_thread_s, serial_s + best**2 * slope_s
    if overhead_s < 0 or one_core_s <= 0:
        raise CostError(f"{said}: no cost curve does that with a fork and join of {region_s:g} s")
    return one_core_s, Curve(serial_s / one_core_s, overhead_s / sqrt(REFERENCE_S * one_core_s))
