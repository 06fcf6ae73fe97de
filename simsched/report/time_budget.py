"""`Patience`: how long a part of a report may take."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from simsched.errors import SimschedError

Progress = Callable[[int], object]


class Patience:
    """Progress of one part of a report, which ends once its time is over.

    Parameters
    ----------
    seconds : float
        Of CPU time from now on, which is the same beside other work, and on more cores.
    told : callable or None
        Is told the same.
    """

    def __init__(self, seconds: float, told: Progress | None) -> None:
        self._seconds, self._told = seconds, told
        self._until_s = process_time() + seconds

    def __call__(self, count: int) -> None:
        """Take note of progress.

        Raises
        ------
        SimschedError
            If the time is over.
        """
        if self._told is not None:
            self._told(count)
        if process_time() > self._until_s:
            raise SimschedError(
                f"its replays take more than {self._seconds:g} s of CPU time; patience_s (--patience) allows more"
            )
