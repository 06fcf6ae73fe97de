"""`Schedule`: columns, metrics, bounds, exports."""

from simsched.schedule.bounds import Bounds, bounds
from simsched.schedule.inputs import Inputs
from simsched.schedule.schedule import Schedule

__all__ = ["Bounds", "Inputs", "Schedule", "bounds"]
