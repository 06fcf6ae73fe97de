"""Why a schedule is as it is: waits of tasks, the critical path through time, where the cores' time went."""

from simsched.schedule.explanation.explanation import Explanation, explain
from simsched.schedule.explanation.task import TaskExplanation
from simsched.schedule.explanation.waits import REASONS

__all__ = ["REASONS", "Explanation", "TaskExplanation", "explain"]
