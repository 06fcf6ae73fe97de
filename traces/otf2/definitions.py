"""Definitions of an OTF2 archive: what its events refer to by number, for all locations and for each.

References
----------
OTF2 3.2, OTF2_GlobalDefReader_inc.c and OTF2_DefReader_inc.c: types of records and their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.traces.otf2.archive import UNDEFINED, Archive, Fields

(CLOCK, _STRING, _ATTRIBUTE, _NODE, _PROCESS, _LOCATION, _REGION, _GROUP, _COMM, _CONTEXT) = (
    5, 10, 11, 12, 13, 14, 15, 18, 22, 34,
)  # fmt: skip
_MAPPING, _OFFSET = 5, 6
#: Kinds of mapping tables.
OF_REGIONS, OF_COMMS, OF_CONTEXTS = 3, 6, 10
_DENSE = 0
#: Locations that record metrics alone.
METRICS = 3
MPI = 4
BARRIERS, TASK_WAIT, THREAD_WAIT = (15, 16), 22, 33
#: Groups: locations or, since OTF2 3.1, processes that communicate, and ranks among these.
_LOCATIONS, _PROCESSES, _RANKS, _SELF = 4, 7, 5, 6
MOST_RESOLUTION = 10**15


@dataclass(frozen=True)
class Region:
    """A function, a loop, a construct of OpenMP: its name, its role and the number of its paradigm."""

    name: str
    role: int
    paradigm: int


@dataclass(frozen=True)
class Location:
    """A thread or a stream: its name, its kind and its process."""

    name: str
    kind: int
    process: int


@dataclass
class Clock:
    """Ticks per second, and the tick at which the recording began."""

    resolution: int = 0
    offset: int = 0


@dataclass
class Definitions:
    """Global definitions, by their numbers.

    Parameters
    ----------
    regions, locations : mappings
    processes : mapping
        Name of each group of locations, and the node that it ran on.
    nodes : mapping
        Class, name and parent of each node of the system.
    comms : mapping
        The group of each communicator or team.
    groups : mapping
        Kind, paradigm and members of each group.
    contexts : mapping
        The region of each calling context.
    attributes : mapping
        Names of attributes of events.
    clock : Clock
    """

    regions: dict[int, Region] = field(default_factory=dict)
    locations: dict[int, Location] = field(default_factory=dict)
    processes: dict[int, tuple[str, int]] = field(default_factory=dict)
    nodes: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    comms: dict[int, int] = field(default_factory=dict)
    groups: dict[int, tuple[int, int, list[int]]] = field(default_factory=dict)
    contexts: dict[int, int] = field(default_factory=dict)
    attributes: dict[int, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)

    def members(self, comm: int) -> list[int] | None:
        """Return the process of each rank of a communicator; None where it is the process that asks alone."""
        kind, paradigm, members = self.groups.get(self.comms.get(comm, UNDEFINED), (0, 0, []))
        if kind == _SELF:
            return None
        if kind != _RANKS:
            return self._processes(kind, members)
        every = next(
            (
                self._processes(of, told)
                for of, its, told in self.groups.values()
                if of in (_LOCATIONS, _PROCESSES) and its in (paradigm, UNDEFINED)
            ),
            [],
        )
        return [every[rank] if 0 <= rank < len(every) else UNDEFINED for rank in members]

    def _processes(self, kind: int, members: list[int]) -> list[int]:
        """Return the processes of a group's members, which may be locations."""
        if kind == _PROCESSES:
            return members
        return [self.locations[one].process if one in self.locations else UNDEFINED for one in members]


class _Reading:
    """Global definitions as they come; names are numbers of texts, which may be defined later."""

    def __init__(self, archive: Archive) -> None:
        self._archive, self._count = archive, 0
        self.texts: dict[int, str] = {}
        self.found = Definitions()
        self.named: dict[int, dict[int, tuple[int, ...]]] = {kind: {} for kind in _NAMED}

    def take(self, kind: int, fields: Fields) -> None:
        self._count += 1 + (fields.end - fields.at if kind == _GROUP else 0)
        self._archive.check(4 * self._count)
        found, first = self.found, fields.whole()
        if kind == CLOCK:
            found.clock = Clock(first, fields.whole())
        elif kind == _STRING:
            self.texts[first] = fields.text()
        elif kind == _GROUP:
            found.groups[first] = _group(fields)
        elif kind == _COMM:
            found.comms[first] = fields.values("ww")[1]
        elif kind == _CONTEXT:
            found.contexts[first] = fields.whole()
        elif kind in _NAMED:
            told = fields.values(_NAMED[kind])
            if kind == _REGION:
                told = told[0], *(fields.values(_SINCE_1_2) if fields.at < fields.end else (UNDEFINED, 0, 0))
            self.named[kind][first] = told

    def done(self) -> Definitions:
        """Return the definitions with their names."""
        found, said = self.found, self.texts
        found.attributes = {ref: said.get(name, "") for ref, (name,) in self.named[_ATTRIBUTE].items()}
        found.nodes = {
            ref: (said.get(kind, ""), said.get(name, ""), parent)
            for ref, (name, kind, parent) in self.named[_NODE].items()
        }
        found.processes = {
            ref: (said.get(name, "") or f"process {ref}", node)
            for ref, (name, _, node) in self.named[_PROCESS].items()
        }
        found.locations = {
            ref: Location(said.get(name, "") or f"location {ref}", kind, process)
            for ref, (name, kind, _, process) in self.named[_LOCATION].items()
        }
        found.regions = {
            ref: Region(said.get(name, "") or said.get(other, "") or f"region {ref}", role, paradigm)
            for ref, (name, other, role, paradigm) in self.named[_REGION].items()
        }
        return found


#: Fields of definitions that have names, after their number, as `Fields.values` takes them: the name is the first.
_NAMED = {_ATTRIBUTE: "w", _NODE: "www", _PROCESS: "wbw", _LOCATION: "wbww", _REGION: "wwbwww"}
#: What regions have since version 1.2, behind these: canonical name, role and paradigm.
_SINCE_1_2 = "wbb"

_READ = {CLOCK, _STRING, _GROUP, _COMM, _CONTEXT, *_NAMED}


def _group(fields: Fields) -> tuple[int, int, list[int]]:
    _name, old, count = fields.values("wbw")
    if count > fields.end - fields.at:
        raise IndexError(f"a group of {count} members in {fields.end - fields.at} bytes")
    members = [fields.whole() for _ in range(max(count, 0))]
    return (old, UNDEFINED, members) if fields.at == fields.end else (fields.byte(), fields.byte(), members)


def definitions(archive: Archive) -> Definitions:
    """Return the global definitions of an archive.

    Raises
    ------
    FormatError
        If they are damaged or cut off, or have no clock.
    """
    reading = _Reading(archive)
    for at, kind, fields in archive.records(archive.definitions):
        if kind not in _READ:
            continue
        try:
            reading.take(kind, fields)
        except IndexError as error:
            raise archive.wrong(archive.definitions, at, str(error)) from None
    found = reading.done()
    budget().check(archive.path, len(found.locations), "columns")
    if not 0 < found.clock.resolution <= MOST_RESOLUTION:
        raise FormatError(
            f"{archive.path}: {archive.definitions}: the clock counts {found.clock.resolution} ticks per second; "
            f"expected 1 to {MOST_RESOLUTION}; is the archive complete?"
        )
    return found


@dataclass
class Local:
    """Mappings of a location: its own numbers by kind, and offsets of its clock."""

    maps: dict[int, dict[int, int]] = field(default_factory=dict)
    offsets: list[tuple[int, int]] = field(default_factory=list)

    def renamed(self, kind: int, refs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the global numbers of local ones."""
        if kind not in self.maps:
            return refs
        each, which = np.unique(refs, return_inverse=True)
        return np.array([self.maps[kind].get(ref, ref) for ref in each.tolist()], np.int64)[which]

    def on_global_clock(self, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return ticks plus the clock's offset: a line between two measurements of it, which goes on at the ends."""
        if len(self.offsets) < 2:
            return ticks
        times, offsets = np.array(self.offsets, np.int64).T
        at = np.clip(np.searchsorted(times, ticks) - 1, 0, len(times) - 2)
        slope = np.diff(offsets) / np.diff(times)
        corrected: npt.NDArray[np.int64] = (
            ticks + offsets[at] + np.rint(slope[at] * (ticks - times[at])).astype(np.int64)
        )
        return corrected


def local(archive: Archive, location: int) -> Local:
    """Return the definitions of a location; none where it has no file.

    Raises
    ------
    FormatError
        If the file is damaged or cut off.
    """
    name, found = archive.member(location, "def"), Local()
    if not archive.has(name):
        return found
    for at, kind, fields in archive.records(name):
        try:
            if kind == _MAPPING:
                of = fields.byte()
                archive.check(4 * (fields.end - fields.at))
                found.maps[of] = dict(_mapping(fields))
            elif kind == _OFFSET:
                time, offset = fields.full(), fields.whole()
                found.offsets.append((time, offset - 2**64 if offset >= 2**63 else offset))
        except IndexError as error:
            raise archive.wrong(name, at, str(error)) from None
    _checked(archive, name, found.offsets)
    return found


def _mapping(fields: Fields) -> Mapping[int, int]:
    count, mode = fields.values("wb")
    if count > fields.end - fields.at:
        raise IndexError(f"a table of {count} numbers in {fields.end - fields.at} bytes")
    if mode == _DENSE:
        return {own: fields.whole() for own in range(max(count, 0))}
    return {fields.whole(): fields.whole() for _ in range(max(count, 0))}


def _checked(archive: Archive, name: str, offsets: list[tuple[int, int]]) -> None:
    for (before, _), (after, _) in pairwise(offsets):
        if after <= before:
            raise archive.wrong(name, 0, f"offsets of the clock at {before} and then {after}")
    if any(time >= 2**62 or abs(offset) >= 2**62 for time, offset in offsets):
        raise archive.wrong(name, 0, "an offset of the clock of more than 62 bits")
