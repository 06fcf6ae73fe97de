"""Spans and flows of a Chrome trace, in whole nanoseconds; beginnings and ends (events B and E) are paired."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from simsched.graph.budget import budget
from simsched.graph.loading import Mend
from simsched.traces.shared.json_elements import objects
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Place

OTHER_DATA, METADATA = "otherData", "metadata"
FLOW_PHASES = ("s", "t", "f")
_TIMED = ("X", "B", "E", *FLOW_PHASES)
#: Events that are not tasks, by their phase.
_PASSED_OVER = {
    "C": "counters",
    "P": "samples",
    **dict.fromkeys("iIR", "instants"),
    **dict.fromkeys("bneSTpF", "asynchronous"),
    **dict.fromkeys("NOD", "objects"),
}
_SPELLED = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)
Lane = tuple[str, str]


@dataclass(slots=True)
class Span:
    """A span on a thread from a start to a finish.

    Parameters
    ----------
    start_ns, finish_ns : int
        Exact nanoseconds of the trace's clock.
    lane : int
        Index into `Events.lanes`.
    order : int
        Position among the events of the file.
    name, category : str
        As recorded; "" where there is none.
    args : dict
        Further fields of the event.
    """

    start_ns: int
    finish_ns: int
    lane: int
    order: int
    name: str
    category: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """A point of a flow: an arrow's beginning, middle or end, on a lane."""

    time_ns: int
    lane: int
    phase: str
    encloses: bool


@dataclass
class Events:
    """Spans, flows and names of a file.

    Parameters
    ----------
    spans : list of Span
        In file order.
    lanes : list of (str, str)
        Process and thread of each lane.
    flows : dict
        Points of each flow, by category, name and id, in file order.
    names : dict of (str, str) to str
        Name of a process (thread "") or a thread in the metadata.
    counts : Counter of str
        Other and dropped events.
    other, metadata : dict
        The objects `otherData` and `metadata`; Chromium describes the machine in the latter.
    """

    spans: list[Span] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    flows: dict[tuple[str, str, str], list[FlowEnd]] = field(default_factory=dict)
    names: dict[Lane, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    other: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    def called(self, lane: Lane) -> tuple[str, str]:
        """Return the names of a lane's process and thread."""
        process, thread = lane
        return (
            self.names.get((process, ""), f"process {process}"),
            self.names.get(lane, f"thread {thread}"),
        )


class _Reading:
    """Incoming events; beginnings and ends of spans are paired once all are there."""

    def __init__(self, path: Path, tolerant: bool) -> None:
        self.path, self.found, self._tolerant = path, Events(), tolerant
        self._lanes: dict[Lane, int] = {}
        #: Beginnings (true) and ends of spans, as spans of no length.
        self._halves: list[tuple[Span, bool]] = []

    def take(self, number: int, value: object) -> None:
        place = Place(self.path, "event", number)
        event = place.record(value)
        phase = event.get("ph")
        if self._tolerant and event.get("ts") is None and phase in _TIMED:
            self.found.counts["without time"] += 1
        elif phase == "X":
            self._complete(place, event, number)
        elif phase in ("B", "E"):
            self._half(place, event, number, phase == "B")
        elif isinstance(phase, str) and phase in FLOW_PHASES:
            self._flow(place, event, phase)
        elif phase == "M":
            self._metadata(place, event)
        else:
            self.found.counts[_PASSED_OVER.get(phase, "other") if isinstance(phase, str) else "other"] += 1

    def end(self) -> Events:
        """Return all events."""
        self.found.spans += paired(self._halves, self.found.counts)
        self.found.lanes = list(self._lanes)
        return self.found

    def _complete(self, place: Place, event: dict[str, Any], number: int) -> None:
        if event.get("dur") is None:
            self.found.counts["without duration"] += 1
            return
        start_ns, finish_ns = _interval(place, event)
        if finish_ns < start_ns:
            self.found.counts["negative duration"] += 1
            return
        span = self._span(place, event, number, start_ns, finish_ns)
        if span.name.startswith("Total ") and "avg ms" in span.args:
            # LLVM's time trace ends with one lane per kind of span, with their sum on it, which never ran.
            self.found.counts["sums"] += 1
            return
        self.found.spans.append(span)
        budget().check(place.file, len(self.found.spans), "tasks")
        self._bound_flow(place, event, start_ns)

    def _half(self, place: Place, event: dict[str, Any], number: int, begins: bool) -> None:
        time_ns = place.nanoseconds(_number(event, "ts"), "ts")
        self._halves.append((self._span(place, event, number, time_ns, time_ns), begins))
        budget().check(place.file, len(self._halves), "tasks")

    def _span(self, place: Place, event: dict[str, Any], number: int, start_ns: int, finish_ns: int) -> Span:
        args = event.get("args")
        return Span(
            start_ns, finish_ns, self._lane(place, event), number, _text(event, "name"), _text(event, "cat"),
            args if isinstance(args, dict) else {},
        )  # fmt: skip

    def _flow(self, place: Place, event: dict[str, Any], phase: str) -> None:
        ident = _flow_id(event)
        if ident is None:
            self.found.counts["flows without id"] += 1
            return
        key = (_text(event, "cat"), _text(event, "name"), ident)
        time_ns = place.nanoseconds(_number(event, "ts"), "ts")
        point = FlowEnd(time_ns, self._lane(place, event), phase, phase != "f" or event.get("bp") == "e")
        self.found.flows.setdefault(key, []).append(point)
        budget().check(place.file, len(self.found.flows), "tasks")

    def _bound_flow(self, place: Place, event: dict[str, Any], time_ns: int) -> None:
        """Keep the flow that includes a span itself: `bind_id`, with `flow_out`, `flow_in` or both."""
        leaves, enters = event.get("flow_out") is True, event.get("flow_in") is True
        ident = event.get("bind_id")
        if type(ident) in (int, str) and (leaves or enters):
            phase = "t" if leaves and enters else "s" if leaves else "f"
            point = FlowEnd(time_ns, self._lane(place, event), phase, True)
            self.found.flows.setdefault(("", "bind_id", str(ident)), []).append(point)
            budget().check(place.file, len(self.found.flows), "tasks")

    def _metadata(self, place: Place, event: dict[str, Any]) -> None:
        args = event.get("args")
        name = args.get("name") if isinstance(args, dict) else None
        if not isinstance(name, str) or event.get("name") not in ("process_name", "thread_name"):
            return
        process, thread = _thread(place, {"tid": 0, **event})
        self.found.names[process, "" if event["name"] == "process_name" else thread] = name

    def _lane(self, place: Place, event: dict[str, Any]) -> int:
        return self._lanes.setdefault(_thread(place, event), len(self._lanes))


def read_events(path: Path, mend: Mend | None = None, unclosed: Mend | None = None) -> Events:
    """Return the spans and flows of a file.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped, in the object or the list form.
    mend, unclosed : callable, optional
        See `simsched.traces.shared.json_elements.Elements`; with `mend`, events without a time are left out.

    Raises
    ------
    FormatError
        If the file is not JSON, or an event of it has no time or thread.
    """
    reading = _Reading(path, mend is not None)
    members, events = objects(path, "traceEvents", (OTHER_DATA, METADATA), mend, unclosed)
    for number, value in enumerate(events):
        reading.take(number, value)
    reading.found.other, reading.found.metadata = (
        told if isinstance(told := members.get(key), dict) else {} for key in (OTHER_DATA, METADATA)
    )
    return reading.end()


def _interval(place: Place, event: dict[str, Any]) -> tuple[int, int]:
    """Return start and finish; fractions of a nanosecond are rounded last, so that nesting is kept."""
    start, duration = _number(event, "ts"), _number(event, "dur")
    start_ns, duration_ns = place.nanoseconds(start, "ts"), place.nanoseconds(duration, "dur")
    if type(start) is int or type(duration) is int:
        return start_ns, start_ns + duration_ns
    return start_ns, place.nanoseconds(start + duration, "ts + dur")


def _number(event: dict[str, Any], key: str) -> Any:
    """Return a number or, as some tools write it, the text of one."""
    value = event.get(key)
    return Decimal(value) if isinstance(value, str) and _SPELLED.fullmatch(value) else value


def _flow_id(event: dict[str, Any]) -> str | None:
    """Return the common id of a flow's ends, `id` or `id2`, local ones per process; else None."""
    ident, owner = event.get("id", event.get("bind_id")), ""
    if isinstance(told := event.get("id2"), dict):
        ident = told.get("global", told.get("local"))
        owner = "" if "global" in told else f" of {shown(event.get('pid', 0))}"
    return f"{ident}{owner}" if type(ident) in (int, str) else None


def _text(event: dict[str, Any], key: str) -> str:
    value = event.get(key)
    return sys.intern(value) if isinstance(value, str) else "" if value is None else shown(value)


def _thread(place: Place, event: dict[str, Any]) -> Lane:
    for key in ("pid", "tid"):
        if type(event.get(key, 0)) not in (int, str):
            raise place.error(f"{key} is {shown(event.get(key))}; expected a whole number or a text")
    return str(event.get("pid", 0)), str(event.get("tid", 0))


class _Open:
    """Spans of one lane that have begun and not ended."""

    def __init__(self) -> None:
        self._all: list[Span] = []
        self._named: dict[str, list[Span]] = {}
        self._ended: set[int] = set()

    def begin(self, span: Span) -> None:
        self._all.append(span)
        self._named.setdefault(span.name, []).append(span)

    def end(self, name: str) -> Span | None:
        """Return the innermost span that an end of this name ends, as in Perfetto; no name matches all."""
        of_name = self._named.get(name, []) if name else self._all
        span = self._innermost(of_name) or self._innermost(self._named.get("", []))
        if span is not None:
            self._ended.add(span.order)
        return span

    def _innermost(self, stack: list[Span]) -> Span | None:
        while stack and stack[-1].order in self._ended:
            stack.pop()
        return stack[-1] if stack else None


def paired(halves: Iterable[tuple[Span, bool]], counts: Counter[str]) -> list[Span]:
    """Return the spans of beginnings and their ends on each lane, in order of time.

    Parameters
    ----------
    halves : iterable of (Span, bool)
        Beginnings (true) and ends, as spans of no length, of all lanes; threads that write their events late leave them
        out of order.
    counts : Counter of str
        Receives the number of beginnings without an end, ends without a beginning.
    """
    waiting: dict[int, _Open] = {}
    found: list[Span] = []
    begun = 0
    for half, begins in sorted(halves, key=lambda half: half[0].start_ns):
        lane = waiting.setdefault(half.lane, _Open())
        if begins:
            lane.begin(half)
            begun += 1
        elif (span := lane.end(half.name)) is None:
            counts["ended, never begun"] += 1
        else:
            span.finish_ns = half.start_ns
            found.append(span)
    counts["unfinished"] += begun - len(found)
    return found
