"""Seconds to fetch what a task reads, if nothing else moves (docs/semantics.md, Information)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from simsched.graph.data import DataObjects
from simsched.machine.network import Network
from simsched.replay.data import OnWay


class Whereabouts(Protocol):
    """Where objects are, and what is on its way; see `State`."""

    @property
    def now_s(self) -> float:
        """Seconds since the start."""

    def is_near(self, one: int, place: int) -> bool:
        """Return whether an object is at a place, or on its way there."""

    def where(self, one: int) -> int:
        """Return whence an object is sent or read; -1 for nowhere."""

    def on_way(self, one: int, place: int) -> OnWay | None:
        """Return how far an object is on its way to a place; None where it is not."""


@dataclass(slots=True)
class Leg:
    """A part of a message's way.

    Parameters
    ----------
    left_s : float
        Seconds of it alone that are left.
    s_per_B : float
        Seconds of a byte alone.
    links : sequence of int
        Links that it shares; none while its latency passes.
    """

    left_s: float
    s_per_B: float = 0.0
    links: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Fetching:
    """Objects that are fetched to a place, and the ways there.

    Parameters
    ----------
    data : DataObjects
    network : Network
    share_links : bool
    """

    data: DataObjects
    network: Network
    share_links: bool

    def reading_s(self, place: int, far: Sequence[tuple[int, int]]) -> float:
        """Return the seconds to read objects one after another, each from a place."""
        return sum((leg.left_s for one, source in far for leg in self._legs(one, source, place)), 0.0)

    def sending_s(self, place: int, objects: Sequence[int], state: Whereabouts) -> float:
        """Return the seconds until objects have arrived at a place, all sent now, or on their way."""
        ways = [self._sent(one, place, state) for one in objects]
        if any(leg.links for legs in ways for leg in legs):
            return self._together_s(ways)
        return max((sum(leg.left_s for leg in legs) for legs in ways), default=0.0)

    def _sent(self, one: int, place: int, state: Whereabouts) -> list[Leg]:
        """Return what is left of an object's way to a place; nothing where it is there."""
        if (coming := state.on_way(one, place)) is not None:
            return self._rest(one, place, coming, state.now_s)
        at, near = state.where(one), state.is_near(one, place)
        if at >= 0 or self.data.producer[one] < 0:
            return [] if near else self._legs(one, at, place)
        # What is nowhere yet is on its way to the host.
        coming, host = state.on_way(one, self.network.host), self.network.host
        before = [] if coming is None else self._rest(one, host, coming, state.now_s)
        return before + self._legs(one, host, place)

    def _legs(self, one: int, source: int, place: int) -> list[Leg]:
        """Return the latency and the bytes of a message."""
        latency_s, alone = (float(table[source, place]) for table in self.network.tables)
        bytes_s = float(np.nan_to_num(self.data.size_B[one])) * alone
        if not self.share_links or not bytes_s:
            return [Leg(latency_s + bytes_s)]
        links = self.network.listed.neighbours(source * self.network.n_places + place).tolist()
        return [Leg(latency_s), Leg(bytes_s, alone, links)]

    def _rest(self, one: int, place: int, coming: OnWay, now_s: float) -> list[Leg]:
        """Return what is left of the latency and the bytes of a message."""
        source, due_s, slowdown, passes = coming
        first, *last = self._legs(one, source, place)
        first.left_s = due_s - now_s
        if not (last and passes):
            return [first, *last]
        last[0].left_s = (due_s - now_s) / slowdown
        return last

    def _together_s(self, ways: list[list[Leg]]) -> float:
        """Return the seconds until all messages have arrived, which have equal shares of each link."""
        total_s = 0.0
        while ways := [legs for legs in ways if legs]:
            load = Counter(link for legs in ways for link in legs[0].links)
            slower = [self._slowdown(legs[0], load) for legs in ways]
            due_s = [legs[0].left_s * slow for legs, slow in zip(ways, slower, strict=True)]
            step_s = min(due_s)
            total_s += step_s
            for legs, due, slow in zip(ways, due_s, slower, strict=True):
                legs[0].left_s -= step_s / slow
                if due == step_s:
                    del legs[0]
        return total_s

    def _slowdown(self, leg: Leg, load: Counter[int]) -> float:
        """Return how much longer a part of a way takes than alone."""
        shares = (load[link] / float(self.network.capacity_Bps[link]) for link in leg.links)
        return max(leg.s_per_B, *shares) / leg.s_per_B if leg.links else 1.0
