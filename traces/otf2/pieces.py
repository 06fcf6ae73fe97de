"""Pieces of regions: every stretch of a location in which one region is the innermost and nothing happens.

A region that another one interrupts gives a piece before and one after; marks cut pieces, too, so that what others wait
for is at the end of one. Each task has a stack of regions of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simsched.traces.otf2.events import (
    GUID,
    GUID_LEFT,
    OMP_SWITCH,
    TASK_SWITCH,
    Events,
    Mark,
    Whole,
)
from simsched.traces.shared.spans import MAX_SEARCH, Small, rows_in

Flags = npt.NDArray[np.bool_]


@dataclass
class Pieces:
    """Pieces of a location, by start.

    Parameters
    ----------
    event : int64 array, shape (n,)
        The event that begins each.
    start, finish : int64 arrays, shape (n,)
        In ticks.
    region, chain : int32 arrays, shape (n,)
        Number of the region, and of the task whose pieces follow each other.
    """

    event: Whole
    start: Whole
    finish: Whole
    region: Small
    chain: Small

    def around(self, events: Whole, chains: Small) -> tuple[Whole, Whole, Whole]:
        """Return the last piece of a chain before each of some events, the one before that, and the first one after.

        -1 where there is none.
        """
        order = np.argsort(self.chain, kind="stable")
        most = int(max(self.event.max(initial=0), events.max(initial=0))) + 2
        keys = self.chain[order].astype(np.int64) * most + self.event[order]
        place = np.searchsorted(keys, chains.astype(np.int64) * most + events)

        def at(places: Whole) -> Whole:
            inside = (places >= 0) & (places < len(order))
            found = (
                np.where(inside, order[np.clip(places, 0, max(len(order) - 1, 0))], -1) if len(order) else -1
            )
            found = np.broadcast_to(found, places.shape).copy()
            there = found >= 0
            found[there] = np.where(self.chain[found[there]] == chains[there], found[there], -1)
            return found

        return at(place - 1), at(place - 2), at(place)


@dataclass
class Columns:
    """Pieces of all locations.

    Parameters
    ----------
    start, finish : int64 arrays, shape (n,)
        In ticks.
    region, location, chain : int32 arrays, shape (n,)
        Numbers of regions and of locations; the task or thread whose pieces follow each other.
    """

    start: Whole
    finish: Whole
    region: Small
    location: Small
    chain: Small


def chains_of(events: Events, own: int, numbered: Callable[[Hashable], int], process: int) -> Small:
    """Return the chain of each event: that of the location, or of the task that it runs at that moment.

    Parameters
    ----------
    events : Events
    own : int
        The chain of the location.
    numbered : function of a task's identity to the number of its chain
    process : int
        Of the location.
    """
    places, values, around = [0], [own], list[int]()
    for mark in events.marks:
        if (chain := _switched(mark, own, numbered, process, values[-1], around)) is not None:
            places.append(mark.event)
            values.append(chain)
    return np.repeat(np.array(values, np.int32), np.diff(np.array([*places, len(events.ticks)])))


def _switched(
    mark: Mark, own: int, numbered: Callable[[Hashable], int], process: int, now: int, around: list[int]
) -> int | None:
    """Return the chain after a mark; None where it stays."""
    if mark.kind in (TASK_SWITCH, OMP_SWITCH):
        # Generation 0 is a thread's implicit task.
        return numbered(task_key(process, mark.fields)) if mark.fields[-1] > 0 else own
    if mark.kind == GUID:
        around.append(now)
        return numbered(guid_key(mark.fields[0]))
    if mark.kind == GUID_LEFT:
        return around.pop() if around else own
    return None


def task_key(process: int, fields: tuple[int, ...]) -> Hashable:
    """Return the identity of a task of OpenMP: its process, and team, creator and number."""
    return ("task", process, *fields)


def guid_key(guid: int) -> Hashable:
    """Return the identity of a task that has an identifier of its own."""
    return ("guid", guid)


def pieces(events: Events, region: Small, chain: Small, waits: Flags, counts: Counter[str]) -> Pieces:
    """Return the pieces of a location.

    Parameters
    ----------
    events : Events
    region : int32 array, shape (n,)
        Number of each event's region; -1 at marks.
    chain : int32 array, shape (n,)
    waits : bool array
        Of each region, whether time in it is waiting, which is no task; one more for none.
    counts : Counter of str
        Receives the numbers of regions that are never left, or never entered.
    """
    delta = events.kind.copy()
    order = np.argsort(chain, kind="stable") if len(chain) and chain.min() != chain.max() else None
    if (top := _tops(delta, region, chain, order)) is None:
        _mend(delta, region, chain, order, counts)
        return pieces(replace(events, kind=delta), region, chain, waits, counts)
    following = np.append(events.ticks[1:], events.ticks[-1:])
    inner = np.where(top >= 0, region[top], -1)
    kept = np.flatnonzero((inner >= 0) & (following > events.ticks) & ~waits[inner])
    return Pieces(
        kept, events.ticks[kept], following[kept], inner[kept].astype(np.int32), chain[kept].astype(np.int32)
    )


def _tops(delta: npt.NDArray[np.int8], region: Small, chain: Small, order: Whole | None) -> Whole | None:
    """Return the event that entered the innermost region after each event, -1 for none; None where they do not nest."""
    n = len(delta)
    if order is not None:
        delta, region, chain = delta[order], region[order], chain[order]
    depth = np.cumsum(delta, dtype=np.int32)
    first = np.flatnonzero(np.append(True, chain[1:] != chain[:-1])) if n else np.zeros(0, np.int64)
    base = np.append(0, depth)[first].astype(np.int32)
    depth -= np.repeat(base, np.diff(np.append(first, n)))
    if n and depth.min() < 0:
        return None
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, n)))
    keys = group * (int(depth.max(initial=0)) + 1) + depth
    by = np.argsort(keys.astype(np.uint16) if n and keys.max() < 2**16 else keys, kind="stable")
    last = np.maximum.accumulate(np.where(delta[by] > 0, np.arange(n), -1))
    found = np.full(n, -1, np.int64)
    found[by] = np.where((last >= 0) & (keys[by[last]] == keys[by]), by[last], -1)
    found[depth == 0] = -1
    left = np.flatnonzero(delta < 0)
    around = np.where((left > 0) & (group[left] == group[left - 1]), found[left - 1], -1)
    if (around < 0).any() or (region[around] != region[left]).any():
        return None
    if order is None:
        return found
    told = np.full(n, -1, np.int64)
    told[order] = np.where(found >= 0, order[found], -1)
    return told


def _mend(
    delta: npt.NDArray[np.int8], region: Small, chain: Small, order: Whole | None, counts: Counter[str]
) -> None:
    """Leave out exits of what was not entered, and entries of what its surroundings leave first."""
    rows = np.arange(len(delta)) if order is None else order
    open_, current = list[tuple[int, int]](), -1
    for row, of, called, step in rows_in(rows, chain, region, delta):
        if of != current:
            open_, current = [], of
        if step > 0:
            open_.append((row, called))
        elif step < 0:
            back = next((i for i in range(1, min(len(open_), MAX_SEARCH) + 1) if open_[-i][1] == called), 0)
            if not back:
                delta[row] = 0
                counts["regions left, never entered"] += 1
                continue
            for inner, _ in open_[len(open_) - back + 1 :]:
                delta[inner] = 0
                counts["regions entered, never left"] += 1
            del open_[len(open_) - back :]
