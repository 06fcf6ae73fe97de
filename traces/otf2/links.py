"""Waits between locations and tasks of an OTF2 archive: messages, collectives, threads, teams, tasks."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from simsched.multimap import multimap
from simsched.traces.otf2 import events as ev
from simsched.traces.otf2.archive import UNDEFINED
from simsched.traces.otf2.definitions import Definitions
from simsched.traces.otf2.pieces import Columns, guid_key, task_key
from simsched.traces.shared.timeline import by_lane, picked, sizes

#: Not in the file: a region in which a thread waits is entered, or left; its fields are region and role.
WAIT_ENTER, WAIT_LEAVE = 202, 203
BARRIER, TASKS, OTHER = 0, 1, 2
_FROM_ROOT, _TO_ROOT = {1, 4, 5}, {2, 3, 12}
#: Barrier, and all that hand something from each to each.
_ALL = {0, 6, 7, 8, 9, 10, 11, 13, 16}
_TEAMS = {ev.FORK, ev.JOIN, ev.TEAM_BEGIN, ev.TEAM_END, WAIT_ENTER, WAIT_LEAVE}
_CREATED = {ev.TASK_CREATE, ev.OMP_CREATE}
_COMPLETED = {ev.TASK_COMPLETE, ev.OMP_COMPLETE}


class Sync(NamedTuple):
    """A moment at which a location waits for others, or they for it.

    Parameters
    ----------
    kind, fields : int, tuple of int
        Of the mark.
    ticks : int
        When it is.
    chain : int
        The task that it is in.
    before, earlier, after : int
        The last piece of that task before it, the one before that, and the first one after; -1 for none.
    in_call : bool
        Whether the piece before is a call of MPI that ends there.
    """

    kind: int
    fields: tuple[int, ...]
    ticks: int
    chain: int
    before: int
    earlier: int
    after: int
    in_call: bool


class Join(NamedTuple):
    """A moment at which several wait for several: an empty task."""

    ticks: int
    region: int
    location: int
    before: list[int]
    after: list[int]


@dataclass
class _Team:
    """A parallel region: its fork, its join, the ends of its threads, and who came to each barrier."""

    fork: Sync
    team: int | None = None
    join: Sync | None = None
    ends: list[int] = field(default_factory=list)
    barriers: list[list[tuple[int, Sync, Sync]]] = field(default_factory=list)


@dataclass
class _Frame:
    """A thread in a team: the team, whether it forked it, its barriers so far, and the one that it is in."""

    team: _Team
    master: bool
    barriers: int = 0
    entered: Sync | None = None


class Links:
    """Edges between pieces of all locations.

    Parameters
    ----------
    told : Definitions
    numbered : function of a task's identity to the number of its chain
    """

    def __init__(self, told: Definitions, numbered: Callable[[Hashable], int]) -> None:
        self._told, self._numbered = told, numbered
        self.counts: Counter[str] = Counter()
        self.joins: list[Join] = []
        #: Pieces that wait at their beginning, and until when.
        self.cuts: list[tuple[int, int]] = []
        self.before, self.after, self.size_B = array("q"), array("q"), array("d")
        self._sends: dict[Hashable, list[tuple[Sync, int]]] = defaultdict(list)
        self._receives: dict[Hashable, list[Sync]] = defaultdict(list)
        self._collectives: dict[tuple[int, ...], dict[int, list[Sync]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._known: dict[int, list[int]] = {}
        self._threads: dict[Hashable, dict[int, Sync]] = defaultdict(dict)
        self._teams: dict[int, list[Sync]] = {}
        self._created: dict[int, Sync] = {}
        self._parents: dict[int, int] = {}
        self._completed: dict[int, int] = {}
        self._teams_of: dict[int, tuple[int, int]] = {}
        self._pending: dict[int, list[int]] = defaultdict(list)
        self._awaited: list[tuple[Sync, list[int]]] = []

    def take(self, location: int, syncs: Iterable[Sync]) -> None:
        """Take what a location waits for, in its order."""
        process = self._told.locations[location].process
        teams = []
        for sync in syncs:
            kind = sync.kind
            if kind in _TEAMS:
                teams.append(sync)
                if kind == WAIT_LEAVE and sync.fields[1] == TASKS:
                    self._awaited.append((sync, self._pending.pop(sync.chain, [])))
            elif kind in _CREATED:
                self._create(process, sync)
            elif kind in _COMPLETED:
                self._completed[self._numbered(task_key(process, sync.fields))] = sync.ticks
            elif kind == ev.GUID:
                child, parent = sync.fields
                if parent not in (UNDEFINED, 0, child):
                    self._parents.setdefault(
                        self._numbered(guid_key(child)), self._numbered(guid_key(parent))
                    )
            elif ev.THREAD_CREATE <= kind <= ev.THREAD_END:
                self._threads[sync.fields][kind] = sync
            else:
                self._communicate(location, sync)
        if teams:
            self._teams[location] = teams

    def _create(self, process: int, sync: Sync) -> None:
        child = self._numbered(task_key(process, sync.fields))
        self._created[child] = sync
        self._pending[sync.chain].append(child)
        if sync.kind == ev.TASK_CREATE:
            self._teams_of[child] = process, sync.fields[0]

    def _communicate(self, location: int, sync: Sync) -> None:
        kind, fields = sync.kind, sync.fields
        if kind == ev.COLLECTIVE:
            members = self._members(fields[1], location)
            self._collectives[(fields[1], *members[:2])][location].append(sync)
        elif kind in (ev.SEND, ev.ISEND, ev.RECEIVE, ev.IRECEIVE):
            rank, comm, tag, size_B = fields
            members, own = self._members(comm, location), self._told.locations[location].process
            other = members[rank] if 0 <= rank < len(members) else UNDEFINED
            if other == UNDEFINED:
                self.counts["messages of unknown ranks"] += 1
            elif kind in (ev.SEND, ev.ISEND):
                self._sends[comm, own, other, tag].append((sync, size_B))
            else:
                self._receives[comm, other, own, tag].append(sync)

    def finish(self, ran: Columns) -> None:
        """Make all edges, once the pieces of all locations are known."""
        self._messages()
        for (comm, *_), by_location in self._collectives.items():
            self._collective(comm, by_location, ran)
        self._thread_edges()
        if not (self._created or self._parents or self._awaited or self._teams):
            return
        by_chain = _Chains(ran)
        for child, sync in self._created.items():
            self._edge(sync.before, by_chain.first(child))
        for child, parent in self._parents.items():
            self._edge(by_chain.last_before(parent, child), by_chain.first(child))
        for sync, children in self._awaited:
            for child in children:
                if self._completed.get(child, sync.ticks + 1) <= sync.ticks:
                    self._edge(by_chain.last(child), sync.after)
        self._team_edges(by_chain)

    def _edge(self, before: int, after: int, size_B: float = np.nan) -> None:
        if before >= 0 and after >= 0:
            self.before.append(before)
            self.after.append(after)
            self.size_B.append(size_B)

    def _messages(self) -> None:
        matched = 0
        for key, sends in self._sends.items():
            for (sent, size_B), received in zip(sends, self._receives.get(key, []), strict=False):
                matched += 1
                if received.in_call:
                    self.cuts.append((received.before, sent.ticks))
                self._edge(
                    sent.before, received.before if received.in_call else received.after, max(size_B, 0)
                )
        sent_all = sum(map(len, self._sends.values()))
        received_all = sum(map(len, self._receives.values()))
        self.counts["messages"] = matched
        self.counts["messages sent or received alone"] = sent_all + received_all - 2 * matched

    def _collective(self, comm: int, by_location: dict[int, list[Sync]], ran: Columns) -> None:
        for turn in range(max(map(len, by_location.values()))):
            there = {
                location: syncs[turn]
                for location, syncs in by_location.items()
                if turn < len(syncs) and syncs[turn].in_call
            }
            if len(there) < 2:
                continue
            self.counts["collectives"] += 1
            operation, root = next(iter(there.values())).fields[0], self._root(comm, there)
            givers = [root] if operation in _FROM_ROOT else list(there)
            takers = [root] if operation in _TO_ROOT else list(there)
            if operation in _ALL or (operation in _FROM_ROOT | _TO_ROOT and root in there):
                self._meet(there, givers, takers, ran)

    def _members(self, comm: int, location: int) -> list[int]:
        """Return the processes of a communicator, looked up once unless each process has its own."""
        if comm not in self._known:
            if (members := self._told.members(comm)) is None:
                return [self._told.locations[location].process]
            self._known[comm] = members
        return self._known[comm]

    def _root(self, comm: int, there: dict[int, Sync]) -> int:
        location, sync = next(iter(there.items()))
        members, rank = self._members(comm, location), sync.fields[2]
        process = members[rank] if 0 <= rank < len(members) else UNDEFINED
        return next((one for one in there if self._told.locations[one].process == process), UNDEFINED)

    def _meet(self, there: dict[int, Sync], givers: list[int], takers: list[int], ran: Columns) -> None:
        """Let the calls of some begin where the last of others has begun."""
        begun = {location: int(ran.start[there[location].before]) for location in givers}
        latest = max(begun, key=lambda location: begun[location])
        self.cuts.extend((there[location].before, begun[latest]) for location in takers)
        before = [there[location].earlier for location in givers]
        self._joined(begun[latest], -1, latest, before, [there[location].before for location in takers])

    def _joined(self, ticks: int, region: int, location: int, before: list[int], after: list[int]) -> None:
        """Let each of some pieces come after each of others, through an empty task where that takes fewer edges."""
        before = sorted({piece for piece in before if piece >= 0})
        after = sorted({piece for piece in after if piece >= 0})
        if len(before) * len(after) > len(before) + len(after):
            self.joins.append(Join(ticks, region, location, before, after))
            return
        for pair in product(before, after):
            self._edge(*pair)

    def _thread_edges(self) -> None:
        for told in self._threads.values():
            for first, then in ((ev.THREAD_CREATE, ev.THREAD_BEGIN), (ev.THREAD_END, ev.THREAD_WAIT)):
                if first in told and then in told:
                    self._edge(told[first].before, told[then].after)

    def _team_edges(self, by_chain: _Chains) -> None:
        forks = self._forks()
        for location, syncs in self._teams.items():
            self._in_teams(location, syncs, forks)
        tasks = multimap(
            (self._teams_of[chain], (ticks, by_chain.last(chain)))
            for chain, ticks in self._completed.items()
            if chain in self._teams_of
        )
        for key, teams in forks.items():
            done = sorted(tasks.get(key, []))
            for team in teams:
                self._close(team, done)

    def _forks(self) -> dict[tuple[int, int], list[_Team]]:
        """Return the parallel regions of each process and team, by time."""
        found: dict[tuple[int, int], list[_Team]] = defaultdict(list)
        for location, syncs in self._teams.items():
            process, open_ = self._told.locations[location].process, list[_Team]()
            for sync in syncs:
                if sync.kind == ev.FORK:
                    open_.append(_Team(sync))
                elif sync.kind == ev.JOIN and open_:
                    open_.pop().join = sync
                elif sync.kind == ev.TEAM_BEGIN and open_ and open_[-1].team is None:
                    open_[-1].team = sync.fields[0]
                    found[process, sync.fields[0]].append(open_[-1])
        for teams in found.values():
            teams.sort(key=lambda team: team.fork.ticks)
        return found

    def _in_teams(
        self, location: int, syncs: Sequence[Sync], forks: dict[tuple[int, int], list[_Team]]
    ) -> None:
        """Follow a thread through its teams."""
        process, frames, forked = self._told.locations[location].process, list[_Frame](), False
        for sync in syncs:
            if sync.kind == ev.TEAM_BEGIN:
                teams = forks.get((process, sync.fields[0]), [])
                at = bisect_right(teams, sync.ticks, key=lambda team: team.fork.ticks) - 1
                if at >= 0:
                    frames.append(_Frame(teams[at], forked))
                    if not forked:
                        self._edge(teams[at].fork.before, sync.after)
            elif sync.kind == ev.TEAM_END and frames:
                frame = frames.pop()
                if not frame.master:
                    frame.team.ends.append(sync.before)
            elif sync.kind in (WAIT_ENTER, WAIT_LEAVE) and sync.fields[1] == BARRIER and frames:
                _at_barrier(location, sync, frames[-1])
            forked = sync.kind == ev.FORK

    def _close(self, team: _Team, done: list[tuple[int, int]]) -> None:
        """Let the barriers and the join of a team wait for its threads and tasks."""
        ticks = bisect_right(done, (team.fork.ticks, -1))
        for barrier in team.barriers:
            release = min(left.ticks for _, _, left in barrier)
            last = bisect_right(done, (release, len(done) and max(piece for _, piece in done)))
            before = [entered.before for _, entered, _ in barrier] + [piece for _, piece in done[ticks:last]]
            ticks = max(ticks, last)
            location, entered, _ = max(barrier, key=lambda one: one[1].ticks)
            self._joined(release, entered.fields[0], location, before, [left.after for _, _, left in barrier])
        if team.join is not None:
            until = bisect_right(done, (team.join.ticks, len(done) and max(piece for _, piece in done)))
            for piece in {*team.ends, *(piece for _, piece in done[ticks:until])}:
                self._edge(piece, team.join.after)


def _at_barrier(location: int, sync: Sync, frame: _Frame) -> None:
    if sync.kind == WAIT_ENTER:
        frame.entered = sync
    elif frame.entered is not None:
        if frame.barriers == len(frame.team.barriers):
            frame.team.barriers.append([])
        frame.team.barriers[frame.barriers].append((location, frame.entered, sync))
        frame.barriers += 1
        frame.entered = None


class _Chains:
    """First and last pieces of chains."""

    def __init__(self, ran: Columns) -> None:
        # Most chains are those of threads, whose pieces are in order.
        self._order = by_lane(ran.chain)
        chain, start = picked(ran.chain, self._order), picked(ran.start, self._order)
        if ((chain[1:] == chain[:-1]) & (start[1:] < start[:-1])).any():
            self._order = np.lexsort((ran.start, ran.chain)).astype(np.int32)
        self._ends = np.cumsum(sizes(ran.chain)).tolist()
        self._start, self._finish = ran.start, ran.finish

    def _of(self, chain: int) -> tuple[int, int]:
        if chain >= len(self._ends):
            return 0, 0
        return self._ends[chain - 1] if chain else 0, self._ends[chain]

    def first(self, chain: int) -> int:
        begin, end = self._of(chain)
        return int(self._order[begin]) if begin < end else -1

    def last(self, chain: int) -> int:
        begin, end = self._of(chain)
        return int(self._order[end - 1]) if begin < end else -1

    def last_before(self, chain: int, other: int) -> int:
        """Return the last piece of a chain that was finished when another one began."""
        (begin, end), first = self._of(chain), self.first(other)
        if begin == end or first < 0:
            return -1
        finish, order = self._finish, self._order
        at = bisect_right(range(end), self._start[first], begin, key=lambda place: finish[order[place]]) - 1
        return int(self._order[at]) if at >= begin else -1
