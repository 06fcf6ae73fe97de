"""Processes of this machine: for replays that hold Python's lock, and for those that may crash."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import IO, TYPE_CHECKING, Any

from simsched.sweep.replaying import Ended, Outcome, Replayer

if TYPE_CHECKING:
    from simsched.sweep.store import Store
    from simsched.sweep.sweep import Sweep


@dataclass
class _Worker:
    """One process, and its assigned points.

    Parameters
    ----------
    process : Process
    pipe : Connection
        Points there, outcomes back, one by one, so that the one that killed it is known.
    points : list of int
        Given and not returned; empty when idle.
    outcomes : list of dict
        Returned, of the same batch.
    """

    process: BaseProcess
    pipe: Connection
    points: list[int] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)


class Processes:
    """Batches replayed in processes, copies of this one, with its graphs and a notebook's own policies.

    Parameters
    ----------
    sweep : Sweep
    count : int
        Processes.
    store : Store
        Its lock is not theirs: a process that continues after this one's death need not wait for them.
    """

    #: Once more: another cause may have ended the process.
    tries = 2

    def __init__(self, sweep: Sweep, count: int, store: Store) -> None:
        self._replayer, self.slots, self._store = Replayer(sweep), count, store
        self._workers: list[_Worker] = []

    def submit(self, points: list[int]) -> None:
        """Begin a batch."""
        worker = next((worker for worker in self._workers if not worker.points), None) or self._started()
        worker.points = list(points)
        # `ended` notices one that died idle.
        with contextlib.suppress(OSError):
            worker.pipe.send(points)

    def _started(self) -> _Worker:
        here, there = multiprocessing.Pipe()
        others = [here, *(worker.pipe for worker in self._workers), self._store.lock]
        with warnings.catch_warnings():
            # A copy replays and does nothing else: other threads of this process do not concern it.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = multiprocessing.get_context("fork").Process(
                target=_serve, args=(self._replayer, there, others), daemon=True
            )
            process.start()
        there.close()
        self._workers.append(_Worker(process, here))
        return self._workers[-1]

    def ended(self) -> Iterator[Ended]:
        """Wait for one or more batches to end, and return them."""
        found: list[Ended] = []
        while not found:
            busy: dict[Any, _Worker] = {worker.pipe: worker for worker in self._workers if worker.points}
            for pipe in wait(list(busy)):
                found += self._heard(busy[pipe])
        yield from found

    def _heard(self, worker: _Worker) -> Iterator[Ended]:
        try:
            worker.outcomes.append(worker.pipe.recv())
            worker.points.pop(0)
        except (EOFError, OSError):
            yield self._buried(worker)
            return
        if not worker.points:
            outcomes, worker.outcomes = worker.outcomes, []
            yield Ended(outcomes)

    def _buried(self, worker: _Worker) -> Ended:
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join()
        code = worker.process.exitcode or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return Ended(worker.outcomes, back=worker.points[1:], lost=worker.points[:1], how=how)

    def close(self) -> None:
        """Stop what still runs."""
        for worker in self._workers:
            worker.pipe.close()
            worker.process.kill()
            worker.process.join()


def _serve(replayer: Replayer, pipe: Connection, others: list[Connection | IO[str]]) -> None:
    """Replay incoming points until nobody is left to send more."""
    # Only the parent process holds the other ends and the lock then, and its death is noticed.
    for other in others:
        other.close()
    # Its starter ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            for point in pipe.recv():
                pipe.send(replayer.outcome(point))
    except (EOFError, OSError):
        os._exit(0)
