"""Packets of a Perfetto trace: slices and flows of its tracks on one clock, as columns.

Only track events are read, what programs and Perfetto's SDK write; system traces (ftrace) have none.

References
----------
protos/perfetto/trace of Perfetto: trace_packet.proto, clock_snapshot.proto, interned_data/interned_data.proto,
track_event/track_event.proto, track_event/track_descriptor.proto, track_event/debug_annotation.proto.
"""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend
from simsched.traces.perfetto.clocks import Clocks
from simsched.traces.shared.protobuf import message_classes
from simsched.traces.shared.spans import Small, Spans, Whole, paired
from simsched.traces.shared.wire import MAX_FIELD_B, Wire, open_wire, parsed

#: Name, number and type of each field that is read; strings are bytes, which is the same in a file.
MESSAGES = {
    "Trace": "packet 1 Packet*",
    "Packet": (
        "timestamp 8 uint64, timestamp_clock_id 58 uint32, trusted_packet_sequence_id 10 uint32, "
        "sequence_flags 13 uint32, incremental_state_cleared 41 bool, interned_data 12 Interned, "
        "trace_packet_defaults 59 Defaults, clock_snapshot 6 Snapshot, track_event 11 Event, "
        "track_descriptor 60 Track, process_descriptor 43 Process, thread_descriptor 44 Thread, "
        "ftrace_events 1 bytes, compressed_packets 50 bytes"
    ),
    "Interned": "event_categories 1 Text*, event_names 2 Text*",
    "Text": "iid 1 uint64, name 2 bytes",
    "Defaults": "timestamp_clock_id 58 uint32, track_event_defaults 11 EventDefaults",
    "EventDefaults": "track_uuid 11 uint64",
    "Snapshot": "clocks 1 Clock*, primary_trace_clock 2 int32",
    "Clock": "clock_id 1 uint32, timestamp 2 uint64, is_incremental 3 bool, unit_multiplier_ns 4 uint64",
    "Event": (
        "category_iids 3 uint64*, categories 22 bytes*, name_iid 10 uint64, name 23 bytes, type 9 int32, "
        "track_uuid 11 uint64, flow_ids 47 fixed64*, terminating_flow_ids 48 fixed64*, flow_ids_old 36 uint64*, "
        "terminating_flow_ids_old 42 uint64*, debug_annotations 4 Annotation*, timestamp_delta_us 1 int64, "
        "timestamp_absolute_us 16 int64, legacy_event 6 Legacy"
    ),
    "Annotation": "name 10 bytes, int_value 4 int64",
    "Legacy": "name_iid 1 uint64, phase 2 int32, duration_us 3 int64, pid_override 18 int32, tid_override 19 int64",
    "Track": (
        "uuid 1 uint64, parent_uuid 5 uint64, name 2 bytes, static_name 10 bytes, process 3 Process, thread 4 Thread"
    ),
    "Process": "pid 1 int32, process_name 6 bytes, process_labels 8 bytes*",
    "Thread": "pid 1 int32, tid 2 int64, thread_name 5 bytes, reference_timestamp_us 6 int64",
}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
COMPLETE = 5
_PHASES = {ord("B"): BEGIN, ord("E"): END, ord("X"): COMPLETE, ord("I"): INSTANT, ord("i"): INSTANT}
CLEARED, NEEDS_STATE = 1, 2
#: Label of the process in what simsched writes; the name of the graph follows it.
OWN = "simsched graph "
MAX_NS = 2**63 - 1
_BLOCK = 1 << 20

Key = int | tuple[int, int]


messages = cache(partial(message_classes, "simsched_perfetto", MESSAGES, "reading Perfetto traces"))


@dataclass
class Track:
    """What is known of a track: its name, its parent's id, and the process and thread that it stands for."""

    name: str = ""
    parent: int | None = None
    process: tuple[int, str] | None = None
    thread: tuple[int, int] | None = None


@dataclass
class Content:
    """Slices and flows of a trace.

    Parameters
    ----------
    spans : Spans
        Slices in the order of their ends.
    arrows : int32 array, shape (m, 2)
        Points of flows that follow each other: twice a slice, and 1 more at its end, or -1 - a moment.
    lane, time_ns : arrays, shape (k,)
        Of each moment outside slices.
    flow, flow_ends, flow_span : arrays
        Of each point of a flow, in what simsched wrote: its id, whether it ends there, its slice (-1 for none).
    task, width : int64 arrays
        Of each slice, as simsched writes them; -1 for none, empty in what others wrote.
    own : str or None
        Name of the graph, where simsched wrote the trace.
    counts : Counter of str
        What else the trace holds, and what was dropped.
    """

    spans: Spans
    arrows: Small
    lane: Small
    time_ns: Whole
    flow: Any
    flow_ends: Any
    flow_span: Small
    task: Whole
    width: Whole
    own: str | None
    counts: Counter[str]

    def moments(self, points: Small) -> tuple[Small, Whole]:
        """Return lane and time of points."""
        lane, time_ns, at_slice = (
            np.empty(len(points), np.int32),
            np.empty(len(points), np.int64),
            points >= 0,
        )
        which, late, other = points[at_slice] >> 1, points[at_slice] & 1, -1 - points[~at_slice]
        lane[at_slice], lane[~at_slice] = self.spans.lane[which], self.lane[other]
        time_ns[at_slice] = np.where(late, self.spans.finish_ns[which], self.spans.start_ns[which])
        time_ns[~at_slice] = self.time_ns[other]
        return lane, time_ns


@dataclass
class _Sequence:
    """State of a sequence of packets."""

    valid: bool = False
    names: dict[int, int] = field(default_factory=dict)
    categories: dict[int, int] = field(default_factory=dict)
    track: Key | None = None
    clock: int = 0
    thread: tuple[int, int] | None = None
    reference_us: int = 0


class _Reading:
    """Packets as they come.

    Parameters
    ----------
    path : Path
        The file, for messages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.own: str | None = None
        self.counts: Counter[str] = Counter()
        self.clocks = Clocks()
        self._sequences: dict[int, _Sequence] = {}
        self._tracks: dict[Key, Track] = {}
        self._lanes: dict[Key, int] = {}
        self._labels: dict[str, int] = {"": 0}
        #: Of every event: lane, time, name (-1 for none), scope, phase; of those that are complete, duration.
        self._lane, self._name, self._scope = array("i"), array("i"), array("i")
        self._time, self._phase, self._duration = array("q"), array("b"), array("q")
        self._flow, self._flow_at, self._flow_ends = array("Q"), array("I"), array("b")
        self._task, self._width = array("q"), array("q")

    def take(self, packet: Any) -> None:
        """Take a packet."""
        number = packet.trusted_packet_sequence_id
        flags = packet.sequence_flags
        state = self._sequences.get(number)
        if state is None or flags & CLEARED or packet.incremental_state_cleared:
            before = state or _Sequence()
            state = _Sequence(
                state is not None or bool(flags & CLEARED),
                thread=before.thread,
                reference_us=before.reference_us,
            )
            self._sequences[number] = state
        if packet.HasField("interned_data"):
            self._intern(packet.interned_data, state)
        if packet.HasField("trace_packet_defaults"):
            self._defaults(packet.trace_packet_defaults, state)
        if packet.HasField("track_event"):
            if flags & NEEDS_STATE and not state.valid:
                self.counts["events whose names were lost"] += 1
            else:
                self._event(packet, packet.track_event, number, state)
        elif packet.HasField("track_descriptor"):
            self._track(packet.track_descriptor)
        elif packet.HasField("clock_snapshot"):
            self.clocks.snapshot(number, packet.clock_snapshot)
        elif packet.HasField("thread_descriptor"):
            self._thread(packet.thread_descriptor, state)
        elif packet.HasField("process_descriptor"):
            self._process(packet.process_descriptor)
        elif packet.HasField("ftrace_events"):
            self.counts["ftrace bundles"] += 1

    def _text(self, raw: bytes) -> int:
        return self._labels.setdefault(plain_text(raw), len(self._labels))

    def _intern(self, data: Any, state: _Sequence) -> None:
        for entry in data.event_names:
            state.names[entry.iid] = self._text(entry.name)
        for entry in data.event_categories:
            state.categories[entry.iid] = self._text(entry.name)

    def _defaults(self, defaults: Any, state: _Sequence) -> None:
        if defaults.HasField("timestamp_clock_id"):
            state.clock = defaults.timestamp_clock_id
        if defaults.HasField("track_event_defaults") and defaults.track_event_defaults.HasField("track_uuid"):
            state.track = defaults.track_event_defaults.track_uuid

    def _track(self, told: Any) -> None:
        track = self._tracks.setdefault(told.uuid, Track())
        track.name = plain_text(told.name or told.static_name) or track.name
        track.parent = told.parent_uuid if told.HasField("parent_uuid") else track.parent
        if told.HasField("process"):
            self._process(told.process)
            track.process = self._tracks[told.process.pid, -1].process
            for label in map(plain_text, told.process.process_labels):
                self.own = label.removeprefix(OWN) if label.startswith(OWN) else self.own
        if told.HasField("thread"):
            track.thread = told.thread.pid, told.thread.tid
            track.name = plain_text(told.thread.thread_name) or track.name
        budget().check(self.path, len(self._tracks), "tasks")

    def _thread(self, told: Any, state: _Sequence) -> None:
        """Take a sequence's thread, as SDKs before 2020 describe it."""
        state.thread, state.reference_us = (told.pid, told.tid), told.reference_timestamp_us
        track = self._tracks.setdefault(state.thread, Track(thread=state.thread))
        track.name = plain_text(told.thread_name) or track.name

    def _process(self, told: Any) -> None:
        self._tracks.setdefault((told.pid, -1), Track()).process = told.pid, plain_text(told.process_name)

    def _event(self, packet: Any, event: Any, number: int, state: _Sequence) -> None:
        phase, name_iid, duration = event.type, event.name_iid, 0
        key: Key = event.track_uuid if event.HasField("track_uuid") else state.track or state.thread or 0
        if event.HasField("legacy_event"):
            legacy = event.legacy_event
            phase = phase or _PHASES.get(legacy.phase, 0)
            name_iid, duration = name_iid or legacy.name_iid, legacy.duration_us * 1000
            if legacy.HasField("tid_override"):
                key = (legacy.pid_override, legacy.tid_override)
        if phase not in (BEGIN, END, INSTANT, COMPLETE) or (
            phase == COMPLETE and not 0 <= duration <= MAX_NS
        ):
            self.counts["counters" if phase == COUNTER else "other track events"] += 1
            return
        time_ns = self._time_ns(packet, event, number, state)
        if time_ns is None or not 0 <= time_ns <= MAX_NS - duration:
            self.counts["events without a time on the trace's clock"] += 1
            return
        name = state.names.get(name_iid, 0) if name_iid else -1
        name = self._text(event.name) if event.HasField("name") else name
        self._lane.append(self._lanes.setdefault(key, len(self._lanes)))
        self._time.append(time_ns)
        self._name.append(name)
        self._scope.append(self._category(event, state) if phase != END else 0)
        self._phase.append(phase)
        if phase == COMPLETE:
            self._duration.append(duration)
        self._notes(event)
        budget().check(self.path, len(self._time) // 2, "tasks")

    def _time_ns(self, packet: Any, event: Any, number: int, state: _Sequence) -> int | None:
        if event.HasField("timestamp_absolute_us"):
            return int(event.timestamp_absolute_us) * 1000
        if event.HasField("timestamp_delta_us"):
            state.reference_us += event.timestamp_delta_us
            return state.reference_us * 1000
        clock = packet.timestamp_clock_id or state.clock
        return self.clocks.trace_ns(number, clock, packet.timestamp) if clock else int(packet.timestamp)

    def _category(self, event: Any, state: _Sequence) -> int:
        if event.categories:
            return self._text(event.categories[0])
        return state.categories.get(event.category_iids[0], 0) if event.category_iids else 0

    def _notes(self, event: Any) -> None:
        """Take an event's flows and, of simsched's own, its task."""
        row = len(self._time) - 1
        for ids, ends in (
            (event.flow_ids, 0),
            (event.terminating_flow_ids, 1),
            (event.flow_ids_old, 0),
            (event.terminating_flow_ids_old, 1),
        ):
            for flow in ids:
                self._flow.append(flow)
                self._flow_at.append(row)
                self._flow_ends.append(ends)
        if self.own is not None:
            told = {note.name: note.int_value for note in event.debug_annotations}
            self._task.append(told.get(b"task", -1))
            self._width.append(told.get(b"width", -1))

    def content(self) -> Content:
        """Return what was taken, once all is there; the columns are given up as they are used."""
        phase, lane, time_ns = self._taken("_phase"), self._taken("_lane"), self._taken("_time")
        flow, ends, at = (
            self._taken("_flow"),
            self._taken("_flow_ends").astype(np.bool_),
            self._taken("_flow_at"),
        )
        if self.own is None:
            arrows = _arrows(flow, ends, at, time_ns)
            flow, ends, at = flow[:0].copy(), ends[:0].copy(), at[:0].copy()
        else:
            arrows = np.zeros((0, 2), np.int32)
        rows, until, finish_ns = self._slices(phase, lane, time_ns)
        name, scope = np.maximum(self._taken("_name")[rows], 0), self._taken("_scope")[rows]
        spans = Spans(
            time_ns[rows], finish_ns, lane[rows], name, scope,
            list(self._labels), [self._lane_name(key) for key in self._lanes],
        )  # fmt: skip
        of = np.full(len(time_ns), -1, np.int32)
        of[until] = of[rows] = np.arange(len(rows), dtype=np.int32)
        points, outside = _points(of, phase == END, arrows)
        whole = len(self._task) == len(time_ns)  # unless what says that simsched wrote it comes late
        task, width = (
            self._taken(name)[rows] if whole else np.full(len(rows) * (self.own is not None), -1)
            for name in ("_task", "_width")
        )
        del rows, until
        return Content(
            spans, points, lane[outside], time_ns[outside], flow, ends, of[at], task, width, self.own, self.counts,
        )  # fmt: skip

    def _taken(self, name: str) -> Any:
        """Return a column, which is here no longer."""
        column = self.__dict__.pop(name)
        return np.frombuffer(column, column.typecode)

    def _slices(self, phase: Any, lane: Small, time_ns: Whole) -> tuple[Small, Small, Whole]:
        """Return the event that begins each slice, the one that ends it, and its end in time."""
        complete = np.flatnonzero(phase == COMPLETE).astype(np.int32)
        after_ns = time_ns[complete] + self._taken("_duration")
        pair, halves = _as_written if self.own is not None else paired, (phase == BEGIN) | (phase == END)
        name, begins = np.frombuffer(self._name, np.int32), phase == BEGIN
        if halves.all():  # no copies
            first, last = pair(lane, time_ns, name, begins, self.counts)
        else:
            rows = np.flatnonzero(halves).astype(np.int32)
            ends = pair(lane[rows], time_ns[rows], name[rows], begins[rows], self.counts)
            first, last = (rows[one] for one in ends)
        finish_ns = np.concatenate([time_ns[last], after_ns])
        return np.concatenate([first, complete]), np.concatenate([last, complete]), finish_ns

    def _lane_name(self, key: Key) -> tuple[str, str]:
        """Return the names of the process and of the thread or track of a lane."""
        track = self._tracks.get(key, Track(thread=key if isinstance(key, tuple) else None))
        name, process, parent, seen = track.name, track.process, track.parent, 0
        if track.thread is not None:
            name = name or f"thread {track.thread[1]}"
            described = self._tracks.get((track.thread[0], -1))
            process = described.process if described is not None else (track.thread[0], "")
        while process is None and parent is not None and seen < 100:
            above = self._tracks.get(parent, Track())
            process, parent, seen = above.process, above.parent, seen + 1
        whose = "" if process is None else process[1] or f"process {process[0]}"
        return whose, name or (f"track {key}" if key else "default track")


def _arrows(flow: Any, ends: Any, at: Any, time_ns: Whole, order: Whole | Small | None = None) -> Small:
    """Return the events at both ends of each arrow: points of a flow that follow each other in time."""
    by = np.argsort(flow, kind="stable").astype(np.int32) if order is None else order
    found, count = np.empty((len(by), 2), np.int32), 0  # memory is taken where it is filled
    for begin in range(0, len(by), _BLOCK):
        rows = by[begin : begin + _BLOCK + 1]
        event, over, own = at[rows], ends[rows], flow[rows]
        when, same = time_ns[event], own[1:] == own[:-1]
        later = (when[1:] > when[:-1]) | (when[1:] == when[:-1]) & (over[1:] >= over[:-1])
        if order is None and (same & ~later).any():
            return _arrows(flow, ends, at, time_ns, np.lexsort((ends, time_ns[at], flow)))
        joined = same & ~over[:-1]
        more = np.column_stack([event[:-1][joined], event[1:][joined]])
        found[count : count + len(more)] = more
        count += len(more)
    return found[:count]


def _points(of: Small, ends: Any, arrows: Small) -> tuple[Small, Small]:
    """Return the points of arrows, as in `Content`, and the events of those that are in no slice."""
    points, events = of[arrows], arrows.reshape(-1)
    outside = np.flatnonzero(points.reshape(-1) < 0)
    points *= 2
    points += ends[arrows]
    points.reshape(-1)[outside] = -1 - np.arange(len(outside))
    return points, events[outside]


def _as_written(
    lane: Any, time_ns: Whole, name: Any, begins: Any, counts: Counter[str]
) -> tuple[Whole, Whole]:
    """Pair beginnings and ends as simsched writes them, one after the other, whatever their times."""
    first = np.flatnonzero(
        begins[:-1] & ~begins[1:] & (lane[:-1] == lane[1:]) & (time_ns[:-1] <= time_ns[1:])
    )
    counts["unfinished"] += int(begins.sum()) - len(first)
    return first, first + 1


def read_packets(path: Path, mend: Mend | None) -> Content:
    """Return the slices and flows of a file.

    Raises
    ------
    FormatError
        If the file is damaged or cut off, and there is no `mend`.
    """
    reading = _Reading(path)
    with open_wire(path, mend) as wire:
        for packet in _packets(wire, mend):
            if packet.HasField("compressed_packets"):
                for inner in _packets(_unpacked(path, packet.compressed_packets, wire), mend):
                    reading.take(inner)
            else:
                reading.take(packet)
    return reading.content()


def _packets(wire: Wire, mend: Mend | None) -> Iterator[Any]:
    empty = messages()["Packet"]()
    for place, piece in wire.pieces():
        # Two bytes are an empty one.
        yield from (
            one for one in parsed(wire, messages()["Trace"], piece, place, mend).packet if one != empty
        )


def _unpacked(path: Path, data: bytes, wire: Wire) -> Wire:
    """Return compressed packets, decompressed."""
    unpacking = zlib.decompressobj()
    try:
        plain = unpacking.decompress(data, MAX_FIELD_B)
    except zlib.error as error:
        raise wire.wrong(wire.at, f"compressed packets before it are broken: {error}") from None
    if unpacking.unconsumed_tail:
        raise wire.wrong(wire.at, f"compressed packets before it hold more than {MAX_FIELD_B} bytes")
    return Wire(path, BytesIO(plain))
