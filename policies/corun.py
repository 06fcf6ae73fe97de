"""Co-running: each task at its own width, beside others where cores idle (concurrency control, Sec. III-D).

The paper's strategies 1 and 3: every task has a fastest width, and whenever cores idle, ready tasks offer a few widths
near it. Strategies 2 and 4 (one width a kind, hardware threads) belong to a later step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import SpecError
from simsched.policy import Policy, Start

if TYPE_CHECKING:
    from simsched.costs import TaskCosts
    from simsched.policy import Problem, View

#: Tasks whose candidates are worked out at a time: bounds the memory for a million tasks.
CHUNK = 1 << 14


@dataclass(frozen=True)
class CoRun(Policy):
    """Start what fits the idle cores and does not outlast the running tasks, fewest threads first.

    When cores idle, every ready task offers its fastest widths. Of all offers that fit the idle cores and would finish
    no later than the last of the running tasks, the one with the fewest threads starts (ties: the lower task index).
    If there is none, the most time-consuming ready task starts, at the fastest of its widths that fits; if none of its
    widths fits, the next most time-consuming, and if nothing fits, cores idle until the next completion.

    A layout `kxw` caps it: at most k tasks at once, at most w cores each.

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
        widest = problem.machine.n_cores
        most = widest
        if problem.layout is not None:
            most, widest = problem.layout.executors, min(problem.layout.width, widest)
        widths, seconds = candidate_widths(problem.costs, widest, self.interval, self.candidates)
        return _Prepared(self.candidates, self.interval, most, widths.tolist(), seconds.tolist())


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


@dataclass(frozen=True)
class _Prepared(CoRun):
    """`CoRun` with the candidates of one graph."""

    most: int = 0
    widths: list[list[int]] = field(default_factory=list, repr=False)
    seconds: list[list[float]] = field(default_factory=list, repr=False)

    def decide(self, view: View) -> Iterable[Start]:
        """Return the one task to start next, if any."""
        idle = len(view.idle_cores)
        if not idle or not view.ready or len(view.running) >= self.most:
            return ()
        offer = self._beside(view, idle) if view.running else None
        offer = offer or self._longest(view, idle)
        return (Start(offer[0], offer[1]),) if offer else ()

    def _beside(self, view: View, idle: int) -> tuple[int, int] | None:
        """Return (task, width) of the fewest threads that fits and does not outlast the running tasks."""
        last, now = max(running.finish_s for running in view.running), view.now_s
        offers = (
            (width, task)
            for task in view.ready
            for width, seconds in zip(self.widths[task], self.seconds[task], strict=True)
            if width <= idle and now + seconds <= last
        )
        width, task = min(offers, default=(0, -1))
        return (task, width) if width else None

    def _longest(self, view: View, idle: int) -> tuple[int, int] | None:
        """Return (task, width) of the most time-consuming ready task that fits."""
        offers = ((self.seconds[task][0], task) for task in view.ready if min(self.widths[task]) <= idle)
        _, task = max(offers, key=lambda offer: (offer[0], -offer[1]), default=(0.0, -1))
        if task < 0:
            return None
        return task, next(width for width in self.widths[task] if width <= idle)
