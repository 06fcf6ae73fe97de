"""Spans and flows of a Chrome trace, in whole nanoseconds; beginnings and ends (events B and E) are paired."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from simsched.graph.budget import budget
from simsched.graph.loading import Mend
from simsched.traces.shared.json_elements import objects
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Place
from simsched.traces.shared.spans import Small, Spans, SpanTable, Whole, paired

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
    spans : Spans
        In file order.
    order : list of int
        Position of each among the events of the file.
    args : list of dict
        Further fields of each.
    lanes : list of (str, str)
        Process and thread of each lane, as numbers or texts.
    flows : dict
        Points of each flow, by category, name and id, in file order.
    names : dict of (str, str) to str
        Name of a process (thread "") or a thread in the metadata.
    counts : Counter of str
        Other and dropped events.
    other, metadata : dict
        The objects `otherData` and `metadata`; Chromium describes the machine in the latter.
    """

    spans: Spans
    order: list[int]
    args: list[dict[str, Any]]
    lanes: list[Lane]
    flows: dict[tuple[str, str, str], list[FlowEnd]]
    names: dict[Lane, str]
    counts: Counter[str]
    other: dict[str, Any]
    metadata: dict[str, Any]

    def keep(self, rows: Whole | Small) -> None:
        """Keep some of the spans, in an order."""
        self.spans.keep(rows)
        self.order, self.args = ([column[row] for row in rows.tolist()] for column in (self.order, self.args))


class _Reading:
    """Incoming events; beginnings and ends of spans are paired once all are there."""

    def __init__(self, path: Path, tolerant: bool) -> None:
        self._path, self._tolerant = path, tolerant
        #: Beginnings and ends are spans of no length.
        self._table, self._phases = SpanTable(path), list[str]()
        self._order, self._args = list[int](), list[dict[str, Any]]()
        self._flows: dict[tuple[str, str, str], list[FlowEnd]] = {}
        self._names: dict[Lane, str] = {}
        self._counts: Counter[str] = Counter()

    def take(self, number: int, value: object) -> None:
        place = Place(self._path, "event", number)
        event = place.record(value)
        phase = event.get("ph")
        if self._tolerant and event.get("ts") is None and phase in _TIMED:
            self._counts["without time"] += 1
        elif phase == "X":
            self._complete(place, event, number)
        elif phase in ("B", "E"):
            time_ns = place.nanoseconds(_number(event, "ts"), "ts")
            self._span(place, event, number, time_ns, time_ns)
        elif isinstance(phase, str) and phase in FLOW_PHASES:
            self._flow(place, event, phase)
        elif phase == "M":
            self._metadata(place, event)
        else:
            self._counts[_PASSED_OVER.get(phase, "other") if isinstance(phase, str) else "other"] += 1

    def events(self, members: dict[str, Any]) -> Events:
        """Return all events, with other members of the file."""
        other, metadata = (
            told if isinstance(told := members.get(key), dict) else {} for key in (OTHER_DATA, METADATA)
        )
        spans, phase = self._table.spans(self._called), np.array(self._phases, "U1")
        found = Events(
            spans, self._order, self._args, self._table.lanes, self._flows, self._names, self._counts, other, metadata
        )  # fmt: skip
        halves = np.flatnonzero(phase != "X")
        of = spans.taken(halves)
        named = np.where(of.name == 0, np.int32(-1), of.name)
        first, last = (
            halves[rows] for rows in paired(of.lane, of.start_ns, named, phase[halves] == "B", self._counts)
        )
        spans.finish_ns[first] = spans.start_ns[last]
        found.keep(np.union1d(np.flatnonzero(phase == "X"), first))
        return found

    def _called(self, lane: Lane) -> tuple[str, str]:
        """Return the names of a lane's process and thread."""
        process, thread = lane
        return (
            self._names.get((process, ""), f"process {process}"),
            self._names.get(lane, f"thread {thread}"),
        )

    def _complete(self, place: Place, event: dict[str, Any], number: int) -> None:
        if event.get("dur") is None:
            self._counts["without duration"] += 1
            return
        start_ns, finish_ns = _interval(place, event)
        if finish_ns < start_ns:
            self._counts["negative duration"] += 1
            return
        if _text(event, "name").startswith("Total ") and "avg ms" in _args(event):
            # LLVM's time trace ends with one lane per kind of span, with their sum on it, which never ran.
            self._counts["sums"] += 1
            return
        self._span(place, event, number, start_ns, finish_ns)
        self._bound_flow(place, event, start_ns)

    def _span(self, place: Place, event: dict[str, Any], number: int, start_ns: int, finish_ns: int) -> None:
        self._table.add(start_ns, finish_ns, _thread(place, event), _text(event, "name"), _text(event, "cat"))
        self._phases.append(event["ph"])
        self._order.append(number)
        self._args.append(_args(event))

    def _flow(self, place: Place, event: dict[str, Any], phase: str) -> None:
        if (ident := _flow_id(event)) is None:
            self._counts["flows without id"] += 1
            return
        key = (_text(event, "cat"), _text(event, "name"), ident)
        time_ns = place.nanoseconds(_number(event, "ts"), "ts")
        self._point(place, event, key, time_ns, phase, phase != "f" or event.get("bp") == "e")

    def _bound_flow(self, place: Place, event: dict[str, Any], time_ns: int) -> None:
        """Keep the flow that includes a span itself: `bind_id`, with `flow_out`, `flow_in` or both."""
        leaves, enters = event.get("flow_out") is True, event.get("flow_in") is True
        ident = event.get("bind_id")
        if type(ident) in (int, str) and (leaves or enters):
            phase = "t" if leaves and enters else "s" if leaves else "f"
            self._point(place, event, ("", "bind_id", str(ident)), time_ns, phase, True)

    def _point(
        self,
        place: Place,
        event: dict[str, Any],
        key: tuple[str, str, str],
        ns: int,
        phase: str,
        encloses: bool,
    ) -> None:
        point = FlowEnd(ns, self._table.lane(_thread(place, event)), phase, encloses)
        self._flows.setdefault(key, []).append(point)
        budget().check(place.file, len(self._flows), "tasks")

    def _metadata(self, place: Place, event: dict[str, Any]) -> None:
        name = _args(event).get("name")
        if not isinstance(name, str) or event.get("name") not in ("process_name", "thread_name"):
            return
        process, thread = _thread(place, {"tid": 0, **event})
        self._names[process, "" if event["name"] == "process_name" else thread] = name


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
    return reading.events(members)


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


def _args(event: dict[str, Any]) -> dict[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _thread(place: Place, event: dict[str, Any]) -> Lane:
    for key in ("pid", "tid"):
        if type(event.get(key, 0)) not in (int, str):
            raise place.error(f"{key} is {shown(event.get(key))}; expected a whole number or a text")
    return str(event.get("pid", 0)), str(event.get("tid", 0))
