"""Objects that are sent during a replay: when each leaves and arrives, and who waits for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from simsched.replay.data import DataPlan
from simsched.schedule.transfers import Messages

#: Called with seconds from now, and the number and version of the message of which something happens then.
Later = Callable[[float, tuple[int, int]], None]


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
            self._later(message.due_s - now_s, (number, message.version))
        else:
            self.happened(number, now_s)
        return number

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
