"""A calibration as a summary, as text and as plain values: host, points, curves and pairs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from simsched.costs.fitting.points import Interval, MeasuredOp, points_frame
from simsched.document.parts import Facts, Part
from simsched.document.result import table_of
from simsched.units import format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from simsched.costs.fitting.calibration import Calibration


def summary(calibration: Calibration) -> dict[str, object]:
    """Return what was measured where and when, how well the curves fit, and what software and neighbours cost."""
    points = [point for one in calibration.ops for point in one.points]
    spreads = [point.spread for point in points if point.spread is not None]
    runs, dropped = sum(point.runs for point in points), sum(point.dropped for point in points)
    known = {name: value for name, value in asdict(calibration.overheads).items() if value is not None}
    return {
        "host": str(calibration.host),
        **({"date": calibration.date} if calibration.date else {}),
        "ops": len(calibration.ops),
        "points": f"{len(points)} on {_widths([point.width for point in points])} threads",
        "measurements": f"{runs} that count, {dropped} dropped",
        **({"spread, median": f"{np.median(spreads):.1%}"} if spreads else {}),
        **_fits(calibration),
        **{name.removesuffix("_s").replace("_", " "): format_time(value) for name, value in known.items()},
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
    # A curve with as many parameters as points passes through them, which shows nothing.
    sure = [fit for fit in fits if fit.intervals != "none"]
    explained = [fit.r2_log for fit in sure if fit.r2_log is not None]
    return {
        "curves": f"{len(fits)}, {len(sure)} of them with intervals",
        **({"r² of log seconds, median": f"{np.median(explained):.4f}"} if explained else {}),
        "largest residual": f"{max(fit.max_residual for fit in fits):.1%}",
    }


def _pairs(calibration: Calibration) -> dict[str, object]:
    slowdowns = [slowdown for pair in calibration.pairs for slowdown in pair.slowdowns]
    if not slowdowns:
        return {}
    return {"pairs": f"{len(calibration.pairs)}, slowdowns {min(slowdowns):.3g} to {max(slowdowns):.3g}"}


def report(calibration: Calibration) -> list[Part]:
    """Return the summary, and tables of points, curves and pairs where there are some."""
    frame = points_frame(calibration.ops).drop(columns=["flops", "bytes_B"])
    parts: list[Part] = [
        Facts("", calibration.summary()),
        table_of(frame.rename(columns={"seconds": "seconds_s"})),
    ]
    if any(one.fits for one in calibration.ops):
        parts.append(table_of(pd.DataFrame([row for one in calibration.ops for row in _rows(one)])))
    if calibration.pairs:
        parts.append(table_of(calibration.pairs_frame()))
    return parts


def report_facts(calibration: Calibration) -> dict[str, Any]:
    """Return the same as plain values: place of the measurement, the software's costs, points and pairs."""
    points, pairs = points_frame(calibration.ops), calibration.pairs_frame()
    return {
        "machine": calibration.machine,
        "date": calibration.date,
        "method": calibration.method,
        "overheads": asdict(calibration.overheads),
        "points": points.rename(columns={"seconds": "seconds_s"}).to_dict("records"),
        "pairs": pairs.to_dict("records"),
    }


def _rows(one: MeasuredOp) -> list[dict[str, object]]:
    return [
        {
            "kind": one.op.kind,
            "shape": one.op.shape,
            "sharing": fit.sharing,
            "one core": _said(fit.one_core_s, format_time),
            "serial share": _said(fit.serial_share, "{:.3g}".format),
            "thread overhead": _said(fit.thread_overhead, "{:.3g}".format),
            "r2 log": "" if fit.r2_log is None else f"{fit.r2_log:.4f}",
            "largest residual": f"{fit.max_residual:.1%}",
        }
        for fit in one.fits
    ]


def _said(found: Interval, text: Callable[[float], str]) -> str:
    if found.low is None or found.high is None:
        return text(found.value)
    return f"{text(found.value)} ({text(found.low)} to {text(found.high)})"
