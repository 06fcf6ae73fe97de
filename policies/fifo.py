"""All executors poll one shared queue of ready tasks: the naive scheduler of Graphi's Sec. 7 and of most frameworks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simsched.errors import SpecError
from simsched.policy import RankPolicy

if TYPE_CHECKING:
    import numpy.typing as npt

    from simsched.policy import Problem
    from simsched.policy.policy import Discipline

ORDERS = ("fifo", "lifo", "random")


@dataclass(frozen=True)
class Fifo(RankPolicy):
    """First come, first served from a shared queue; the lowest-numbered idle executor pops.

    Cost: a pop, under a lock that every idle executor polls; O(log n) a decision.

    Parameters
    ----------
    order : {"fifo", "lifo", "random"}
        Which ready task a pop takes; tasks ready at one instant stand in index order. Random ranks are drawn per
        task before the replay: Graphi's naive engine may pick any ready op.
    """

    name = "fifo"
    queue = "shared"

    order: str = "fifo"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in ORDERS:
            raise SpecError(f"fifo[order={self.order}]: expected one of {', '.join(ORDERS)}")

    @property
    def discipline(self) -> Discipline:
        """First or last come, or the random rank."""
        if self.order == "random":
            return "rank"
        return "lifo" if self.order == "lifo" else "fifo"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the random rank of each task."""
        return problem.generator().random(problem.graph.n_tasks)
