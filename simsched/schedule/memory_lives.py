"""Lives of data objects: from when until when each is at which place (docs/semantics.md, Memory)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.graph.data import NOBODY

if TYPE_CHECKING:
    from simsched.graph.adjacency import Index
    from simsched.graph.data import DataObjects
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule.schedule import Schedule
    from simsched.schedule.transfers import Messages

    Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Lives:
    """Intervals in which objects are at places, one entry each, the end excluded.

    Parameters
    ----------
    object, place : int32 arrays, shape (r,)
    begin_s, end_s : float64 arrays, shape (r,)
        The end is infinite where the object stays.
    """

    object: Index
    place: Index
    begin_s: Seconds
    end_s: Seconds


def lives_of(schedule: Schedule, place_of: Index) -> Lives:
    """Return the lives of a schedule's objects; inputs that nobody reads have none.

    Parameters
    ----------
    schedule : Schedule
        Of a graph with data objects.
    place_of : int32 array, shape (n,)
        Place of each task.
    """
    data = schedule.graph.data
    if data is None:
        none = np.empty(0)
        return Lives(none.astype(np.int32), none.astype(np.int32), none, none)
    written, unread = data.producer != NOBODY, data.readers.degrees() == 0
    home = np.where(written, place_of[data.producer], place_of[_first_readers(schedule, data, unread)])
    begin_s = np.where(written, schedule.start_s[data.producer], 0.0)
    sent, finish_s = _messages(schedule), schedule.finish_s[data.readers.indices]
    if sent is None:
        end_s = _latest(data, finish_s, unread)
    else:
        of = data.readers.sources()
        # Inputs are near everywhere: no messages bring them.
        near = (home[of] == place_of[data.readers.indices]) | ~written[of]
        end_s = _latest(data, np.where(near, finish_s, -inf), unread)
        np.maximum.at(end_s, sent.object, sent.arrive_s)
    own_s = np.where(written, schedule.finish_s[data.producer], 0.0)
    end_s = np.where(unread, inf, np.maximum(end_s, own_s))
    kept = np.flatnonzero(written | ~unread).astype(np.int32)
    lives = Lives(kept, home[kept].astype(np.int32), begin_s[kept], end_s[kept])
    return lives if sent is None else _with_copies(lives, sent, data, place_of, schedule.finish_s)


def _messages(schedule: Schedule) -> Messages | None:
    """Return the messages where objects are sent, even if none was; engines have an empty list where they are read."""
    machine = schedule.machine
    sends = machine is not None and machine.data is not None and machine.data.mode == "sent"
    return schedule.messages if sends else None


def _first_readers(schedule: Schedule, data: DataObjects, unread: Flags) -> Index:
    """Return the first reader of each object to start; any task where nobody reads it."""
    turn = np.empty(schedule.graph.n_tasks, np.int64)
    turn[schedule.start_order] = np.arange(len(turn))
    first = np.zeros(data.n, np.int64)
    if len(data.readers.indices):
        first[~unread] = np.minimum.reduceat(turn[data.readers.indices], data.readers.indptr[:-1][~unread])
    return schedule.start_order[first]


def _latest(data: DataObjects, of_readers_s: Seconds, unread: Flags) -> Seconds:
    """Return the latest time over the readers of each object."""
    latest = np.full(data.n, -inf)
    if len(of_readers_s):
        latest[~unread] = np.maximum.reduceat(of_readers_s, data.readers.indptr[:-1][~unread])
    return latest


def _with_copies(
    lives: Lives, sent: Messages, data: DataObjects, place_of: Index, finish_s: Seconds
) -> Lives:
    """Return lives with those of objects at the places that they were sent to."""
    n = np.int64(max(place_of.max(initial=0), sent.place.max(initial=0)) + 1)
    keys = sent.object.astype(np.int64) * n + sent.place
    order = np.argsort(keys, kind="stable")
    read = data.readers.sources().astype(np.int64) * n + place_of[data.readers.indices]
    found = np.searchsorted(keys[order], read)
    there = found < len(keys)
    there[there] = keys[order][found[there]] == read[there]
    end_s = sent.arrive_s.copy()
    np.maximum.at(end_s, order[found[there]], finish_s[data.readers.indices[there]])
    return Lives(
        np.concatenate([lives.object, sent.object]),
        np.concatenate([lives.place, sent.place]),
        np.concatenate([lives.begin_s, sent.depart_s]),
        np.concatenate([lives.end_s, end_s]),
    )
