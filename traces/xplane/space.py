"""Planes, lines and events of an XSpace as columns, read twice: names stand behind the events that have them.

References
----------
xplane.proto of XLA (tsl/profiler/protobuf): an XSpace has planes (a host, a device), these have lines (a thread, a
stream), and these events, whose names and statistics are numbers into tables of the plane.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend
from simsched.traces.shared.choice import SUMMARIES, XLA_OPS
from simsched.traces.shared.protobuf import message_classes
from simsched.traces.shared.spans import Small, Spans
from simsched.traces.shared.timeline import picked
from simsched.traces.shared.wire import Field, Wire, open_wire, parsed

MESSAGES = {
    "Line": "id 1 int64, name 2 bytes, timestamp_ns 3 int64, events 4 Event*, display_name 11 bytes",
    "Event": "metadata_id 1 int64, offset_ps 2 int64, duration_ps 3 int64, stats 4 Stat*, num_occurrences 5 int64",
    "Stat": (
        "metadata_id 1 int64, uint64_value 3 uint64, int64_value 4 int64, str_value 5 bytes, bytes_value 6 bytes, "
        "ref_value 7 uint64"
    ),
    "Plane": "name 2 bytes, event_metadata 4 EventEntry*, stat_metadata 5 StatEntry*",
    "EventEntry": "key 1 int64, value 2 EventMetadata",
    "EventMetadata": "id 1 int64, name 2 bytes, display_name 4 bytes, stats 5 Stat*",
    "StatEntry": "key 1 int64, value 2 StatMetadata",
    "StatMetadata": "id 1 int64, name 2 bytes",
}
PLANE, LINE, PLANE_NAME = 1, 3, 2
MAX_NS = 2**62
#: Planes of a file: a host has one for each device and a few of its own.
MOST_PLANES = 10_000
_NUMBER = re.compile(r"\(([0-9]{1,19})\)$", re.ASCII)
OP, PROGRAM, RUN, DEVICE = _WANTED = ("hlo_op", "program_id", "run_id", "device_ordinal")


messages = cache(partial(message_classes, "simsched_xplane", MESSAGES, "reading profiles of XLA"))


@dataclass
class _Tables:
    """Names of a plane, and those of its events and statistics by number."""

    name: str = ""
    events: dict[int, str] = field(default_factory=dict)
    stats: dict[int, str] = field(default_factory=dict)


@dataclass
class Space:
    """Events of a file.

    Parameters
    ----------
    spans : Spans
        In the order of the file; lanes are planes and lines.
    op : int32 array, shape (n,)
        Of each event, the operation of XLA that it runs, an index into the labels of `spans`; -1 for none.
    run : int32 array, shape (n,)
        Of each operation, the execution of a program that it belongs to, an index into `runs`; -1 for none.
    runs : list of (int, int, str)
        Program, number of its run, and device, of each execution.
    programs : dict of int to bytes
        HLO of each program.
    counts : dict of str to int
        What else the file holds.
    """

    spans: Spans
    op: Small
    run: Small
    runs: list[tuple[int, int, str]]
    programs: dict[int, bytes]
    counts: dict[str, int]

    def keep(self, rows: npt.NDArray[np.integer]) -> None:
        """Keep some of the events, in an order."""
        self.spans.keep(rows)
        self.op, self.run = picked(self.op, rows), picked(self.run, rows)


class _Reading:
    """Planes as they come.

    Parameters
    ----------
    path : Path
        The file.
    mend : callable, optional
        If given, a file that is cut off is read to its last whole event.

    Raises
    ------
    FormatError
        If the file is no XSpace.
    """

    def __init__(self, path: Path, mend: Mend | None) -> None:
        self._path, self._mend = path, mend
        self._planes: list[_Tables] = []
        self._entries = 0
        self.programs: dict[int, bytes] = {}
        self._start, self._finish = array("q"), array("q")
        self._lane, self._name, self._op, self._run = array("i"), array("i"), array("i"), array("i")
        self._labels: dict[str, int] = {"": 0}
        self._lanes: list[tuple[str, str]] = []
        self._runs: dict[tuple[int, int, str], int] = {}
        self.counts = {"instants and summaries": 0}
        with open_wire(path, mend) as wire:
            for plane in wire.messages(PLANE):
                self._tables(wire, plane)
        with open_wire(path, _silent if mend else None) as wire:
            for number, plane in enumerate(wire.messages(PLANE)):
                if number < len(self._planes):
                    self._lines(wire, plane, self._planes[number])

    def space(self) -> Space:
        """Return all events."""
        start, finish = (np.frombuffer(column, np.int64) for column in (self._start, self._finish))
        lane, name, op, run = (
            np.frombuffer(column, np.int32) for column in (self._lane, self._name, self._op, self._run)
        )
        scope = np.broadcast_to(np.int32(0), len(lane))
        spans = Spans(start, finish, lane, name, scope, list(self._labels), self._lanes)
        return Space(spans, op, run, list(self._runs), self.programs, self.counts)

    def _tables(self, wire: Wire, plane: Field) -> None:
        """Take the tables of a plane; its lines are passed over."""
        found = _Tables()
        self._planes.append(found)
        if len(self._planes) > MOST_PLANES:
            raise wire.wrong(plane.begin, f"more than {MOST_PLANES} planes")
        for place, piece in wire.pieces(plane.end, over=LINE):
            whole = parsed(wire, messages()["Plane"], piece, place, self._mend)
            self._entries += len(whole.stat_metadata) + len(whole.event_metadata)
            budget().check(self._path, self._entries, "tasks")
            found.name = plain_text(whole.name) or found.name
            for entry in whole.stat_metadata:
                found.stats[entry.key] = plain_text(entry.value.name)
            for entry in whole.event_metadata:
                told = entry.value
                found.events[entry.key] = plain_text(told.display_name or told.name)
                for stat in told.stats:
                    if stat.HasField("bytes_value"):
                        # JAX names the program `jit_f(4)`; before, its number was that of the event.
                        numbered = _NUMBER.search(found.events[entry.key])
                        self.programs[int(numbered[1]) if numbered else entry.key] = stat.bytes_value

    def _lines(self, wire: Wire, plane: Field, tables: _Tables) -> None:
        wanted = {number: name for number, name in tables.stats.items() if name in _WANTED}
        for one in wire.messages(LINE, plane.end):
            self._line(wire, one, tables, wanted)

    def _line(self, wire: Wire, line: Field, tables: _Tables, wanted: dict[int, str]) -> None:
        lane, first, begin_ns, name, ident = len(self._lanes), len(self._start), 0, "", 0
        self._lanes.append(("", ""))
        budget().check(self._path, len(self._lanes), "tasks")
        for place, piece in wire.pieces(line.end):
            told = parsed(wire, messages()["Line"], piece, place, self._mend)
            begin_ns = told.timestamp_ns if told.HasField("timestamp_ns") else begin_ns
            name = plain_text(told.display_name) or plain_text(told.name) or name
            ident = told.id if told.HasField("id") else ident
            for event in told.events:
                self._event(wire, place, event, lane, name, tables, wanted)
        self._lanes[lane] = tables.name, name or f"line {ident}"
        if not 0 <= begin_ns <= MAX_NS:
            raise wire.wrong(line.begin, f"a line that begins at {begin_ns} ns")
        for column in (self._start, self._finish) if len(self._start) > first else ():
            np.frombuffer(column, np.int64)[first:] += begin_ns

    def _event(
        self,
        wire: Wire,
        place: int,
        event: Any,
        lane: int,
        line: str,
        tables: _Tables,
        wanted: dict[int, str],
    ) -> None:
        start_ps, length_ps = event.offset_ps, event.duration_ps
        if event.HasField("num_occurrences") or line in SUMMARIES:
            self.counts["instants and summaries"] += 1
            return
        if not 0 <= start_ps <= start_ps + length_ps <= MAX_NS or length_ps < 0:
            raise wire.wrong(place, f"an event from {start_ps} ps for {length_ps} ps")
        name = tables.events.get(event.metadata_id, f"event {event.metadata_id}")
        values = _values(event, tables, wanted) if wanted else {}
        op = str(values[OP]) if OP in values else name if line == XLA_OPS else None
        if op is None and not length_ps:
            self.counts["instants and summaries"] += 1
            return
        budget().check(self._path, len(self._start) + 1, "tasks")
        self._start.append(start_ps // 1000)
        self._finish.append((start_ps + length_ps) // 1000)
        self._lane.append(lane)
        self._name.append(self._labels.setdefault(name, len(self._labels)))
        self._op.append(-1 if op is None else self._labels.setdefault(op, len(self._labels)))
        key = None if op is None else _run(values, tables.name)
        self._run.append(-1 if key is None else self._runs.setdefault(key, len(self._runs)))


def _silent(sentence: str) -> None:
    """Ignore what was reported when the file was read for the first time."""


def _values(event: Any, tables: _Tables, wanted: dict[int, str]) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    for stat in event.stats:
        if (name := wanted.get(stat.metadata_id)) is None:
            continue
        if stat.HasField("ref_value"):
            found[name] = tables.stats.get(stat.ref_value, "")
        elif stat.HasField("str_value"):
            found[name] = plain_text(stat.str_value)
        elif stat.HasField("int64_value"):
            found[name] = stat.int64_value
        elif stat.HasField("uint64_value"):
            found[name] = stat.uint64_value
    return found


def _run(values: dict[str, int | str], plane: str) -> tuple[int, int, str] | None:
    """Return the program, the run and the device of an operation."""
    program, run = values.get(PROGRAM), values.get(RUN)
    if not isinstance(program, int) or not isinstance(run, int):
        return None
    return program, run, f"{plane} {values.get(DEVICE, '')}"


def read_space(path: Path, mend: Mend | None) -> Space:
    """Return the events of a file; raise `FormatError` where it holds none."""
    space = _Reading(path, mend).space()
    if not len(space.spans):
        raise FormatError(f"{path}: no event that takes time in it; nothing ran, or was recorded")
    return space
