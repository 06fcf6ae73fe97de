"""Lives of data objects: from when until when each is at which place, and what fits there (docs/semantics.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from simsched.graph.adjacency import Index, Ints, place_in
from simsched.graph.data import NOBODY, DataObjects
from simsched.machine.network import network_of
from simsched.machine.ways import DataWays
from simsched.schedule.runs import Runs, by_start

if TYPE_CHECKING:
    from simsched.graph.columns import Floats
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule.schedule import Schedule
    from simsched.schedule.transfers import Messages


@dataclass(frozen=True, eq=False)
class Places:
    """Places that keep data.

    Parameters
    ----------
    of_run : int32 array, shape (r,)
        Place of each run, as in `Runs.of`: that of its team's first thread.
    names : tuple of str
        Name of each place, for readers.
    size_B : float64 array, shape (places,)
        Bytes that each holds; infinite where unknown.
    n_of_cores : int
        Number of those places that are cores'; the first ones.
    """

    of_run: Index
    names: tuple[str, ...]
    size_B: Floats
    n_of_cores: int = 1

    def used_by(self, place: Index) -> Places:
        """Return the places of cores, and as many of those beside them as are used."""
        n = max(self.n_of_cores, int(place.max(initial=-1)) + 1)
        return replace(self, names=self.names[:n], size_B=self.size_B[:n])

    @classmethod
    def of(cls, schedule: Schedule) -> Places:
        """Return the places of the machine's data, else its domains and the host; one for an unknown machine."""
        machine, team = schedule.machine, np.append(schedule.team, schedule.lost.team)
        if machine is None or schedule.lane_names:
            return cls(np.zeros(len(team), np.int32), ("memory",), np.array([inf]))
        network = machine.network or network_of(machine, DataWays("read", "domain"))
        # A team's cores are ascending.
        first = schedule.teams.indices[schedule.teams.indptr[team]] % machine.n_cores
        return cls(network.place_of[first], network.names, network.size_B, int(network.place_of.max()) + 1)


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
    place_of : int32 array, shape (r,)
        Place of each run, as in `Runs.of`.
    """
    if (data := schedule.graph.data) is None:
        none = np.empty(0)
        return Lives(none.astype(np.int32), none.astype(np.int32), none, none)
    sent, home = _messages(schedule), _home(schedule, data, place_of)
    kept = np.flatnonzero((data.producer != NOBODY) | (data.readers.degrees() > 0)).astype(np.int32)
    begin_s = np.where(data.producer != NOBODY, schedule.start_s[data.producer], 0.0)[kept]
    end_s = np.where(data.producer != NOBODY, schedule.finish_s[data.producer], 0.0)[kept]
    runs, (again, run) = Runs.of(schedule), _aborted(schedule, data.producer)
    lives = Lives(
        np.concatenate([again, kept]).astype(np.int32),
        np.concatenate([place_of[run], home[kept]]).astype(np.int32),
        np.concatenate([runs.start_s[run], begin_s]),
        np.concatenate([runs.end_s[run], end_s]),
    )
    if sent is not None:
        lives = Lives(
            np.concatenate([lives.object, sent.object]),
            np.concatenate([lives.place, sent.place]),
            np.concatenate([lives.begin_s, sent.depart_s]),
            np.concatenate([lives.end_s, sent.arrive_s]),
        )
    _lengthen(lives, _uses(schedule, data, home, place_of, sent))
    _let_outputs_stay(lives, data)
    return lives


def _aborted(schedule: Schedule, task: Index) -> tuple[Ints, Ints]:
    """Return the entries of a column of tasks that aborted runs have, and these runs, as in `Runs.of`."""
    lost, order = schedule.lost.task, np.argsort(task, kind="stable")
    first, end = (np.searchsorted(task[order], lost, side) for side in ("left", "right"))
    entries = [order[:0], *(order[a:b] for a, b in zip(first, end, strict=True))]
    runs = schedule.graph.n_tasks + np.arange(len(lost))
    return np.concatenate(entries), np.repeat(runs, end - first)


def _messages(schedule: Schedule) -> Messages | None:
    """Return the messages that take objects elsewhere; where they are read, those of objects that have to leave."""
    network = None if schedule.machine is None else schedule.machine.network
    sent = schedule.messages
    if network is None:
        return None
    if sent is None or network.ways.mode == "sent":
        return sent
    # Tasks read where they run, and objects leave for where none does.
    leaves = np.isin(sent.place, network.place_of, invert=True)
    moved = {name: vars(sent)[name][leaves] for name in ("object", "source", "place", "depart_s", "arrive_s")}
    return replace(sent, **moved)


def _home(schedule: Schedule, data: DataObjects, place_of: Index) -> Index:
    """Return where each object is first: with its producer, at home, or with its first reader."""
    network = None if schedule.machine is None else schedule.machine.network
    home = np.full(data.n, -1) if network is None else network.home_of(data.n)
    anywhere = place_of[_first_readers(schedule, data)] if schedule.graph.n_tasks else home
    return np.where(data.producer != NOBODY, place_of[data.producer], np.where(home >= 0, home, anywhere))


def _first_readers(schedule: Schedule, data: DataObjects) -> Ints:
    """Return the first run of a reader of each object to start, as in `Runs.of`; any where nobody reads it."""
    order, read = by_start(schedule, Runs.of(schedule).start_s), data.readers.degrees() > 0
    turn = place_in(order)
    np.minimum.at(turn, schedule.lost.task, turn[schedule.graph.n_tasks :])
    first = np.zeros(data.n, np.int64)
    if len(data.readers.indices):
        first[read] = np.minimum.reduceat(turn[data.readers.indices], data.readers.indptr[:-1][read])
    return order[first]


def _uses(
    schedule: Schedule, data: DataObjects, home: Index, place_of: Index, sent: Messages | None
) -> Lives:
    """Return the times in which runs of tasks read objects and messages take them elsewhere, each at its place."""
    runs, (again, aborted) = Runs.of(schedule), _aborted(schedule, data.readers.indices)
    of, run = data.readers.sources(), np.append(data.readers.indices, aborted)
    of = np.append(of, of[again])
    start_s, finish_s = runs.start_s[run], runs.end_s[run]
    if sent is None:
        return Lives(of, home[of], start_s, finish_s)
    network = schedule.require_machine().network
    if network is not None and network.ways.mode == "read":
        moved = _latest(sent.object, sent.depart_s, of, start_s)
        used_at = np.where(moved >= 0, np.append(sent.place, -1)[moved], home[of])
    else:
        everywhere = (data.producer[of] == NOBODY) & (network is None or network.ways.home == "everywhere")
        used_at = np.where(everywhere, home[of], place_of[run])
    return Lives(
        np.concatenate([of, sent.object]),
        np.concatenate([used_at, sent.source]),
        np.concatenate([start_s, sent.depart_s]),
        np.concatenate([finish_s, sent.arrive_s]),
    )


def _lengthen(lives: Lives, uses: Lives) -> None:
    """Let the last life of each object at each place to begin before a use last until its end."""
    n = np.int64(max(lives.place.max(initial=0), uses.place.max(initial=0)) + 1)
    of_life = lives.object.astype(np.int64) * n + lives.place
    of_use = uses.object.astype(np.int64) * n + uses.place
    life = _latest(of_life, lives.begin_s, of_use, uses.begin_s)
    np.maximum.at(lives.end_s, life[life >= 0], uses.end_s[life >= 0])


def _latest(key: Index | Ints, begin_s: Seconds, of: Index | Ints, at_s: Seconds) -> Ints:
    """Return, for each of some moments, the entry of its key that begins last, at the latest then; -1 for none."""
    keys, times_s = np.concatenate([key, of]), np.concatenate([begin_s, at_s])
    # Entries before moments that begin with them.
    asks = np.arange(len(keys)) >= len(key)
    order = np.lexsort((asks, times_s, keys))
    last = np.maximum.accumulate(np.where(asks[order], -1, np.arange(len(order))))
    asked = np.flatnonzero(asks[order] & (last >= 0))
    entry, moment = order[last[asked]], order[asked] - len(key)
    found = np.full(len(of), -1)
    found[moment] = np.where(key[entry] == of[moment], entry, -1)
    return found


def _let_outputs_stay(lives: Lives, data: DataObjects) -> None:
    """Let objects that nobody reads stay at the place where they were last."""
    order = np.lexsort((lives.begin_s, lives.object))
    last = order[np.append(lives.object[order][1:] != lives.object[order][:-1], True)[: len(order)]]
    lives.end_s[last[data.readers.degrees()[lives.object[last]] == 0]] = inf
