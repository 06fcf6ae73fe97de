"""From measured seconds to cost curves: fits, interpolation, calibration files, hill climbing, curves from traces."""

from simsched.costs.fitting.calibration import CalibratedModel, Calibration
from simsched.costs.fitting.climbing import Climb, accuracy, climb_together, hill_climb, untried_errors
from simsched.costs.fitting.fingerprint import Fingerprint
from simsched.costs.fitting.interpolation import WidthCurve, dents
from simsched.costs.fitting.measured import MeasuredCurves
from simsched.costs.fitting.overheads import Overheads
from simsched.costs.fitting.pair import Pair
from simsched.costs.fitting.parametric import curve_of, fit_curve, fitted
from simsched.costs.fitting.points import Fit, Interval, MeasuredOp, Op, Point, measured_ops, points_frame
from simsched.costs.fitting.traces import TaskCurves, TraceCurves, curves_from_traces

__all__ = [
    "CalibratedModel",
    "Calibration",
    "Climb",
    "Fingerprint",
    "Fit",
    "Interval",
    "MeasuredCurves",
    "MeasuredOp",
    "Op",
    "Overheads",
    "Pair",
    "Point",
    "TaskCurves",
    "TraceCurves",
    "WidthCurve",
    "accuracy",
    "climb_together",
    "curve_of",
    "curves_from_traces",
    "dents",
    "fit_curve",
    "fitted",
    "hill_climb",
    "measured_ops",
    "points_frame",
    "untried_errors",
]
