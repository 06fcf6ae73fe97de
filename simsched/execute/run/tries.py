"""`Tries`: the runs of one case, those that were disturbed done again at once while patience lasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from simsched.execute.run.execution import MOST_STOLEN, Execution, MeasuredRun, too_few

#: Disturbed runs in a row after which a case is run once a turn only, until one is not.
HOPELESS = 20


@dataclass
class Tries:
    """The runs of one case, one a turn: the first that was not disturbed, else the one that lost least.

    On a host that others use, this is waiting for a quiet stretch: the first that is long enough for a run is taken.

    Parameters
    ----------
    most_stolen : float
        Runs with a larger stolen share are disturbed.
    patience : float
        Most seconds of all repeated runs, as a multiple of those of the first runs of all turns so far.
    runs : list of MeasuredRun
        One a turn.
    repeated : int
        Runs that were done again; they count for nothing.
    clock : callable
        Seconds.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.execute.run.execution import MeasuredRun
    >>> schedule = ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic[cores=1]", "fifo")
    >>> shares, seconds = iter([0.3, 0.2, 0.0, 0.1]), iter(range(10))
    >>> tries = Tries(0.01, patience=2.0, clock=lambda: float(next(seconds)))
    >>> once = lambda: MeasuredRun(schedule, next(shares), 0, 1e-7, (1.0,), (1.0,))
    >>> tries.take(once, once)
    >>> [run.stolen for run in tries.runs], tries.repeated
    ([0.0], 2)
    """

    most_stolen: float = MOST_STOLEN
    patience: float = 0.0
    runs: list[MeasuredRun] = field(default_factory=list)
    repeated: int = 0
    clock: Callable[[], float] = monotonic
    _first_s: float = 0.0
    _again_s: float = 0.0
    _in_a_row: int = 0

    def take(self, first: Callable[[], MeasuredRun], again: Callable[[], MeasuredRun]) -> None:
        """Run the case for one turn, and again while it is disturbed."""
        self._first_s += self._take(first, again, self._first_s)

    def take_further(self, first: Callable[[], MeasuredRun], again: Callable[[], MeasuredRun]) -> None:
        """Run the case for a turn beyond those that were asked for, at the expense of patience."""
        self._again_s += self._take(first, again, 0.0)

    @property
    def patient(self) -> bool:
        """Whether it may go on beyond the turns that were asked for."""
        return self._may_repeat(self._first_s)

    def lacks(self, precision: float) -> bool:
        """Return whether a further turn may make the median more certain than it is, and patience is left."""
        if not self.patient:
            return False
        execution = Execution(tuple(self.runs), self.most_stolen)
        return too_few(execution.undisturbed) or execution.uncertainty > precision

    def _take(
        self, first: Callable[[], MeasuredRun], again: Callable[[], MeasuredRun], before_s: float
    ) -> float:
        """Return the seconds of the first run."""
        began_s = self.clock()
        run = first()
        ended_s = self.clock()
        first_s = ended_s - began_s
        while self._disturbed(run) and self._may_repeat(max(before_s + first_s, self._first_s)):
            other = again()
            began_s, ended_s = ended_s, self.clock()
            self._again_s += ended_s - began_s
            self.repeated += 1
            run = min(run, other, key=lambda each: each.stolen)
        self.runs.append(run)
        return first_s

    def _disturbed(self, run: MeasuredRun) -> bool:
        disturbed = run.stolen > self.most_stolen
        self._in_a_row = self._in_a_row + 1 if disturbed else 0
        return disturbed

    def _may_repeat(self, first_s: float) -> bool:
        return self._in_a_row < HOPELESS and self._again_s < self.patience * first_s
