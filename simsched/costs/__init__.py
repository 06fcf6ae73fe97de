"""Cost curves and the roofline: seconds of a task on a team."""

from simsched.costs.curves import Curve
from simsched.costs.model import CostModel
from simsched.costs.noise import LogNormal, Noise, Stragglers
from simsched.costs.task_costs import TaskCosts
from simsched.costs.two_point_curve import curve_through

__all__ = ["CostModel", "Curve", "LogNormal", "Noise", "Stragglers", "TaskCosts", "curve_through"]
