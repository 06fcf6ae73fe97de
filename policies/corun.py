"""Co-running: each task at its own width, beside others where cores idle (concurrency control, Sec. III-D).

The paper's strategies 1 and 3: every task has a fastest width, and whenever cores idle, ready tasks offer a few widths
near it. Strategies 2 and 4 (one width a kind, hardware threads) belong to a later step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError, SpecError
from simsched.policy import CandidateRule, Policy

if TYPE_CHECKING:
    from simsched.costs import TaskCosts
    from simsched.policy import Problem

#: Tasks whose candidates are worked out at a time: bounds the memory for a million tasks.
CHUNK = 1 << 14


@dataclass(frozen=True)
class CoRun(Policy):
    """Start what fits the idle cores and does not outlast the running tasks, fewest threads first.

    Every ready task offers its fastest widths; `CandidateRule` says which offer is taken. A layout `kxw` caps it: at
    most k tasks at once, at most w cores each.

    Parameters
    ----------
    candidates : int
        Widths that a task offers: its fastest ones.
    interval : int
        Step between the widths that are considered: 1, then multiples of it, as hill climbing tries them.

    Cost: one dispatch a task; O(ready tasks x candidates) a decision.
    """

    name = "corun"
    takes_layout = True

    candidates: int = 3
    interval: int = 2

    def __post_init__(self) -> None:
        for key in ("candidates", "interval"):
            if getattr(self, key) < 1:
                raise SpecError(f"corun[{key}={getattr(self, key)}]: the least is 1")

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with every task's candidate widths."""
        widest = problem.machine.n_threads
        most = widest
        if problem.layout is not None:
            if max(problem.layout.executors, problem.layout.width) > widest:
                raise LayoutError(
                    f"a cap of {problem.layout} is beyond the {widest} cores of {problem.machine}"
                )
            most, widest = problem.layout.executors, min(problem.layout.width, widest)
        widths, seconds = candidate_widths(problem.costs, widest, self.interval, self.candidates)
        return CandidateRule(widths, seconds, most)


def candidate_widths(
    costs: TaskCosts, widest: int, interval: int, candidates: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Return the fastest widths of each task and their seconds, fastest first, both of shape (n, candidates).

    Of equally fast widths the narrower stands first.
    """
    tried = np.unique(np.r_[1, np.arange(interval, widest + 1, interval), widest]).astype(np.int32)
    kept = min(candidates, len(tried))
    n = len(costs.one_core_s)
    widths, seconds = np.empty((n, kept), np.int32), np.empty((n, kept))
    for start in range(0, n, CHUNK):
        part = costs.part(slice(start, start + CHUNK))
        table = np.stack([part.seconds(int(w)) for w in tried], axis=1)
        fastest = np.argsort(table, axis=1, kind="stable")[:, :kept]
        widths[start : start + CHUNK] = tried[fastest]
        seconds[start : start + CHUNK] = np.take_along_axis(table, fastest, axis=1)
    return widths, seconds
