"""`Patience`: how long a part of a report may take."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from simsched.errors import SimschedError

Progress = Callable[[int], object]


class Patience:
    """Progress of one part of a report, which ends once its time is over.

    Parameters
    ----------
    seconds : float
        On the clock, from now on.
    told : callable or None
        Is told the same.
    """

    def __init__(self, seconds: float, told: Progress | None) -> None:
        self._seconds, self._told = seconds, told
        self._until_s = monotonic() + seconds

    def __call__(self, count: int) -> None:
        """Take note of progress.

        Raises
        ------
        SimschedError
            If the time is over.
        """
        if self._told is not None:
            self._told(count)
        if monotonic() > self._until_s:
            raise SimschedError(
                f"its replays take longer than {self._seconds:g} s; patience_s (--patience) allows more"
            )
