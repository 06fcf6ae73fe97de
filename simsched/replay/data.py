"""The plan of a replay's data, what tasks read and write and where it is, and objects sent (docs/semantics.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Csr, Index
from simsched.graph.columns import Floats
from simsched.graph.data import DataObjects
from simsched.machine.network import Network
from simsched.policy import Problem
from simsched.replay.memory_limit import DURING, MemoryLimit
from simsched.schedule.transfers import Messages


@dataclass(frozen=True, eq=False)
class DataPlan:
    """What tasks read and write, where it is, and how it gets to them.

    Parameters
    ----------
    network : Network
    inputs, written : Csr
        Objects that each task reads, and writes.
    readers : int64 array, shape (k,)
        Tasks that read each object.
    producer : int32 array, shape (k,)
        Task that writes each object; -1 for inputs of the graph.
    size_B : float64 array, shape (k,)
        Bytes of each object; 0 where unknown.
    home : int32 array, shape (k,)
        Place where each input is at the beginning; -1 for everywhere, and for what a task writes.
    goes_to : int32 array, shape (k,)
        Place to which each object is sent when it is written: outputs to their home, or all to the host; -1 for none.
    through : int
        Place from which all objects are sent that tasks write, or -1 for where they were written.
    place_of : int32 array, shape (n_threads,)
        Place of each hardware thread's data.
    read : bool
        Whether objects are read from afar; else they are sent.
    ways : Csr or None
        Links of each way, row `source * places + target`, where moves share them; None where they do not.
    planned : int32 array, shape (n,), or None
        Place of each task, where all are placed before the replay: objects then leave when they are written.
    cache_B : float
        Bytes that a place keeps near of what is read and written there; infinite where all stays near.
    limit : {"spill", "wait"} or None
        What happens where a place would hold more than its size during the replay; None for nothing.
    aborts : bool
        Whether runs may be aborted, whose tasks are then placed again.
    """

    network: Network
    inputs: Csr
    written: Csr
    readers: npt.NDArray[np.int64]
    producer: Index
    size_B: Floats
    home: Index
    goes_to: Index
    through: int
    place_of: Index
    read: bool
    ways: Csr | None
    planned: Index | None
    cache_B: float
    limit: MemoryLimit | None
    aborts: bool

    @classmethod
    def of(
        cls,
        problem: Problem,
        memory_limit: MemoryLimit = "note",
        places: Index | None = None,
        *,
        aborts: bool = False,
    ) -> DataPlan | None:
        """Return the plan of a problem; None where its graph has no objects, or all places are near each other.

        Parameters
        ----------
        problem : Problem
        memory_limit : {"ignore", "note", "spill", "wait", "error"}
        places : int32 array, shape (n,), optional
            Place of each task, where they are planned.
        aborts : bool
            Whether the policy aborts runs.
        """
        data, machine, network = problem.graph.data, problem.machine, problem.machine.network
        if data is None or network is None:
            return None
        ways, n = network.ways, problem.graph.n_tasks
        read, limit = ways.mode == "read", memory_limit if memory_limit in DURING else None
        through = network.host if ways.route == "host" and not read else -1
        inputs = data.inputs(n)
        return cls(
            network=network,
            inputs=inputs,
            written=_written(data, n),
            readers=data.readers.degrees().astype(np.int64),
            producer=data.producer,
            size_B=np.nan_to_num(data.size_B),
            home=np.where(data.producer < 0, network.home_of(data.n), -1).astype(np.int32),
            goes_to=np.full(data.n, -1, np.int32) if read else _goes_to(data, network, through),
            through=through,
            place_of=np.tile(network.place_of, machine.smt),
            read=read,
            ways=network.listed if machine.effects.share_links else None,
            planned=None if read or limit else places,
            cache_B=_cache_B(problem, network) if read else inf,
            limit=limit,
            aborts=aborts,
        )


def _written(data: DataObjects, n_tasks: int) -> Csr:
    """Return the objects that each task writes, ascending."""
    objects = np.flatnonzero(data.producer >= 0)
    order = objects[np.argsort(data.producer[objects], kind="stable")]
    counts = np.bincount(data.producer[objects], minlength=n_tasks)
    return Csr(np.r_[0, np.cumsum(counts)], order.astype(np.int32))


def _goes_to(data: DataObjects, network: Network, through: int) -> Index:
    """Return the place to which each object is sent when it is written, or -1."""
    written, outputs = data.producer >= 0, data.readers.degrees() == 0
    if through >= 0:
        return np.where(written, through, -1).astype(np.int32)
    return np.where(written & outputs, network.home_of(data.n), -1).astype(np.int32)


def _cache_B(problem: Problem, network: Network) -> float:
    """Return the bytes that each place keeps near: those of the L2 of a tile, or of a core that has its own."""
    machine, places = problem.machine, network.ways.places
    own = places == "tile" or (places == "core" and machine.cores_per_tile == 1)
    kept = own and machine.l2_B is not None and np.isinf(network.size_B[: network.place_of.max() + 1]).all()
    return float(machine.l2_B or inf) if kept else inf


#: Called with seconds from now, and the number and version of the message of which something happens then.
Later = Callable[[float, tuple[int, int]], None]


#: Whence a message comes; when its latency is over, or, where its bytes pass, these are; how much longer they take than
#: alone; and whether they pass.
OnWay = tuple[int, float, float, bool]


@dataclass(slots=True)
class Message:
    """An object on its way.

    Parameters
    ----------
    object, source, place : int
        What it is, where it comes from and where it goes.
    depart_s, arrive_s : float
        The latter infinite until it has arrived.
    links : sequence of int
        What it passes, where moves share links.
    moving : bool
        Whether its latency is over and it loads its links.
    due_s, slowdown : float
        When that is over which it is in, as things stand, and how much longer its bytes take than alone.
    version : int
        How often that has changed.
    """

    object: int
    source: int
    place: int
    depart_s: float
    arrive_s: float = inf
    links: Sequence[int] = ()
    moving: bool = False
    due_s: float = 0.0
    slowdown: float = 1.0
    version: int = 0

    @property
    def there(self) -> bool:
        """Whether it has arrived."""
        return self.arrive_s < inf


class Mail:
    """Messages of a replay, in the order in which they leave."""

    def __init__(self, plan: DataPlan, later: Later) -> None:
        self._later = later
        latency_s, s_per_B = plan.network.tables
        self._latency_s: list[list[float]] = latency_s.tolist()
        self._s_per_B: list[list[float]] = s_per_B.tolist()
        self._size_B: list[float] = plan.size_B.tolist()
        self._n_places = plan.network.n_places
        self._ways = plan.ways
        self._capacity_Bps: list[float] = plan.network.capacity_Bps.tolist()
        self._moving: dict[int, Message] = {}
        self._on_way: dict[tuple[int, int], Message] = {}  # by object and place
        self.sent: list[Message] = []

    def send(self, one: int, source: int, place: int, now_s: float) -> int:
        """Send an object; return the number of the message, which has arrived where it takes no time."""
        number, message = len(self.sent), Message(one, source, place, now_s)
        self.sent.append(message)
        latency_s, bytes_s = self._latency_s[source][place], self._bytes_s(message)
        if self._ways is None or not bytes_s:
            message.due_s = now_s + (latency_s + bytes_s)
        else:
            message.links = self._ways.neighbours(source * self._n_places + place).tolist()
            message.due_s = now_s + latency_s
        if message.due_s > now_s:
            self._on_way[one, place] = message
            self._later(message.due_s - now_s, (number, message.version))
        else:
            self.happened(number, now_s)
        return number

    def on_way(self, one: int, place: int) -> OnWay | None:
        """Return how far an object is on its way to a place; None where it is not."""
        message = self._on_way.get((one, place))
        return None if message is None else (message.source, message.due_s, message.slowdown, message.moving)

    def _bytes_s(self, message: Message) -> float:
        return self._size_B[message.object] * self._s_per_B[message.source][message.place]

    def is_due(self, number: int, version: int) -> bool:
        """Return whether a message's event is due, not postponed since."""
        return self.sent[number].version == version

    def happened(self, number: int, now_s: float) -> Message | None:
        """Carry out a message's due event: it begins to move, or arrives; return it if it arrived."""
        message = self.sent[number]
        if message.links and not message.moving:
            message.moving = True
            message.due_s = now_s + self._bytes_s(message)
            if message.due_s > now_s:
                self._moving[number] = message
                self._later(message.due_s - now_s, (number, message.version))
                return None
        self._moving.pop(number, None)
        self._on_way.pop((message.object, message.place), None)
        message.arrive_s = now_s
        return message

    def update(self, now_s: float) -> None:
        """Time the messages again whose links carry more or fewer: each link has equal shares for all on it."""
        load = Counter(link for message in self._moving.values() for link in message.links)
        for number, message in self._moving.items():
            alone = self._s_per_B[message.source][message.place]
            slowest = max(load[link] / self._capacity_Bps[link] for link in message.links)
            slowdown = max(alone, slowest) / alone
            if slowdown != message.slowdown:
                seconds = (message.due_s - now_s) * (slowdown / message.slowdown)
                message.due_s, message.slowdown = now_s + seconds, slowdown
                message.version += 1
                self._later(seconds, (number, message.version))

    def columns(self, placed_s: list[float], begun_s: list[float]) -> Messages:
        """Return the messages as columns, with when each task was placed and when it began to compute."""

        def column(name: str, kind: type[Any]) -> Any:
            return np.array([getattr(one, name) for one in self.sent], kind)

        return Messages(
            object=column("object", np.int32),
            source=column("source", np.int32),
            place=column("place", np.int32),
            depart_s=column("depart_s", np.float64),
            arrive_s=column("arrive_s", np.float64),
            placed_s=np.array(placed_s, np.float64),
            begun_s=np.array(begun_s, np.float64),
        )
