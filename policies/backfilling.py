"""Backfilling: rigid jobs first come, first served, with others in the gaps, as batch systems do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError, SpecError
from simsched.policy import Policy, Problem, Start, View

MODES = ("easy", "conservative", "none")


@dataclass(frozen=True)
class Backfilling(Policy):
    """Ready tasks in the order in which they became ready, each on the width that it was recorded on.

    Where the first does not fit, others may pass it: with `easy`, if they delay the first in the queue by nothing, as
    far as estimates tell; with `conservative`, if they delay none before them; with `none`, nobody passes. Tasks that
    are not ready yet are unknown, as jobs of a batch system are before they are submitted. Cost: O(ready tasks) per
    decision, conservative O(ready tasks x running tasks).

    Parameters
    ----------
    mode : {"easy", "conservative", "none"}

    References
    ----------
    Lifka, The ANL/IBM SP scheduling system, JSSPP 1995 (EASY). Mu'alem and Feitelson, Utilization, predictability,
    workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling, IEEE TPDS 12(6), 2001.

    Examples
    --------
    Three cores: 1 does not fit beside 0; 2 ends before 0 does, and passes it; 3 would still run then:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([4.0, 2.0, 3.0, 5.0], widths=[2, 3, 1, 1])
    >>> for mode in ("none", "easy"):
    ...     print(ss.simulate(graph, "generic[cores=3]", f"backfilling[mode={mode}]").start_s.tolist())
    [0.0, 4.0, 6.0, 6.0]
    [0.0, 4.0, 0.0, 6.0]
    """

    name = "backfilling"
    family = "batch"

    mode: str = "easy"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise SpecError(f"backfilling[mode={self.mode}]: expected one of {', '.join(MODES)}")

    def team_widths(self, problem: Problem, width: int) -> npt.NDArray[np.int64]:
        """Return the recorded widths."""
        return problem.graph.widths.astype(np.int64)

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with the width and the estimate of every task.

        Raises
        ------
        LayoutError
            If a task is wider than the machine.
        """
        widths, most = self.team_widths(problem, 1), problem.machine.n_threads
        if (widths > most).any():
            task = int(widths.argmax())
            raise LayoutError(
                f"{self}: task {task} was recorded on {widths[task]} threads; {problem.machine} has {most}"
            )
        return _Backfilled(self.mode, widths.tolist(), problem.costs.seconds(widths).tolist())


@dataclass(frozen=True, eq=False)
class _Backfilled(Policy):
    name = Backfilling.name

    mode: str
    widths: list[int]
    seconds: list[float]
    waiting: list[int] = field(default_factory=list)  # in order of becoming ready

    def decide(self, view: View) -> Iterable[Start]:
        """Return the tasks that start now."""
        self.waiting.extend(view.newly_ready)
        gaps = _Gaps(view)
        found = list(self._conservative(gaps) if self.mode == "conservative" else self._easy(gaps))
        started = set(found)
        self.waiting[:] = [task for task in self.waiting if task not in started]
        return [Start(task, self.widths[task]) for task in found]

    def _easy(self, gaps: _Gaps) -> Iterator[int]:
        first = None  # the first that has to wait
        for task in self.waiting:
            width, seconds = self.widths[task], self.seconds[task]
            now = gaps.fits_now(width, seconds)
            if now:
                yield task
            elif self.mode == "none":
                return
            if now or first is None:
                gaps.take(gaps.start(width, seconds), width, seconds)
                first = first if now else task

    def _conservative(self, gaps: _Gaps) -> Iterator[int]:
        for task in self.waiting:
            width, seconds = self.widths[task], self.seconds[task]
            if gaps.fits_now(width, seconds):
                yield task
            gaps.take(gaps.start(width, seconds), width, seconds)


class _Gaps:
    """Idle cores over time, as far as estimates tell: `free[i]` from `times[i]` until the next time."""

    def __init__(self, view: View) -> None:
        self.now_s, self.idle = view.now_s, len(view.idle_cores)
        ends = sorted((max(one.finish_s, view.now_s), len(one.cores)) for one in view.running)
        self.times, self.free = [view.now_s], [len(view.idle_cores)]
        for end_s, width in ends:
            # What should have ended by now ends later, nobody knows when: next.
            self.times.append(np.nextafter(end_s, np.inf) if end_s == view.now_s else end_s)
            self.free.append(self.free[-1] + width)

    def start(self, width: int, seconds: float) -> float:
        """Return the earliest time from which so many cores are idle for so long."""
        begin = 0
        for place, free in enumerate(self.free):
            if self.times[place] >= self.times[begin] + seconds and place > begin:
                break
            if free < width:
                begin = place + 1
        return self.times[begin]

    def fits_now(self, width: int, seconds: float) -> bool:
        """Return whether so many cores are idle from now on for so long; what takes no time needs them, too."""
        return width <= self.idle and self.start(width, seconds) == self.now_s

    def take(self, at_s: float, width: int, seconds: float) -> None:
        """Take cores from a time on."""
        if at_s == self.now_s:
            self.idle -= width
        # What takes no time needs its cores for a moment.
        until_s = max(at_s + seconds, float(np.nextafter(at_s, np.inf)))
        for moment_s in (at_s, until_s):
            if moment_s not in self.times:
                place = int(np.searchsorted(self.times, moment_s))
                self.times.insert(place, moment_s)
                self.free.insert(place, self.free[place - 1])
        for place, moment_s in enumerate(self.times):
            if at_s <= moment_s < until_s:
                self.free[place] -= width
