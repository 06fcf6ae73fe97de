"""Co-running by candidate widths: a rule that both engines know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy.typing as npt

from simsched.policy.policy import Policy, Start

if TYPE_CHECKING:
    import numpy as np

    from simsched.policy.view import View


@dataclass(frozen=True, eq=False)
class CandidateRule(Policy):
    """Start what fits the idle cores and does not outlast the running tasks, fewest threads first.

    Of all offers of ready tasks that fit the idle cores and would finish no later than the last of the running tasks,
    the one with the fewest threads starts (ties: the lower task index). If there is none, the most time-consuming
    ready task that has a width that fits starts at the fastest of these; if there is none, cores idle until the next
    completion.

    Parameters
    ----------
    widths : int32 array, shape (n, candidates)
        Widths that each task offers, the fastest first.
    estimates_s : float64 array, shape (n, candidates)
        Estimated seconds of each task on each of them.
    most : int
        Most tasks at once.
    """

    widths: npt.NDArray[np.int32]
    estimates_s: npt.NDArray[np.float64]
    most: int

    @cached_property
    def _offers(self) -> list[list[tuple[int, float]]]:
        rows = zip(self.widths.tolist(), self.estimates_s.tolist(), strict=True)
        return [list(zip(widths, seconds, strict=True)) for widths, seconds in rows]

    def decide(self, view: View) -> Iterable[Start]:
        """Return the one task to start next, if any."""
        idle = len(view.idle_cores)
        if not idle or not view.ready or len(view.running) >= self.most:
            return ()
        offer = self._beside(view, idle) if view.running else None
        offer = offer or self._longest(view, idle)
        return (offer,) if offer else ()

    def _beside(self, view: View, idle: int) -> Start | None:
        """Return the start of the fewest threads that fits and does not outlast the running tasks."""
        last, now = max(running.finish_s for running in view.running), view.now_s
        offers = (
            (width, task)
            for task in view.ready
            for width, seconds in self._offers[task]
            if width <= idle and now + seconds <= last
        )
        width, task = min(offers, default=(0, -1))
        return Start(task, width) if width else None

    def _longest(self, view: View, idle: int) -> Start | None:
        """Return the start of the most time-consuming ready task that fits."""
        fitting = ((t, next((w for w, _ in self._offers[t] if w <= idle), 0)) for t in view.ready)
        longest = max(
            ((self._offers[task][0][1], -task, width) for task, width in fitting if width), default=None
        )
        return longest and Start(-longest[1], longest[2])
