"""A calibration as text and as plain values: what it is, its points, its curves with their intervals, its pairs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simsched.costs.fitting.points import points_frame
from simsched.document.tables import table_text
from simsched.units import format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from simsched.costs.fitting.calibration import Calibration
    from simsched.costs.fitting.points import Interval, MeasuredOp


def report(calibration: Calibration, width: int | None = None) -> str:
    """Return the summary, and tables of points, curves and pairs where there are some, on lines of `width` cells."""
    facts = calibration.summary()
    longest = max(map(len, facts))
    parts = ["\n".join(f"{name:<{longest}}  {value}" for name, value in facts.items())]
    parts.append(table_text(_points(calibration), width))
    if any(one.fits for one in calibration.ops):
        parts.append(table_text(_curves(calibration), width))
    if calibration.pairs:
        parts.append(table_text(calibration.pairs_frame(), width))
    return "\n\n".join(parts)


def report_facts(calibration: Calibration) -> dict[str, Any]:
    """Return the same as plain values: what was measured where, the software's costs, points and pairs."""
    points, pairs = points_frame(calibration.ops), calibration.pairs_frame()
    return {
        "machine": calibration.machine,
        "date": calibration.date,
        "method": calibration.method,
        "overheads": asdict(calibration.overheads),
        "points": points.rename(columns={"seconds": "seconds_s"}).to_dict("records"),
        "pairs": pairs.to_dict("records"),
    }


def _points(calibration: Calibration) -> pd.DataFrame:
    frame = points_frame(calibration.ops).drop(columns=["flops", "bytes_B"])
    return frame.rename(columns={"seconds": "seconds_s"})


def _curves(calibration: Calibration) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([row for one in calibration.ops for row in _rows(one)])


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
