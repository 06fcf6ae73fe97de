"""`Schedule`: columns, metrics, bounds, exports, memory."""

from simsched.schedule.bounds import Bounds, bounds
from simsched.schedule.inputs import Inputs
from simsched.schedule.memory import MemoryUse
from simsched.schedule.schedule import Schedule

__all__ = ["Bounds", "Inputs", "MemoryUse", "Schedule", "bounds"]
