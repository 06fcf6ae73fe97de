"""The data of a running replay: where objects are, and who waits for them (docs/semantics.md, Data)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil, inf

from simsched.errors import EngineError
from simsched.graph.adjacency import Csr
from simsched.replay.data import DataPlan, Later, Mail, Message, OnWay
from simsched.replay.decision import Decision
from simsched.replay.room import Entry, Room
from simsched.schedule.transfers import Messages


class Caches:
    """Objects near each place: the last ones that were read or written there, as many as fit.

    Parameters
    ----------
    plan : DataPlan
    """

    def __init__(self, plan: DataPlan) -> None:
        self._network, self._capacity_B = plan.network, plan.cache_B
        self._size_B = [ceil(size) for size in plan.size_B.tolist()]
        self._n_caches = int(plan.network.place_of.max()) + 1
        self._near: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(self._n_caches)]
        self._used_B = [0] * self._n_caches

    def read(self, objects: Sequence[int], place: int, at: Sequence[int]) -> list[tuple[int, int]]:
        """Return the objects that are not near a place, each with whence it is read; from now on they are near."""
        found = []
        for one in objects:
            if one not in self._near[place]:
                source = self._source(one, at[one])
                if source != place:
                    found.append((one, source))
            self._keep(one, place)
        return found

    def far(self, objects: Sequence[int], place: int, at: Sequence[int]) -> list[tuple[int, int]]:
        """Return the same as `read` would, and leave all as it is."""
        if self._capacity_B == inf:
            near = self._near[place]
            return [(one, at[one]) for one in objects if one not in near and at[one] != place]
        near, used_B = self._near[place].copy(), self._used_B[place]
        found = self.read(objects, place, at)
        self._near[place], self._used_B[place] = near, used_B
        return found

    def has(self, one: int, place: int) -> bool:
        """Return whether an object is near a place."""
        return one in self._near[place]

    def write(self, objects: Iterable[int], place: int) -> None:
        """Keep what a task has written near its place."""
        for one in objects:
            self._keep(one, place)

    def leave(self, one: int, place: int) -> None:
        """Note that an object is not near a place any more."""
        if one in self._near[place]:
            del self._near[place][one]
            self._used_B[place] -= self._size_B[one]

    def _source(self, one: int, at: int) -> int:
        """Return whence an object is read: where it was written, while it is kept there; else the memory below."""
        kept = self._capacity_B == inf or at >= self._n_caches or one in self._near[at]
        return at if kept else self._network.below(at, one)

    def _keep(self, one: int, place: int) -> None:
        """Put an object near a place; what was there longest without use makes room."""
        near, size_B = self._near[place], self._size_B[one]
        if one in near:
            near.move_to_end(one)
        elif size_B <= self._capacity_B:
            near[one] = None
            self._used_B[place] += size_B
            while self._used_B[place] > self._capacity_B:
                self._used_B[place] -= self._size_B[near.popitem(last=False)[0]]


NOWHERE = -1


class DataState:
    """Where objects are, and what is on its way.

    Parameters
    ----------
    plan : DataPlan
    later : callable
        Times messages; see `Later`.
    """

    def __init__(self, plan: DataPlan, later: Later) -> None:
        self._through = plan.through
        self._network, self._size_B = plan.network, plan.size_B.tolist()
        self._latency_s, self._s_per_B = (table.tolist() for table in plan.network.tables)
        self._inputs, self._written = _rows(plan.inputs), _rows(plan.written)
        self._place_of = plan.place_of.tolist()
        self._at: list[int] = plan.home.tolist()  # whence each object is sent or read
        self._producer, self._goes_to = plan.producer.tolist(), plan.goes_to.tolist()
        self._place: dict[int, int] = {}  # of each task that was placed
        self.placed_s = [0.0] * plan.inputs.n
        # Of each object that was asked for at a place, the tasks that wait for it; none once it is there.
        self._asked: dict[tuple[int, int], list[int] | None] = {}
        self._wanted: dict[int, list[int]] = {}  # places of objects that are nowhere yet
        self._missing: dict[int, int] = {}  # objects that each task waits for
        self._waiting: dict[int, Decision] = {}
        self._startable: list[int] = []
        self._reads: dict[
            int, list[tuple[int, int]]
        ] = {}  # what each running task has yet to read, the next one last
        self._read_by: dict[int, int] = {}  # task that each message is read by
        self.begun_s = [0.0] * plan.inputs.n
        self._spills: set[int] = set()
        self._now_s = 0.0
        self.mail = Mail(plan, later)
        self._caches = Caches(plan) if plan.read else None
        self._room = Room(plan, self._at, self._forget, self._spill) if plan.limit else None
        self._planned = plan.planned

    def open(self) -> None:
        """Ask for what planned tasks read, in the order of the tasks, at the places where they will run."""
        if self._planned is not None:
            for task, place in enumerate(self._planned.tolist()):
                for one in self._moved(task):
                    if self._at[one] != NOWHERE or self._writer_elsewhere(one, place):
                        self._ask(one, place)

    def _writer_elsewhere(self, one: int, place: int) -> bool:
        """Return whether an object that is planned to be written gets to a place only by being sent."""
        assert self._planned is not None  # noqa: S101 - narrows the type: only called for plans
        return self._through != NOWHERE or int(self._planned[self._producer[one]]) != place

    def _moved(self, task: int) -> list[int]:
        """Return the objects that a task reads, less the inputs that are everywhere."""
        return [one for one in self._inputs[task] if self._producer[one] >= 0 or self._at[one] != NOWHERE]

    def placed(self, decision: Decision, now_s: float) -> bool:
        """Note where a task runs; return whether it can begin, rather than wait for room or for what it reads."""
        task, self._now_s = decision.task, now_s
        self._place[task], self.placed_s[task] = self._place_of[decision.cores[0]], now_s
        if self._room and not self._room.enters(self._entry(task)):
            self._waiting[task] = decision
            return False
        return self._fetched(decision)

    def _entry(self, task: int) -> Entry:
        """Return what a task needs at its place."""
        here, read, written = self._place[task], self._moved(task), self._written[task]
        used = [(one, self._at[one] if self._caches else here) for one in read]
        brought = [] if self._caches else [one for one in read if not self._near(one, here)]
        return Entry(task, here, [*written, *brought], [*used, *((one, here) for one in written)])

    def _near(self, one: int, place: int) -> bool:
        """Return whether an object is at a place, or was asked for there."""
        return (self._at[one] == place and self._through != place) or (one, place) in self._asked

    def is_near(self, one: int, place: int) -> bool:
        """Return whether an object is at a place, or on its way there; inputs that are everywhere are at each."""
        if self._producer[one] < 0 and self._at[one] == NOWHERE:
            return True
        return self._caches.has(one, place) if self._caches else self._near(one, place)

    def where(self, one: int) -> int:
        """Return whence an object is sent or read; -1 for nowhere."""
        return self._at[one]

    def on_way(self, one: int, place: int) -> OnWay | None:
        """Return how far an object is on its way to a place; None where it is not."""
        return self.mail.on_way(one, place)

    def far(self, task: int, place: int) -> list[tuple[int, int]]:
        """Return the objects that a task would read from afar at a place, each with whence; none if sent."""
        return self._caches.far(self._moved(task), place, self._at) if self._caches else []

    def missing_s(self, task: int, thread: int, *, longest: bool) -> float:
        """Return the seconds to move a task's missing data to a thread's place, one after another or the longest."""
        place, total_s = self._place_of[thread], 0.0
        for one in self._inputs[task]:
            if not self.is_near(one, place):
                source = self._network.host if self._at[one] == NOWHERE else self._at[one]
                seconds = self._latency_s[source][place] + self._size_B[one] * self._s_per_B[source][place]
                total_s = max(total_s, seconds) if longest else total_s + seconds
        return total_s

    def missing_B(self, task: int, thread: int) -> tuple[float, float]:
        """Return the bytes that a task reads and are not at a thread's place, and those not on their way either."""
        place, absent_B, unasked_B = self._place_of[thread], 0.0, 0.0
        for one in self._moved(task):
            if self._is_there(one, place):
                continue
            absent_B += self._size_B[one]
            if (one, place) not in self._asked:
                unasked_B += self._size_B[one]
        return absent_B, unasked_B

    def _is_there(self, one: int, place: int) -> bool:
        if self._caches:
            return self._caches.has(one, place)
        return self._at[one] == place or self._asked.get((one, place), ()) is None

    def prefetch(self, task: int, thread: int, now_s: float) -> None:
        """Ask for what a task reads at the place of a thread, before the task is placed there."""
        if self._caches or self._room:
            return
        place, self._now_s = self._place_of[thread], now_s
        for one in self._moved(task):
            if self._at[one] != place:
                self._ask(one, place)

    def held_B(self, place: int) -> int:
        """Return the bytes taken at a place; 0 where they are not counted."""
        return self._room.held_B(place) if self._room else 0

    def _fetched(self, decision: Decision) -> bool:
        """Ask for what a task reads; return whether it can begin."""
        task = decision.task
        if not self._caches:
            self._ask_for_all(task)
        if self._room:
            self._room.asked(self._moved(task))
        if self._missing.get(task):
            self._waiting[task] = decision
            return False
        return True

    def _ask_for_all(self, task: int) -> None:
        """Ask for what a task reads where it was placed, and count what it waits for."""
        here = self._place[task]
        for one in self._moved(task):
            if self._at[one] == here:
                continue
            if (one, here) not in self._asked:
                self._ask(one, here)
            if (waiting := self._asked[one, here]) is not None:
                waiting.append(task)
                self._missing[task] = self._missing.get(task, 0) + 1

    def moments(self, task: int) -> tuple[float, float]:
        """Return when a task that computes was placed, and when it began to compute."""
        return self.placed_s[task], self.begun_s[task]

    def computes(self, decision: Decision, now_s: float) -> bool:
        """Return whether a task that starts computes at once, rather than read from afar first."""
        task, self._now_s = decision.task, now_s
        if self._caches:
            self._reads[task] = self._caches.read(self._moved(task), self._place[task], self._at)[::-1]
            if not self._read_on(task):
                self._waiting[task] = decision
                return False
        self.begun_s[task] = now_s
        return True

    def _read_on(self, task: int) -> bool:
        """Read one object after another; return whether a task has read all."""
        while self._reads[task]:
            one, source = self._reads[task].pop()
            number = self.mail.send(one, source, self._place[task], self._now_s)
            if not self.mail.sent[number].there:
                self._read_by[number] = task
                return False
        return True

    def _ask(self, one: int, place: int) -> None:
        """Have an object sent to a place once; later, where it is nowhere yet."""
        if (one, place) in self._asked:
            return
        self._asked[one, place] = []
        if self._at[one] == NOWHERE:
            self._wanted.setdefault(one, []).append(place)
        else:
            self._send(one, self._at[one], place)

    def _send(self, one: int, source: int, place: int) -> int:
        number = self.mail.send(one, source, place, self._now_s)
        message = self.mail.sent[number]
        if self._room:
            self._room.departs(message)
        if message.there:
            self._arrived(number, message)
        return number

    def aborted(self, task: int) -> None:
        """Give back the room of a task that starts anew later, and of what it would have written."""
        if self._room:
            self._room.aborted(task, self._place[task], self._written[task])

    def _available(self, one: int, place: int) -> None:
        """Send an object, from where it now is, to the places that want it."""
        self._at[one] = place
        for to in self._wanted.pop(one, []):
            self._send(one, place, to)

    def finished(self, task: int, now_s: float) -> None:
        """Let what a task has written be where it ran, and send it where it goes."""
        here, self._now_s = self._place[task], now_s
        if self._caches:
            self._caches.write(self._written[task], here)
        for one in self._written[task]:
            if self._through == NOWHERE:
                self._available(one, here)
            if self._goes_to[one] not in (NOWHERE, here):
                self._send(one, here, self._goes_to[one])
        if self._room:
            self._room.finished(task, self._moved(task))

    def _arrived(self, number: int, message: Message) -> None:
        one, place = message.object, message.place
        for task in self._asked.get((one, place)) or ():
            self._missing[task] -= 1
            if not self._missing[task]:
                self._startable.append(task)
        if (one, place) in self._asked:
            self._asked[one, place] = None
        if self._room:
            self._room.arrives(message)
            if number in self._spills and self._room.spilled(one, message.source):
                self._at[one] = place
                if self._caches:
                    self._caches.leave(one, message.source)
        if place == self._through and self._at[one] == NOWHERE:
            self._available(one, place)

    def _forget(self, one: int, place: int) -> None:
        if (
            self._asked.get((one, place), ()) is None
        ):  # it was there; what is still on its way stays asked for
            del self._asked[one, place]

    def _spill(self, one: int, place: int) -> None:
        self._spills.add(len(self.mail.sent))
        self._send(one, place, self._network.below(place, one))

    def settle(self, due: Iterable[int], now_s: float) -> list[Decision]:
        """Handle what happens to messages at an instant; return the tasks that can start, or compute, ascending."""
        self._now_s = now_s
        for number in sorted(due):
            if (message := self.mail.happened(number, now_s)) is None:
                continue
            if (task := self._read_by.pop(number, None)) is None:
                self._arrived(number, message)
            elif self._read_on(task):
                self.begun_s[task] = now_s
                self._startable.append(task)
        if self._room:
            self._let_in(self._room)
        found = [self._waiting.pop(task) for task in sorted(self._startable)]
        self._startable.clear()
        return found

    def has_room(self) -> bool:
        """Return whether room may have become free since tasks were let in."""
        return self._room is not None and self._room.has_changed

    def _let_in(self, room: Room) -> None:
        while places := room.changed():
            for place in places:
                while (first := room.waiting(place)) is not None and room.lets_in(self._entry(first.task)):
                    decision = self._waiting.pop(first.task)
                    if self._fetched(decision):
                        self._waiting[first.task] = decision
                        self._startable.append(first.task)

    def stuck(self) -> EngineError | None:
        """Return the error that says what waits for room in vain; None where nothing does."""
        if self._room is None:
            return None
        entries = (self._room.waiting(place) for place in range(self._network.n_places))
        first = next((entry for entry in entries if entry is not None), None)
        return None if first is None else self._room.waits_for_ever(self._entry(first.task))

    def columns(self) -> Messages:
        """Return what was sent."""
        return self.mail.columns(self.placed_s, self.begun_s)


def _rows(rows: Csr) -> list[list[int]]:
    """Return the entries of each row."""
    indptr, indices = rows.indptr.tolist(), rows.indices.tolist()
    return [indices[a:b] for a, b in pairwise(indptr)]
