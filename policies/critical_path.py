"""Critical path first: the central scheduler of Graphi (Sec. 4-6, Alg. 1-2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simsched.policy import RankPolicy

if TYPE_CHECKING:
    import numpy.typing as npt

    from simsched.policy import Problem


@dataclass(frozen=True)
class CriticalPath(RankPolicy):
    """The ready task of the highest level first, on the lowest-numbered idle executor.

    The level is the longest accumulated estimate from the task to a sink, the task included, on the executors' width.
    Symmetric pinned executors, one central scheduler. Cost: one dispatch a task; O(log n) a decision.
    """

    name = "critical-path"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the negative level."""
        return -problem.levels
