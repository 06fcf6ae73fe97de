"""Kineto's Chrome trace: which steps it holds, and the operators and annotations of one of them.

Two passes over the file: the first looks for steps, the second keeps the events of the one that was chosen, so
that memory is bounded by a step and not by the file.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.traces.json_stream import shown, stream
from simsched.traces.pytorch.fields import MAX_RECORDS, Place

#: Older profilers say Operator.
OPERATOR_CATEGORIES = frozenset({"cpu_op", "Operator"})
ANNOTATION_CATEGORIES = frozenset({"user_annotation"})
DEVICE_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
EVENTS = "traceEvents.item"
METADATA = "simsched"
_STEP = re.compile(r"ProfilerStep#(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Event:
    """One operator or annotation that ran on a thread of the host.

    Parameters
    ----------
    start_ns, finish_ns : int
        Exact nanoseconds of the trace's clock.
    lane : int
        Index into `Step.lanes`.
    order : int
        Position among the events, parents before children where the profiler says so.
    name : str
        As recorded: `aten::mm`.
    annotation : bool
        Whether a `record_function` of the user rather than an operator.
    rf_id : int or None
        Record function id, by which the execution trace names the same call.
    sequence : int or None
        Sequence number that a forward operator shares with its backward node.
    dims : list or None
        Shapes of the inputs as recorded, unchecked.
    """

    start_ns: int
    finish_ns: int
    lane: int
    order: int
    name: str
    annotation: bool
    rf_id: int | None = None
    sequence: int | None = None
    dims: Any = None


@dataclass(frozen=True, slots=True)
class Window:
    """A ProfilerStep: its number, and when it ran in nanoseconds."""

    number: int
    start_ns: int
    finish_ns: int


@dataclass
class Survey:
    """What a file holds.

    Parameters
    ----------
    windows : dict of int to Window
        Steps by number.
    starts_ns : array of int64
        Starts of all operators, ascending.
    metadata : dict
        What simsched's recorder added; empty for other recorders.
    counts : Counter of str
        Events by what they are: `operators`, `annotations`, `device`, `other`.
    repeated_steps : int
        Steps that stand in the file more than once; the longest is kept.
    """

    windows: dict[int, Window] = field(default_factory=dict)
    starts_ns: array[int] = field(default_factory=lambda: array("q"))
    metadata: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    repeated_steps: int = 0

    def operators_in(self, window: Window) -> int:
        """Return how many operators start within a step."""
        return bisect_left(self.starts_ns, window.finish_ns) - bisect_left(self.starts_ns, window.start_ns)

    def complete_steps(self) -> list[int]:
        """Return the numbers of the steps that hold operators, ascending."""
        return sorted(number for number, window in self.windows.items() if self.operators_in(window))


@dataclass
class Step:
    """The events of one step.

    Parameters
    ----------
    window : Window or None
        The step; None where the file has none and all of it is taken.
    events : list of Event
        In file order.
    lanes : list of str
        Names of the threads.
    """

    window: Window | None
    events: list[Event] = field(default_factory=list)
    lanes: list[str] = field(default_factory=list)


def survey(path: Path) -> Survey:
    """Return what a Kineto file holds.

    Raises
    ------
    FormatError
        If the file is not JSON, an operator in it has no valid time, or it has no operators.
    """
    found = Survey()
    number = -1
    for prefix, value in stream(path, EVENTS, METADATA):
        if prefix == METADATA:
            found.metadata = Place(path, "simsched").record(value)
            continue
        number += 1
        _count(found, Place(path, "event", number), value)
    if not found.starts_ns:
        raise FormatError(
            f"{path}: no operator among its {number + 1} events; record with torch.profiler and ProfilerActivity.CPU"
        )
    found.starts_ns = array("q", sorted(found.starts_ns))
    return found


def _count(found: Survey, place: Place, value: object) -> None:
    event = place.record(value)
    role = _role(event)
    found.counts[role] += 1
    if role not in ("operators", "annotations"):
        return
    start_ns, finish_ns = _times(event, place)
    step = _STEP.fullmatch(place.text(event.get("name"), "name"))
    if step is None:
        if role == "operators":
            found.starts_ns.append(start_ns)
        return
    window = Window(int(step[1]), start_ns, finish_ns)
    other = found.windows.setdefault(window.number, window)
    if other is not window:
        found.repeated_steps += 1
        if other.finish_ns - other.start_ns < finish_ns - start_ns:
            found.windows[window.number] = window


def _role(event: dict[str, Any]) -> str:
    category = event.get("cat")
    if event.get("ph") != "X" or not isinstance(category, str):
        return "other"
    if category in OPERATOR_CATEGORIES:
        return "operators"
    if category in ANNOTATION_CATEGORIES:
        return "annotations"
    return "device" if category in DEVICE_CATEGORIES else "other"


def _times(event: dict[str, Any], place: Place) -> tuple[int, int]:
    start_ns = place.nanoseconds(event.get("ts"), "ts")
    duration_ns = place.nanoseconds(event.get("dur"), "dur")
    if duration_ns < 0:
        raise place.error(
            f"dur is {event.get('dur')}, below zero", "the profiler's clock went backwards: record again"
        )
    return start_ns, start_ns + duration_ns


def collect(path: Path, window: Window | None) -> Step:
    """Return the operators and annotations that start within a step, or all of them.

    Raises
    ------
    FormatError
        If one of them is malformed.
    """
    step = Step(window)
    lanes: dict[tuple[str, str], int] = {}
    threads: dict[tuple[str, str], str] = {}
    for number, (_, value) in enumerate(stream(path, EVENTS)):
        place = Place(path, "event", number)
        event = place.record(value)
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            threads[_thread(event, place)] = _thread_name(event, place)
        role = _role(event)
        if role not in ("operators", "annotations"):
            continue
        start_ns, finish_ns = _times(event, place)
        name = place.text(event.get("name"), "name")
        inside = window is None or window.start_ns <= start_ns < window.finish_ns
        if not inside or _STEP.fullmatch(name):
            continue
        if len(step.events) == MAX_RECORDS:
            raise place.error(
                f"more than {MAX_RECORDS} operators in one step", "record fewer, or a shorter step"
            )
        lane = lanes.setdefault(_thread(event, place), len(lanes))
        step.events.append(
            _event(event, place, number, (start_ns, finish_ns, lane, name, role == "annotations"))
        )
    step.lanes = [threads.get(thread, f"thread {thread[1]}") for thread in lanes]
    return step


def _thread(event: dict[str, Any], place: Place) -> tuple[str, str]:
    for key in ("pid", "tid"):
        if type(event.get(key)) not in (int, str):
            raise place.error(f"{key} is {shown(event.get(key))}, expected a number or a text")
    return str(event["pid"]), str(event["tid"])


def _thread_name(event: dict[str, Any], place: Place) -> str:
    return place.text(place.record(event.get("args")).get("name"), "args.name")


def _event(event: dict[str, Any], place: Place, number: int, core: tuple[int, int, int, str, bool]) -> Event:
    start_ns, finish_ns, lane, name, annotation = core
    args = place.record(event.get("args", {}))

    def whole(key: str) -> int | None:
        return place.integer(args[key], key) if key in args else None

    recorded = whole("Ev Idx") if "Ev Idx" in args else whole("Profiler Event Index")
    return Event(
        start_ns, finish_ns, lane, number if recorded is None else recorded, sys.intern(name), annotation,
        whole("Record function id") or None, _known(whole("Sequence number")), args.get("Input Dims"),
    )  # fmt: skip


def _known(sequence: int | None) -> int | None:
    return None if sequence is None or sequence < 0 else sequence
