"""`BackgroundSearch`: replays in the background, for a better answer than the one shown."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from simsched.schedule import Schedule


class _Stopped(Exception):  # noqa: N818 - nothing went wrong
    """The result of the search is no longer needed."""


class BackgroundSearch(Thread):
    """A thread that searches for a schedule.

    Parameters
    ----------
    find : callable
        Returns the schedule; takes a function to call periodically, as `progress` of `simsched.simulate`.
    found, failed : callable
        Called in this thread with the search and the schedule, or the error; not after `stop`, but for one that is
        just being called.
    """

    def __init__(
        self,
        find: Callable[[Callable[[int], object]], Schedule],
        found: Callable[[BackgroundSearch, Schedule], object],
        failed: Callable[[BackgroundSearch, Exception], object],
    ) -> None:
        super().__init__(name="simsched panel", daemon=True)
        self._find, self._found, self._failed = find, found, failed
        self._stopped = False

    def stop(self) -> None:
        """End it soon; its result is dropped."""
        self._stopped = True

    def run(self) -> None:
        """Search for the schedule, and hand it over."""
        try:
            schedule = self._find(self._go_on)
            self._go_on(0)
        except _Stopped:
            return
        except Exception as error:  # a user's own policy may raise anything
            self._failed(self, error)
        else:
            self._found(self, schedule)

    def _go_on(self, _: int) -> None:
        if self._stopped:
            raise _Stopped
