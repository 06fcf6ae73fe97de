"""Explanation of a schedule: waits of tasks, the critical path through time, the use of the cores' time."""

from simsched.explain.explanation import Explanation, explain
from simsched.explain.task import TaskExplanation
from simsched.explain.waits import REASONS
from simsched.rooms import make_callable

__all__ = ["REASONS", "Explanation", "TaskExplanation", "explain"]

make_callable(__name__, explain)
