"""`TimeBudget`: how long a part of a report may take."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from simsched.errors import SimschedError
from simsched.progress import check_progress

Progress = Callable[[int], object]


class TimeBudget:
    """Progress of one part of a report, which ends once its time budget is spent.

    Parameters
    ----------
    seconds : float
        Of CPU time from now on, which does not depend on other work, nor on the number of cores.
    progress : callable or None
        Called with the same counts.
    """

    def __init__(self, seconds: float, progress: Progress | None) -> None:
        self._seconds, self._report = seconds, check_progress(progress)
        self._until_s = process_time() + seconds

    def __call__(self, count: int) -> None:
        """Report progress.

        Raises
        ------
        SimschedError
            If the time is over.
        """
        self._report(count)
        if process_time() > self._until_s:
            raise SimschedError(
                f"its replays take more than {self._seconds:g} s of CPU time; patience_s (--patience) allows more"
            )
