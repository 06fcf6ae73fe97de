"""From measured seconds to cost curves: fits, interpolation, calibration files, hill climbing, curves from traces."""

from simsched.costs.fitting.calibration import CalibratedModel, Calibration, Overheads, Pair, fitted
from simsched.costs.fitting.fingerprint import Fingerprint
from simsched.costs.fitting.interpolation import WidthCurve, dents
from simsched.costs.fitting.measured import MeasuredCurves
from simsched.costs.fitting.parametric import curve_of, fit_curve
from simsched.costs.fitting.points import Fit, Interval, MeasuredOp, Op, Point, measured_ops, points_frame

__all__ = [
    "CalibratedModel",
    "Calibration",
    "Fingerprint",
    "Fit",
    "Interval",
    "MeasuredCurves",
    "MeasuredOp",
    "Op",
    "Overheads",
    "Pair",
    "Point",
    "WidthCurve",
    "curve_of",
    "dents",
    "fit_curve",
    "fitted",
    "measured_ops",
    "points_frame",
]
