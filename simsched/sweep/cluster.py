"""A Dask cluster: graphs go to each worker once, batches of points go there, outcomes come back.

Network traffic is pickled by Dask: scheduler, workers and client must trust each other (docs/sweeping.md).
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from simsched.errors import MissingExtraError, SweepError
from simsched.sweep.description import identity
from simsched.sweep.replaying import Ended, Outcome, Replayer
from simsched.text import one_line
from simsched.version import version

try:
    from distributed import Client, Future, KilledWorker, get_worker
    from distributed.diagnostics.plugin import WorkerPlugin
except ImportError:
    raise MissingExtraError("dask.distributed", "cluster", "a sweep on a cluster") from None

if TYPE_CHECKING:
    from distributed import Worker

    from simsched.sweep.sweep import Sweep

#: Seconds between checks of the number of workers, and without workers before a message.
LOOK_S, PATIENCE_S = 2.0, 60.0
#: Seconds that a client tries to reach a scheduler.
CONNECT_S = 10.0


class Shipped(WorkerPlugin):
    """The sweep on a worker; those that join or return later get it, too.

    Parameters
    ----------
    sweep : Sweep
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep, self.version = sweep, version()
        self.replayer: Replayer | None = None

    def setup(self, worker: Worker) -> None:
        """Prepare the data common to all points."""
        if version() != self.version:
            raise SweepError(f"{worker.address} has simsched {version()}, the sweep is of {self.version}")
        self.replayer = Replayer(self.sweep)


def _replay_there(name: str, points: list[int]) -> list[Outcome] | None:
    """Replay points on a worker; None where it does not have the sweep yet."""
    shipped = get_worker().plugins.get(name)
    if not isinstance(shipped, Shipped) or shipped.replayer is None:
        return None
    return [shipped.replayer.outcome(point) for point in points]


class Cluster:
    """Replays batches on a Dask cluster.

    A worker that dies costs nothing but time: Dask gives its batches to others. A batch that Dask gives up, because all
    workers that had it died, is lost, and its points are then replayed alone.

    Parameters
    ----------
    sweep : Sweep
    client : distributed.Client
    """

    #: Alone, a point is given up once it has killed one worker more than Dask's `allowed-failures`.
    tries = 1

    def __init__(self, sweep: Sweep, client: Client) -> None:
        self._sweep, self._client = sweep, client
        self._name = f"simsched-sweep-{identity(sweep)}"
        self._running: dict[object, tuple[Future[Any], list[int]]] = {}
        self._done: SimpleQueue[object] = SimpleQueue()
        self._looked = self._seen = time.monotonic()
        self._threads = self._count()
        self._ship()

    @property
    def slots(self) -> int:
        """Two per thread, so that none waits for the network."""
        if time.monotonic() - self._looked > LOOK_S:
            self._threads, self._looked = self._count(), time.monotonic()
        return 2 * max(self._threads, 1)

    def submit(self, points: list[int]) -> None:
        """Begin a batch."""
        try:
            future = self._client.submit(_replay_there, self._name, points, pure=False)
        except Exception as error:
            raise self._lost(error) from error
        self._running[future.key] = future, points
        future.add_done_callback(lambda done: self._done.put(done.key))

    def ended(self) -> Iterator[Ended]:
        """Wait for one or more batches to end, and return them."""
        while True:
            try:
                key = self._done.get(timeout=LOOK_S)
            except Empty:
                self._look()
                continue
            self._seen = time.monotonic()
            if key in self._running:
                yield self._outcome(*self._running.pop(key))
                return

    def _outcome(self, future: Future[Any], points: list[int]) -> Ended:
        try:
            outcomes = future.result()
        except KilledWorker as error:
            return Ended([], lost=points, how=one_line(str(error), 120))
        except Exception as error:
            raise self._lost(error) from error
        if outcomes is None:
            self._ship()
            return Ended([], back=points)
        return Ended(outcomes)

    def close(self) -> None:
        """Cancel what still runs, and remove the sweep from the workers."""
        # If the cluster is gone, so are its data.
        with contextlib.suppress(Exception):
            if self._client.status == "running":
                self._client.cancel([future for future, _ in self._running.values()])
                self._client.unregister_worker_plugin(self._name)

    def _ship(self) -> None:
        for again in (True, True, False):
            try:
                self._client.register_plugin(Shipped(self._sweep), name=self._name)
            except OSError as error:
                # A worker may die at this moment.
                if not again:
                    raise self._lost(error) from error
            except Exception as error:
                raise SweepError(f"a worker cannot take the sweep: {one_line(str(error))}") from error
            else:
                return

    def _count(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except Exception as error:
            raise self._lost(error) from error

    def _look(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._lost("the client was closed")
        self._threads, self._looked = self._count(), time.monotonic()
        if self._threads:
            self._seen = self._looked
        elif self._looked - self._seen > PATIENCE_S:
            self._seen = float("inf")
            warnings.warn(
                f"the cluster at {self._address} has no workers; waiting for some", RuntimeWarning, 2
            )

    @property
    def _address(self) -> str:
        return str(self._client.scheduler.address if self._client.scheduler else "an unknown address")

    def _lost(self, why: object) -> SweepError:
        return SweepError(f"the cluster at {self._address} was lost: {one_line(str(why)).rstrip('.')}")


def connected(address: str) -> Client:
    """Return a client of the scheduler at an address, as `tcp://10.0.0.1:8786`.

    Raises
    ------
    SweepError
        If there is none.
    """
    try:
        return Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SweepError(f"there is no Dask scheduler at {address}: {one_line(str(error))}") from error
