"""What a calibration is, in a few lines for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from simsched.units import format_time

if TYPE_CHECKING:
    from simsched.costs.fitting.calibration import Calibration


def summary(calibration: Calibration) -> dict[str, object]:
    """Return what was measured where and when, how well the curves fit, and what software and neighbours cost."""
    points = [point for one in calibration.ops for point in one.points]
    spreads = [point.spread for point in points if point.spread is not None]
    runs, dropped = sum(point.runs for point in points), sum(point.dropped for point in points)
    return {
        "host": str(calibration.host),
        **({"date": calibration.date} if calibration.date else {}),
        "ops": len(calibration.ops),
        "points": f"{len(points)} on {_widths([point.width for point in points])} threads",
        "measurements": f"{runs} that count, {dropped} dropped",
        **({"spread, median": f"{np.median(spreads):.1%}"} if spreads else {}),
        **_fits(calibration),
        **_overheads(calibration),
        **_pairs(calibration),
    }


def _widths(widths: list[int]) -> str:
    found = sorted(set(widths))
    return (
        ", ".join(map(str, found)) if len(found) <= 6 else f"{found[0]} to {found[-1]} ({len(found)} widths)"
    )


def _fits(calibration: Calibration) -> dict[str, object]:
    fits = [fit for one in calibration.ops for fit in one.fits]
    if not fits:
        return {}
    # A curve with as many parameters as points passes through them: that says nothing.
    sure = [fit for fit in fits if fit.intervals != "none"]
    explained = [fit.r2_log for fit in sure if fit.r2_log is not None]
    return {
        "curves": f"{len(fits)}, {len(sure)} of them with intervals",
        **({"r² of log seconds, median": f"{np.median(explained):.4f}"} if explained else {}),
        "largest residual": f"{max(fit.max_residual for fit in fits):.1%}",
    }


def _overheads(calibration: Calibration) -> dict[str, object]:
    known = {name: value for name, value in asdict(calibration.overheads).items() if value is not None}
    return {name.removesuffix("_s").replace("_", " "): format_time(value) for name, value in known.items()}


def _pairs(calibration: Calibration) -> dict[str, object]:
    slowdowns = [slowdown for pair in calibration.pairs for slowdown in pair.slowdowns]
    if not slowdowns:
        return {}
    return {"pairs": f"{len(calibration.pairs)}, slowdowns {min(slowdowns):.3g} to {max(slowdowns):.3g}"}
