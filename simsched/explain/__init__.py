"""Why a schedule is as it is: waits of tasks, the critical path through time, where the cores' time went."""

from simsched.explain.explanation import Explanation, explain
from simsched.explain.task import TaskExplanation
from simsched.explain.waits import REASONS
from simsched.rooms import make_callable

__all__ = ["REASONS", "Explanation", "TaskExplanation", "explain"]

make_callable(__name__, explain)
