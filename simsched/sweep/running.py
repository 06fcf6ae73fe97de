"""Running a sweep: batches out, rows in, whichever runner replays them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from simsched.errors import SweepError
from simsched.native import core
from simsched.policy import Policy
from simsched.progress import check_progress
from simsched.sweep.replaying import Ended, Outcome, Replayer
from simsched.sweep.store import Store, opened
from simsched.system import usable_cpus

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from distributed import Client

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


#: Seconds that a batch should take.
TARGET_S = 0.2
#: Most points of a batch; of those that take no time at all.
MOST = 1000


class _Batches:
    """Points to do, handed out in order; the time per point is learned from finished ones.

    Parameters
    ----------
    points : sequence of int
    takers : int
        Number of concurrent takers of batches.
    """

    def __init__(self, points: Sequence[int], takers: int) -> None:
        self._left, self._takers = list(reversed(points)), takers
        self._mean_s = TARGET_S

    def __bool__(self) -> bool:
        return bool(self._left)

    def take(self) -> list[int]:
        """Return the next batch."""
        fitting = int(TARGET_S / self._mean_s) if self._mean_s > TARGET_S / MOST else MOST
        share = -(-len(self._left) // (2 * self._takers))
        count = max(min(fitting, share), 1)
        taken = self._left[: -count - 1 : -1]
        del self._left[-count:]
        return taken

    def put_back(self, points: Sequence[int]) -> None:
        """Take points back, to be handed out next."""
        self._left.extend(reversed(points))

    def learn(self, seconds: float, count: int) -> None:
        """Update the time per point from some points; the last ones count most."""
        if count:
            self._mean_s = (self._mean_s + seconds / count) / 2


Progress = Callable[[int], object] | None


class _Runner(Protocol):
    """Interface of runners, which replay batches."""

    #: Times that a point is replayed alone before it is blamed for the death of its process.
    tries: int

    @property
    def slots(self) -> int:
        """Number of batches handed out at a time."""

    def submit(self, points: list[int]) -> None:
        """Begin a batch."""

    def ended(self) -> Iterable[Ended]:
        """Wait for one or more batches to end, and return them."""

    def close(self) -> None:
        """Stop what still runs."""


def run(
    sweep: Sweep, folder: Path, client: Client | None, workers: int | None, progress: Progress
) -> pd.DataFrame:
    """Run a sweep; see `Sweep.run`."""
    check_progress(progress)
    if workers is not None and workers < 1:
        raise SweepError(f"workers is {workers}; at least one is needed")
    with opened(folder, sweep) as store:
        done = _PointsDone(progress)
        done.at(len(store.done))

        def kept() -> str:
            count = len(store.done) - store.n_waiting
            return f"{count} of {len(sweep)} points are kept in {folder}; run again to go on"

        try:
            _run(sweep, store, client, workers or usable_cpus(), done)
            return store.finish()
        except SweepError as error:
            raise SweepError(f"{error}. {kept()}") from error
        except KeyboardInterrupt as error:
            error.add_note(kept())
            raise


def _run(sweep: Sweep, store: Store, client: Client | None, workers: int, done: _PointsDone) -> None:
    from simsched.sweep.processes import Processes

    if client is not None:
        from simsched.sweep.cluster import Cluster

        _with(Cluster(sweep, client), store, _left(sweep, store), done)
        return
    # Points that killed this process last time are replayed in another one; where one is lethal, more may be.
    lethal = bool(store.suspects) and _with(Processes(sweep, 1, store), store, sorted(store.suspects), done)
    store.cleared()
    if lethal or _holds_lock(sweep):
        _with(Processes(sweep, workers, store), store, _left(sweep, store), done)
    else:
        _with(Threads(sweep, workers, store), store, _left(sweep, store), done)


def _left(sweep: Sweep, store: Store) -> list[int]:
    return [number for number in range(len(sweep)) if number not in store.done]


def _holds_lock(sweep: Sweep) -> bool:
    """Return whether replays of a sweep hold Python's lock, so that threads would wait for each other."""
    native = sweep.engine != "simpy" and core() is not None
    return not native or any(type(one).decide is not Policy.decide for one in sweep.axis("policy").listed)


def _with(runner: _Runner, store: Store, points: list[int], done: _PointsDone) -> bool:
    """Replay points, and return whether a process died of one."""
    try:
        suspects = _drive(runner, store, points, done)
        for point in suspects:
            _alone(runner, store, point, done)
        return bool(suspects)
    finally:
        runner.close()
        # Whatever ended this, finished points are kept; a full disk raises a second time.
        store.flush()


def _drive(runner: _Runner, store: Store, points: list[int], done: _PointsDone) -> list[int]:
    """Replay points; return those that were running when a process died."""
    batches, running, suspects = _Batches(points, runner.slots), 0, list[int]()
    while batches or running:
        while batches and running < runner.slots:
            runner.submit(batches.take())
            running += 1
        for ended in runner.ended():
            running -= 1
            store.add(ended.outcomes)
            batches.learn(sum(outcome["replay_s"] for outcome in ended.outcomes), len(ended.outcomes))
            batches.put_back(ended.back)
            suspects += ended.lost
        done.at(len(store.done))
    return suspects


def _alone(runner: _Runner, store: Store, point: int, done: _PointsDone) -> None:
    """Replay a point with no other that could be why its process dies."""
    deaths, how = 0, ""
    while point not in store.done and deaths < runner.tries:
        runner.submit([point])
        for ended in runner.ended():
            store.add(ended.outcomes)
            deaths, how = deaths + len(ended.lost), ended.how
    if point not in store.done:
        store.add([{"point": point, "error": f"the process that replayed it died: {how}", "replay_s": 0.0}])
    done.at(len(store.done))


@dataclass
class _PointsDone:
    """The number of points done, as last reported."""

    progress: Progress
    reported: int = 0

    def at(self, count: int) -> None:
        """Report how many points are done, where it is more than before."""
        if self.progress is not None and count > self.reported:
            self.progress(count - self.reported)
        self.reported = count
