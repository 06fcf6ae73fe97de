"""Cost curves and the roofline: seconds of a task on a team."""

from simsched.costs.curves import Curve, two_point_curve
from simsched.costs.model import CostModel
from simsched.costs.noise import LogNormal, Noise, Stragglers
from simsched.costs.task_costs import TaskCosts
from simsched.renamed import old_names

__all__ = ["CostModel", "Curve", "LogNormal", "Noise", "Stragglers", "TaskCosts", "two_point_curve"]

__getattr__ = old_names(__name__, {"curve_through": "two_point_curve"})
