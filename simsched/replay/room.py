"""Room for objects at places that hold no more than their size (docs/semantics.md, Limits of memory)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf

from simsched.errors import MemoryLimitError
from simsched.replay.data import DataPlan, Message
from simsched.units import format_bytes


@dataclass(slots=True)
class Copy:
    """An object at a place.

    Parameters
    ----------
    size_B : int
    uses : int
        Tasks that read or write it, and messages that bring it or take it away.
    last : int
        When it was last used, as a count of such events.
    leaving : bool
        Whether it is on its way to the memory below.
    """

    size_B: int
    uses: int = 0
    last: int = 0
    leaving: bool = False


@dataclass(frozen=True)
class Entry:
    """What a task needs at its place.

    Parameters
    ----------
    task, place : int
    new : sequence of int
        Objects that it writes there, or has brought there.
    used : sequence of (object, place)
        Copies that it uses until it has finished.
    """

    task: int
    place: int
    new: Sequence[int]
    used: Sequence[tuple[int, int]]


class Room:
    """Bytes that objects take at each place, and tasks that wait for room there.

    Parameters
    ----------
    plan : DataPlan
    at : list of int
        Place whence each object is sent or read, kept by others.
    forget : callable
        Called with an object and a place that does not have it any more.
    spill : callable
        Called with an object and a place that it has to leave.
    """

    def __init__(
        self,
        plan: DataPlan,
        at: list[int],
        forget: Callable[[int, int], None],
        spill: Callable[[int, int], None],
    ) -> None:
        self._plan, self._spills, self._aborts = plan, plan.limit == "spill", plan.aborts
        self._at, self._forget, self._spill = at, forget, spill
        self._limit_B: list[float] = plan.network.size_B.tolist()
        self._size_B = [ceil(size) for size in plan.size_B.tolist()]
        self._to_come: list[int] = plan.readers.tolist()  # readers that may still be placed
        stays = (plan.readers == 0) & (plan.goes_to < 0)
        self._stays: list[bool] = stays.tolist()
        n = plan.network.n_places
        self._held_B, self._leaving_B = [0] * n, [0] * n
        self._copies: list[dict[int, Copy]] = [{} for _ in range(n)]
        self._holders: list[list[int]] = [[] for _ in self._size_B]  # places that have a copy of each object
        self._queues: list[deque[Entry]] = [deque() for _ in range(n)]
        self._changed: set[int] = set()
        self._uses: dict[int, Sequence[tuple[int, int]]] = {}  # of each task in its place
        self._events = 0

    def enters(self, entry: Entry) -> bool:
        """Take room for a task that was placed; where there is none, or others wait for it, let it wait, too."""
        queue = self._queues[entry.place]
        if not queue and self._takes(entry):
            return True
        queue.append(entry)
        return False

    def held_B(self, place: int) -> int:
        """Return the bytes that objects take at a place."""
        return self._held_B[place]

    def waiting(self, place: int) -> Entry | None:
        """Return the first entry that waits for room at a place."""
        return self._queues[place][0] if self._queues[place] else None

    @property
    def has_changed(self) -> bool:
        """Whether room may have become free since the last call of `changed`."""
        return bool(self._changed)

    def changed(self) -> list[int]:
        """Return the places where room may have become free since the last call, ascending."""
        places = sorted(self._changed)
        self._changed.clear()
        return places

    def lets_in(self, entry: Entry) -> bool:
        """Take room for the first entry that waits at a place, where there is some now."""
        if not self._takes(entry):
            return False
        self._queues[entry.place].popleft()
        return True

    def _takes(self, entry: Entry) -> bool:
        place = entry.place
        new, need_B = self._needs(entry)
        if self._limit_B[place] < inf and not self._fits(need_B, entry):
            return False
        for one in new:
            self._copies[place][one] = Copy(self._size_B[one])
            self._holders[one].append(place)
            self._held_B[place] += self._size_B[one]
        self._uses[entry.task] = entry.used
        for one, where in entry.used:
            self._use(one, where)
        return True

    def _needs(self, entry: Entry) -> tuple[list[int], int]:
        """Return the objects that have no copy yet where a task needs them, and their bytes."""
        new = [one for one in entry.new if one not in self._copies[entry.place]]
        return new, sum(self._size_B[one] for one in new)

    def _fits(self, need_B: int, entry: Entry) -> bool:
        place = entry.place
        wanted = {one for one, where in entry.used if where == place}
        whole_B = need_B + sum(self._size_B[one] for one in wanted if one in self._copies[place])
        if whole_B > self._limit_B[place]:
            raise no_room(self._plan, entry.task, place, whole_B, self._held_B[place], waits=False)
        if self._spills:
            self._make_room(need_B, place, wanted)
        return self._held_B[place] + need_B <= self._limit_B[place]

    def _make_room(self, need_B: int, place: int, wanted: set[int]) -> None:
        """Give up copies that nobody uses, those not used for longest first."""
        copies = self._copies[place]
        idle = [
            (copy.last, one)
            for one, copy in copies.items()
            if not copy.uses and not copy.leaving and one not in wanted
        ]
        for _, one in sorted(idle):
            if self._held_B[place] - self._leaving_B[place] + need_B <= self._limit_B[place]:
                return
            if self._at[one] == place:
                copies[one].leaving = True
                self._leaving_B[place] += copies[one].size_B
                self._spill(one, place)
            else:
                self._drop(one, place)
                self._forget(one, place)

    def _drop(self, one: int, place: int) -> None:
        self._held_B[place] -= self._copies[place].pop(one).size_B
        self._holders[one].remove(place)
        self._changed.add(place)

    def _use(self, one: int, place: int) -> None:
        self._events += 1
        if (copy := self._copies[place].get(one)) is not None:
            copy.uses += 1
            copy.last = self._events

    def _release(self, one: int, place: int) -> None:
        self._events += 1
        if (copy := self._copies[place].get(one)) is None:
            return
        copy.uses -= 1
        copy.last = self._events
        if not copy.uses:
            self._changed.add(place)
        self._drop_idle(one, place)

    def _drop_idle(self, one: int, place: int) -> None:
        """Give up a copy that nobody uses, or will."""
        copy = self._copies[place][one]
        if not copy.uses and not copy.leaving and not self._to_come[one] and not self._stays[one]:
            self._drop(one, place)
            self._forget(one, place)

    def asked(self, read: Sequence[int]) -> None:
        """Note that a task has asked for what it reads; where it is the last to do so, copies elsewhere may go."""
        if not self._aborts:
            self._came(read)

    def _came(self, read: Sequence[int]) -> None:
        for one in read:
            self._to_come[one] -= 1
            if not self._to_come[one]:
                for place in self._holders[one].copy():
                    self._drop_idle(one, place)

    def finished(self, task: int, read: Sequence[int]) -> None:
        """Give back what a task used."""
        self._give_back(task)
        if self._aborts:
            self._came(read)

    def _give_back(self, task: int) -> None:
        for one, place in self._uses.pop(task):
            self._release(one, place)

    def aborted(self, task: int, place: int, written: Sequence[int]) -> None:
        """Give back what a task used that will be placed again, and the room for what it would have written."""
        self._give_back(task)
        for one in written:
            if one in self._copies[place]:
                self._drop(one, place)

    def departs(self, message: Message) -> None:
        """Note that a message uses the copy that it takes away and the one that it brings."""
        self._use(message.object, message.source)
        self._use(message.object, message.place)

    def arrives(self, message: Message) -> None:
        """Note that a message has arrived."""
        self._release(message.object, message.source)
        self._release(message.object, message.place)

    def spilled(self, one: int, place: int) -> bool:
        """Give up a copy that has arrived in the memory below; return whether it went, as nobody uses it again."""
        copy = self._copies[place][one]
        copy.leaving = False
        self._leaving_B[place] -= copy.size_B
        self._changed.add(place)
        if copy.uses:
            return False
        self._drop(one, place)
        return True

    def waits_for_ever(self, entry: Entry) -> MemoryLimitError:
        """Return the error that says what a task waits for in vain."""
        _, need_B = self._needs(entry)
        return no_room(self._plan, entry.task, entry.place, need_B, self._held_B[entry.place], waits=True)


def no_room(
    plan: DataPlan, task: int, place: int, need_B: int, held_B: int, *, waits: bool
) -> MemoryLimitError:
    """Return the error that says that a place is too small for a task, alone or beside what tasks still need."""
    limit_B, name = float(plan.network.size_B[place]), plan.network.names[place]
    if not waits:
        return MemoryLimitError(
            f"task {task} needs {format_bytes(need_B)} for what it reads and writes at {name}, which holds "
            f"{format_bytes(limit_B)}; memory_limit='note' lets it run all the same"
        )
    return MemoryLimitError(
        f"task {task} waits for {format_bytes(need_B)} at {name} for ever: {format_bytes(held_B)} of "
        f"{format_bytes(limit_B)} are taken by objects that tasks still need"
        + ("" if plan.limit == "spill" else "; memory_limit='spill' moves these to the memory below")
    )
