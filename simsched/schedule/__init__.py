"""`Schedule`: columns, metrics, bounds, explanation, exports."""

from simsched.schedule.bounds import Bounds, bounds
from simsched.schedule.explanation import Explanation, TaskExplanation, explain
from simsched.schedule.inputs import Inputs
from simsched.schedule.schedule import Schedule

__all__ = ["Bounds", "Explanation", "Inputs", "Schedule", "TaskExplanation", "bounds", "explain"]
