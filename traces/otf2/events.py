"""Events of one location of an OTF2 archive, as columns; those that other locations or tasks wait for, as marks.

References
----------
OTF2 3.2, OTF2_EvtReader_inc.c, otf2_events_int.h: types of records and their fields.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simsched.graph.loading import Mend
from simsched.traces.otf2.archive import (
    END_OF_BUFFER,
    END_OF_CHUNK,
    END_OF_FILE,
    HEADER_B,
    LONG,
    UNDEFINED,
    Archive,
    Fields,
    record,
)
from simsched.traces.otf2.definitions import OF_COMMS, OF_CONTEXTS, OF_REGIONS, Definitions, Local, local

Whole = npt.NDArray[np.int64]
TIMESTAMP, ATTRIBUTES = 5, 6
ENTER, LEAVE, ENTER_CONTEXT, LEAVE_CONTEXT = 12, 13, 66, 67
SEND, ISEND, RECEIVE, IRECEIVE, COLLECTIVE = 14, 15, 18, 19, 23
FORK, JOIN, TEAM_BEGIN, TEAM_END = 53, 54, 55, 56
TASK_CREATE, TASK_SWITCH, TASK_COMPLETE = 59, 60, 61
OMP_CREATE, OMP_SWITCH, OMP_COMPLETE = 28, 29, 30
THREAD_CREATE, THREAD_BEGIN, THREAD_WAIT, THREAD_END = 62, 63, 64, 65
#: Not in the file: an event in a task that carries an identifier, and where it is left.
GUID, GUID_LEFT = 200, 201
#: Of each mark, whether its fields are a byte (b) or a number (w).
_MARKS = {
    SEND: "wwww", ISEND: "wwww", RECEIVE: "wwww", IRECEIVE: "wwww", COLLECTIVE: "bww",
    FORK: "b", JOIN: "b", TEAM_BEGIN: "w", TEAM_END: "w",
    TASK_CREATE: "www", TASK_SWITCH: "www", TASK_COMPLETE: "www",
    OMP_CREATE: "w", OMP_SWITCH: "w", OMP_COMPLETE: "w",
    THREAD_CREATE: "ww", THREAD_BEGIN: "ww", THREAD_WAIT: "ww", THREAD_END: "ww",
}  # fmt: skip
#: Marks whose field of this number is a communicator.
_COMM_AT = {
    SEND: 1,
    ISEND: 1,
    RECEIVE: 1,
    IRECEIVE: 1,
    COLLECTIVE: 1,
    TEAM_BEGIN: 0,
    TEAM_END: 0,
} | dict.fromkeys(
    (TASK_CREATE, TASK_SWITCH, TASK_COMPLETE, THREAD_CREATE, THREAD_BEGIN, THREAD_WAIT, THREAD_END), 0
)
#: Records of a single number, whose length is that of the number.
_SINGLE = {ENTER, LEAVE, 16, 17, 20, 21, 24, OMP_CREATE, OMP_SWITCH, OMP_COMPLETE}
#: It has no fields, and its region was entered just before.
_COLLECTIVE_BEGIN = 22
_FIRST_EVENT, _MOST_TICKS = 10, 2**62
#: Bytes of attributes' values, by type; others are numbers as long as they say.
_FIXED_B = {1: 1, 5: 1, 2: 2, 6: 2, 9: 4, 10: 8}
_MOST_SIZE = 4
_PAD = bytes(16)
#: Marks between two looks at how many they are.
_CHECKED = 10_000
_CUT = "a record that is cut off"


@dataclass(frozen=True)
class Mark:
    """An event that others wait for: its place among all events of its location, its type and its fields."""

    event: int
    kind: int
    fields: tuple[int, ...]


@dataclass
class Events:
    """Events of a location in their order.

    Parameters
    ----------
    ticks : int64 array, shape (n,)
        On the clock of all locations.
    kind : int8 array, shape (n,)
        1 where a region is entered, -1 where it is left, 0 at marks.
    region : int64 array, shape (n,)
        Global number of the region; -1 at marks.
    marks : list of Mark
    counts : Counter of int
        Other events by type.
    set_back : int
        Events that came before the one before, and were set to its time.
    """

    ticks: Whole
    kind: npt.NDArray[np.int8]
    region: Whole
    marks: list[Mark]
    counts: Counter[int] = field(default_factory=Counter)
    set_back: int = 0

    def taken(self, kept: Whole) -> Events:
        """Return some of the events, among them all marks, in their order."""
        places = np.searchsorted(kept, [mark.event for mark in self.marks]).tolist()
        marks = [Mark(at, mark.kind, mark.fields) for at, mark in zip(places, self.marks, strict=True)]
        return Events(self.ticks[kept], self.kind[kept], self.region[kept], marks, self.counts, self.set_back)


class _CutOffError(Exception):
    """A record goes beyond its chunk, or is impossible; where it begins, and why."""


class _Stream:
    """Events of a location as they come, a chunk at a time."""

    def __init__(self, guids: dict[int, int], check: Callable[[int], None]) -> None:
        self._guids, self._check = guids, check
        self.marks: list[Mark] = []
        self.counts: Counter[int] = Counter()
        self.ticks: list[Whole] = []
        self.kinds: list[npt.NDArray[np.uint8]] = []
        self.refs: list[Whole] = []
        self._before, self._events, self._last = 0, 0, 0
        self._kinds, self._places, self._times = bytearray(), array("I"), array("I")

    def chunk(self, data: bytes, big: bool) -> bool:
        """Take the events of a chunk; return whether the file ends in it."""
        self._kinds, self._places, self._times = bytearray(), array("I"), array("I")
        try:
            return self._walk(data, big)
        finally:
            self._check(self._held())
            self._decode(data, big)

    def _held(self) -> int:
        """Return how much the events so far count for."""
        return self._events + len(self._kinds) + 4 * len(self.marks)

    def _walk(self, data: bytes, big: bool) -> bool:
        kinds, places, times = self._kinds, self._places, self._times
        at, now, end, begin = HEADER_B, 0, len(data), HEADER_B
        try:
            while True:
                begin = at
                kind = data[at]
                if kind == TIMESTAMP:
                    now, at = at + 1, at + 9
                    if at > end:
                        break
                elif kind in (ENTER, LEAVE):
                    size = data[at + 1]
                    after = at + 2 + size if size != LONG else at + 2
                    if after > end:
                        break
                    kinds.append(kind)
                    places.append(at + 1)
                    times.append(now)
                    at = after
                elif kind >= _FIRST_EVENT or kind == ATTRIBUTES:
                    at = self._other(data, at, now, big)
                elif kind == END_OF_CHUNK:
                    return False
                elif kind in (END_OF_FILE, END_OF_BUFFER):
                    return True
                else:
                    break
        except IndexError as error:
            said = _CUT if "index" in str(error) else str(error)
        else:
            said = _CUT if kind >= TIMESTAMP else f"a record of type {kind}"
        raise _CutOffError(begin, said if begin < end else "no end of the chunk")

    def _other(self, data: bytes, at: int, now: int, big: bool) -> int:
        """Take a record that is no plain entry or exit of a region; return where the next one begins."""
        kind = data[at]
        if kind in _SINGLE:
            size = data[at + 1]
            fields = Fields(data, at + 1, at + 2 + (size if size != LONG else 0), big)
            if fields.end > len(data):
                raise IndexError("a number that is cut off")
        else:
            fields = record(data, at + 1, big)
        if kind in (ENTER_CONTEXT, LEAVE_CONTEXT):
            self._event(kind, fields.at, now)
        elif kind == ATTRIBUTES:
            if self._guids:
                return self._identified(data, fields, now)
        elif kind == _COLLECTIVE_BEGIN:
            pass
        elif kind in _MARKS:
            self._mark(kind, fields.values(_MARKS[kind]), now)
        else:
            self.counts[kind] += 1
        return fields.end

    def _identified(self, data: bytes, fields: Fields, now: int) -> int:
        """Take an entry or exit with attributes: one that names a task is in it."""
        found = _guids(fields, self._guids)
        at = fields.end
        kind = data[at]
        if found is None or kind not in (ENTER, LEAVE):
            return at
        if kind == ENTER:
            self._mark(GUID, found, now)
        after = at + 2 + (data[at + 1] if data[at + 1] != LONG else 0)
        if after > len(data):
            raise IndexError("a region that is cut off")
        self._event(kind, at + 1, now)
        if kind == LEAVE:
            self._mark(GUID_LEFT, found, now)
        return after

    def _mark(self, kind: int, fields: tuple[int, ...], now: int) -> None:
        if not len(self.marks) % _CHECKED:
            self._check(self._held())
        self.marks.append(Mark(self._events + len(self._kinds), kind, fields))
        self._event(0, 0, now)

    def _event(self, kind: int, place: int, now: int) -> None:
        self._kinds.append(kind)
        self._places.append(place)
        self._times.append(now)

    def _decode(self, data: bytes, big: bool) -> None:
        """Decode times and regions of the events that were found in a chunk, all at once."""
        raw = np.frombuffer(data + _PAD, np.uint8)
        kinds = np.frombuffer(self._kinds, np.uint8).copy()
        places = np.frombuffer(self._places, np.uint32).astype(np.int64)
        times = np.frombuffer(self._times, np.uint32).astype(np.int64)
        self.ticks.append(self._ticks(raw, times, big))
        self.refs.append(_numbers(raw, kinds, places, big))
        self.kinds.append(kinds)
        self._events += len(kinds)

    def _ticks(self, raw: npt.NDArray[np.uint8], times: Whole, big: bool) -> Whole:
        each, which = np.unique(times, return_inverse=True)
        ticks = np.ascontiguousarray(raw[each[:, None] + np.arange(8)]).view(">u8" if big else "<u8")[:, 0]
        # Beyond any clock; the reader refuses it.
        found = np.minimum(ticks, _MOST_TICKS).astype(np.int64)
        # Before the first time of a chunk, the last one of the chunk before holds.
        found[each == 0] = self._last
        if len(which):
            self._last = int(found[which[-1]])
        every: Whole = found[which]
        return every


def _numbers(raw: npt.NDArray[np.uint8], kinds: npt.NDArray[np.uint8], places: Whole, big: bool) -> Whole:
    """Return the number at each place, `UNDEFINED` at marks and where there is none; -2 where it is too long."""
    sizes = raw[places].astype(np.int64)
    found = np.zeros(len(places), np.int64)
    for byte in range(_MOST_SIZE):
        more = raw[places + 1 + byte].astype(np.int64)
        added = found << 8 | more if big else found | more << 8 * byte
        found = np.where(byte < sizes, added, found)
    found[sizes > _MOST_SIZE] = -2
    found[(sizes == LONG) | (kinds == 0)] = UNDEFINED
    return found


def _guids(fields: Fields, wanted: dict[int, int]) -> tuple[int, ...] | None:
    """Return the identifiers of a task and of its parent (`UNDEFINED` for none) among attributes; None without one."""
    found = [UNDEFINED, UNDEFINED]
    for _ in range(fields.whole()):
        name, kind = fields.whole(), fields.byte()
        value = fields.full(_FIXED_B[kind]) if kind in _FIXED_B else fields.whole()
        if name in wanted:
            found[wanted[name]] = value
    return tuple(found) if found[0] != UNDEFINED else None


def events(
    archive: Archive, told: Definitions, location: int, mend: Mend | None, held: int = 0
) -> Events | None:
    """Return the events of a location; None where it has no file.

    Parameters
    ----------
    archive : Archive
    told : Definitions
    location : int
        Its number.
    mend : callable, optional
        If given, a file that is cut off or damaged ends there, and `mend` is called with a sentence.
    held : int
        What other locations count for; see `Archive.check`.

    Raises
    ------
    FormatError
        If the file is damaged or cut off.
    """
    name = archive.member(location, "evt")
    if not archive.has(name):
        return None
    own = local(archive, location)
    guids = {ref: 0 for ref, said in told.attributes.items() if said == "GUID"}
    guids |= {ref: 1 for ref, said in told.attributes.items() if said == "Parent GUID"}
    stream = _Stream(guids if 0 in guids.values() else {}, lambda count: archive.check(held + count))
    error, begin = None, 0
    for begin, chunk, big in archive.chunks(name, archive.anchor.events_chunk_B):
        try:
            if stream.chunk(chunk, big):
                break
        except _CutOffError as found:
            error = archive.wrong(name, begin + found.args[0], found.args[1])
            break
    else:
        error = archive.wrong(name, begin, "the file ends without its end mark")
    if error is not None:
        if mend is None:
            raise error
        mend(f"{name}: what comes before its damaged or missing end was read")
    return _events(archive, name, stream, own)


def _events(archive: Archive, name: str, stream: _Stream, own: Local) -> Events:
    kinds = np.concatenate([np.zeros(0, np.uint8), *stream.kinds])
    refs = np.concatenate([np.zeros(0, np.int64), *stream.refs])
    ticks = np.concatenate([np.zeros(0, np.int64), *stream.ticks])
    stream.kinds, stream.refs, stream.ticks = [], [], []
    if len(refs) and refs.min() < UNDEFINED:
        raise archive.wrong(name, 0, "a region's number of more than four bytes")
    if len(ticks) and ticks.max() >= _MOST_TICKS:
        raise archive.wrong(name, 0, "a time of more than 62 bits")
    ticks = own.on_global_clock(ticks)
    ordered = np.maximum.accumulate(ticks)
    for kinds_of, table in (((ENTER, LEAVE), OF_REGIONS), ((ENTER_CONTEXT, LEAVE_CONTEXT), OF_CONTEXTS)):
        if table in own.maps:
            chosen = np.isin(kinds, kinds_of)
            refs[chosen] = own.renamed(table, refs[chosen])
    found = Events(
        ordered,
        np.isin(kinds, (ENTER, ENTER_CONTEXT)).astype(np.int8)
        - np.isin(kinds, (LEAVE, LEAVE_CONTEXT)).astype(np.int8),
        refs,
        [_renamed(mark, own) for mark in stream.marks],
        stream.counts,
        int((ordered != ticks).sum()),
    )
    contexts = np.isin(kinds, (ENTER_CONTEXT, LEAVE_CONTEXT))
    if contexts.any():
        # Told apart from regions, which have numbers of their own.
        refs[contexts] = -2 - refs[contexts]
    return found


def _renamed(mark: Mark, own: Local) -> Mark:
    at = _COMM_AT.get(mark.kind)
    if at is None or OF_COMMS not in own.maps:
        return mark
    fields = list(mark.fields)
    fields[at] = own.maps[OF_COMMS].get(fields[at], fields[at])
    return Mark(mark.event, mark.kind, tuple(fields))
