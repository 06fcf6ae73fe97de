"""Kineto's Chrome trace: which steps it holds, and the operators and annotations of one of them.

One pass over the file. Operators are kept as columns until a step is chosen, because a step may stand in the file
after what it holds: some 70 bytes each, less than half of their text.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.errors import FormatError
from simsched.graph.loading import Mend
from simsched.traces.pytorch.events import Lanes, Table, Window, arguments, times
from simsched.traces.pytorch.streams import DEVICE, Streams, is_of_device
from simsched.traces.shared.json_elements import Elements, require_msgspec
from simsched.traces.shared.places import Place

if TYPE_CHECKING:
    from simsched.traces.pytorch.raw import RawEvent

#: Older profilers say Operator.
ROLES = {
    "cpu_op": "operators",
    "Operator": "operators",
    "user_annotation": "annotations",
    **dict.fromkeys(DEVICE, "device"),
}
METADATA = "simsched"
_STEP = re.compile(r"ProfilerStep#(\d{1,18})")


@dataclass
class Survey:
    """What a file holds.

    Parameters
    ----------
    table : Table
        All operators and annotations.
    lanes : Lanes
        Threads and streams.
    windows : dict of int to Window
        Steps by number.
    metadata : dict
        What simsched's recorder added; empty for other recorders.
    counts : Counter of str
        Events by what they are: `operators`, `annotations`, `device`, `other`.
    repeated_steps : int
        Steps that stand in the file more than once; the longest is kept.
    untimed : int
        Operators without a duration, or with one below zero, that were left out.
    streams : Streams
        What ran on devices, where that was asked for.
    """

    table: Table
    lanes: Lanes
    windows: dict[int, Window] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    repeated_steps: int = 0
    untimed: int = 0
    streams: Streams = field(default_factory=Streams)

    def complete_steps(self) -> list[int]:
        """Return the numbers of the steps that hold operators, ascending."""
        starts, windows = self.table.starts_ns(), list(self.windows.values())
        first, last = (
            np.searchsorted(starts, [getattr(w, key) for w in windows]) for key in ("start_ns", "finish_ns")
        )
        return sorted(
            w.number for w, before, after in zip(windows, first, last, strict=True) if before < after
        )


def survey(path: Path, mend: Mend | None = None, devices: bool = False) -> Survey:
    """Return what a Kineto file holds.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    mend : callable, optional
        As for `simsched.traces.shared.json_stream.stream`; operators without a valid duration are then left out.
    devices : bool
        Whether to keep what ran on devices.

    Raises
    ------
    FormatError
        If the file is not JSON, an operator in it is malformed, or it has no operators.
    """
    require_msgspec()
    from simsched.traces.pytorch.raw import EVENTS

    lanes = Lanes()
    found, number = Survey(Table(lanes), lanes), 0
    events = Elements(path, "traceEvents", EVENTS, (METADATA,), mend)
    for piece in events:
        for event in piece:
            place = Place(path, "event", number)
            if devices and event.ph == "X" and is_of_device(event.cat):
                _take_device(found, place, number, event, mend is not None)
            else:
                _take(found, place, number, event, mend is not None)
            number += 1
    if METADATA in events.members:
        found.metadata = Place(path, "simsched").record(events.members[METADATA])
    if not found.counts["operators"]:
        raise FormatError(
            f"{path}: no operator among its {number} events; record with torch.profiler and ProfilerActivity.CPU"
        )
    return found


def _take(found: Survey, place: Place, number: int, event: RawEvent, tolerant: bool) -> None:
    role = _role(event)
    found.counts[role] += 1
    if role in ("other", "device"):
        if event.ph == "M" and event.name == "thread_name":
            name = place.text(arguments(event, place).name, "args.name")
            found.lanes.name(event.pid, event.tid, name, place)
        return
    when_ns = _when(found, place, event, tolerant)
    if when_ns is None:
        found.counts[role] -= 1
        return
    step = _STEP.fullmatch(place.text(event.name, "name"))
    if step is None:
        found.table.add(event, when_ns, role == "annotations", number, place)
        return
    window = Window(int(step[1]), *when_ns)
    other = found.windows.setdefault(window.number, window)
    if other is not window:
        found.repeated_steps += 1
        if other.finish_ns - other.start_ns < window.finish_ns - window.start_ns:
            found.windows[window.number] = window


def _role(event: RawEvent) -> str:
    category = event.cat
    return ROLES.get(category, "other") if event.ph == "X" and isinstance(category, str) else "other"


def _when(found: Survey, place: Place, event: RawEvent, tolerant: bool) -> tuple[int, int] | None:
    try:
        return times(event, place)
    except FormatError:
        if not tolerant:
            raise
        found.untimed += 1
        return None


def _take_device(found: Survey, place: Place, number: int, event: RawEvent, tolerant: bool) -> None:
    found.counts[_role(event)] += 1
    when_ns = _when(found, place, event, tolerant)
    if when_ns is not None:
        found.streams.add(event, when_ns, found.lanes, number, place)
