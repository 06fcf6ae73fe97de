"""Threads over the compiled engine, which releases Python's lock."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from simsched.sweep.replaying import Ended, Outcome, Replayer

if TYPE_CHECKING:
    from simsched.sweep.store import Store
    from simsched.sweep.sweep import Sweep


class Threads:
    """Batches replayed in threads of this process.

    Parameters
    ----------
    sweep : Sweep
    count : int
        Threads.
    store : Store
        Records started points: a replay that kills a thread kills this process.
    """

    #: Nothing is lost as long as this process lives.
    tries = 1

    def __init__(self, sweep: Sweep, count: int, store: Store) -> None:
        self._replayer, self._store = Replayer(sweep), store
        self._pool = ThreadPoolExecutor(count)
        self._running: dict[Future[list[Outcome]], list[int]] = {}
        # One more than there are threads, so that none waits for this one.
        self.slots = count + 1

    def submit(self, points: list[int]) -> None:
        """Begin a batch."""
        self._store.began(points)
        self._running[self._pool.submit(self._replay, points)] = points

    def _replay(self, points: list[int]) -> list[Outcome]:
        return [self._replayer.outcome(point) for point in points]

    def ended(self) -> Iterator[Ended]:
        """Wait for one or more batches to end, and return them."""
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        for future in done:
            self._store.ended(self._running.pop(future))
            yield Ended(future.result())

    def close(self) -> None:
        """Stop what still runs."""
        self._pool.shutdown(cancel_futures=True)
