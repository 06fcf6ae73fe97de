"""Kineto's Chrome trace: its steps, and the operators and annotations of one of them.

One pass over the file. Operators are kept as columns until a step is chosen, because a step may come in the file
after its content: some 70 bytes each, less than half of their text.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.loading import Mend
from simsched.multimap import multimap
from simsched.traces.pytorch.events import Lanes, Table, Window, arguments, times
from simsched.traces.pytorch.launches import HostCalls, blocks, is_runtime
from simsched.traces.shared.json_elements import Elements, require_msgspec
from simsched.traces.shared.places import Place

if TYPE_CHECKING:
    from simsched.traces.pytorch.raw import RawEvent

_CUT = re.compile(r"[<(]")


def kernel_kind(name: str) -> str:
    """Return a kernel's kind: the name of its function, without types and arguments.

    Examples
    --------
    >>> kernel_kind("void at::native::(anonymous namespace)::gather<float, 4>(int, float*)")
    'at::native::gather'
    >>> kernel_kind("Memcpy HtoD (Pageable -> Device)")
    'Memcpy HtoD'
    """
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return _CUT.split(plain, maxsplit=1)[0].strip() or name


DEVICE = frozenset(
    {
        "kernel",
        "Kernel",
        "concurrent_kernel",
        "gpu_memcpy",
        "Memcpy",
        "gpu_memset",
        "Memset",
        "mtia_ccp_events",
    }
)
SYNC = "cuda_sync"
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, copy or fill.

    Parameters
    ----------
    start_ns, finish_ns : int
        When it ran.
    lane : int
        Its stream, as a number of `Lanes`.
    device, stream : int
        Its device, and its stream as the device counts; `UNKNOWN` where unknown.
    order : int
        Position among the events.
    kind : str
        Name of its function.
    correlation : int
        Number that it shares with the call that launched it; `UNKNOWN` where unknown.
    size_B : float
        Bytes that it moved; NaN where unknown.
    """

    start_ns: int
    finish_ns: int
    lane: int
    device: int
    stream: int
    order: int
    kind: str
    correlation: int
    size_B: float


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """A call of the device's runtime on a host thread: time, place, and whether it waits for the device."""

    start_ns: int
    finish_ns: int
    lane: int
    correlation: int
    blocks: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait that the device reports, on a stream, for another one of it where `waits_for` names it."""

    device: int
    stream: int
    waits_for: int
    recorded_by: int
    correlation: int


@dataclass
class Streams:
    """Kernels, calls of the runtime and waits in a file.

    Parameters
    ----------
    kernels : list of Kernel
        In file order.
    calls : dict of int to RuntimeCall
        By correlation.
    waits : dict of int to Wait
        By correlation.
    """

    kernels: list[Kernel] = field(default_factory=list)
    calls: dict[int, RuntimeCall] = field(default_factory=dict)
    waits: dict[int, Wait] = field(default_factory=dict)

    def add(self, event: RawEvent, when_ns: tuple[int, int], lanes: Lanes, number: int, place: Place) -> None:
        """Add an event of a device or its runtime, or raise `FormatError` if it is malformed."""
        budget().check(place.file, len(self.kernels) + len(self.calls) + len(self.waits), "tasks")
        args = arguments(event, place)
        device, stream, correlation = map(_number, (args.device, args.stream, args.correlation))
        if event.cat in DEVICE:
            kind = kernel_kind(place.text(event.name, "name"))
            lane = lanes.number(event.pid, event.tid, place)
            size = args.size_B
            size_B = float(size) if type(size) in (int, float) and 0 <= size < 1e300 else float("nan")
            self.kernels.append(Kernel(*when_ns, lane, device, stream, number, kind, correlation, size_B))
        elif event.cat == SYNC:
            waits_for, recorded_by = _number(args.waits_for), _number(args.recorded_by)
            self.waits[correlation] = Wait(device, stream, waits_for, recorded_by, correlation)
        elif correlation != UNKNOWN:
            lane, waits = lanes.number(event.pid, event.tid, place), blocks(place.text(event.name, "name"))
            self.calls[correlation] = RuntimeCall(*when_ns, lane, correlation, waits)

    def within(self, window: Window | None) -> Streams:
        """Return the kernels launched or awaited within a step."""
        if window is None:
            return self
        inside = range(window.start_ns, window.finish_ns)
        calls = {key: call for key, call in self.calls.items() if call.start_ns in inside}
        kernels = [
            k for k in self.kernels
            if k.correlation in calls or (k.correlation not in self.calls and k.start_ns in inside)
        ]  # fmt: skip
        return Streams(kernels, calls, self.waits)

    def launched_ns(self) -> npt.NDArray[np.int64]:
        """Return when each kernel was launched, or started where its launch is unknown."""
        return np.array([self.calls.get(k.correlation, k).start_ns for k in self.kernels], np.int64)

    def by_stream(self) -> dict[int, list[int]]:
        """Return the indices of the kernels of each lane, by start; simultaneous ones by their launch."""
        when = [(kernel.start_ns, kernel.correlation, kernel.order) for kernel in self.kernels]
        return multimap(
            (self.kernels[index].lane, index) for index in sorted(range(len(when)), key=when.__getitem__)
        )


def _is_of_device(category: object) -> bool:
    """Return whether events of a category are a device's, or calls of its runtime."""
    return isinstance(category, str) and (category in DEVICE or category == SYNC or is_runtime(category))


def _number(value: object) -> int:
    return value if type(value) is int and 0 <= value < 2**63 else UNKNOWN


#: Older profilers write Operator.
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
    """Operators, steps and devices of a file.

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
        Events by kind: `operators`, `annotations`, `device`, `other`.
    repeated_steps : int
        Steps that occur in the file more than once; the longest is kept.
    untimed : int
        Operators without a duration, or with one below zero, that were left out.
    streams : Streams
        Activity of devices, if requested.
    calls : HostCalls
        Calls of their runtimes.
    processes : set of str
        Processes that marked steps.
    """

    table: Table
    lanes: Lanes
    windows: dict[int, Window] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    repeated_steps: int = 0
    untimed: int = 0
    streams: Streams = field(default_factory=Streams)
    calls: HostCalls = field(default_factory=HostCalls)
    processes: set[str] = field(default_factory=set)

    def complete_steps(self) -> list[int]:
        """Return the numbers of the steps that hold operators, or launched kernels if requested, ascending."""
        windows = list(self.windows.values())
        starts = np.sort(np.concatenate([self.table.starts_ns(), self.streams.launched_ns()]))
        first, last = (
            np.searchsorted(starts, [getattr(w, key) for w in windows]) for key in ("start_ns", "finish_ns")
        )
        return sorted(
            w.number for w, before, after in zip(windows, first, last, strict=True) if before < after
        )


def survey(path: Path, mend: Mend | None = None, devices: bool = False) -> Survey:
    """Return the content of a Kineto file.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    mend : callable, optional
        As for `simsched.traces.shared.json_stream.stream`; operators without a valid duration are then left out.
    devices : bool
        Whether to keep the activity of devices.

    Raises
    ------
    FormatError
        If the file is not JSON, an operator in it is malformed, it has no operators (nor kernels, if devices are
        kept), or several processes mark steps in it.
    """
    require_msgspec()
    from simsched.traces.pytorch.raw import EVENTS

    lanes = Lanes()
    found, number = Survey(Table(lanes), lanes), 0
    events = Elements(path, "traceEvents", EVENTS, (METADATA,), mend)
    for piece in events:
        for event in piece:
            place = Place(path, "event", number)
            if devices and event.ph == "X" and _is_of_device(event.cat):
                _take_device(found, place, number, event, mend is not None)
            else:
                _take(found, place, number, event, mend is not None)
            number += 1
    if METADATA in events.members:
        found.metadata = Place(path, "simsched").record(events.members[METADATA])
    if len(found.processes) > 1:
        raise FormatError(
            f"{path}: ProfilerStep of several processes ({', '.join(sorted(found.processes)[:8])}), as in merged files "
            "of ranks: each has steps, record function ids and correlations of its own; load the file of one rank, or "
            "a folder with a file for each"
        )
    if not found.counts["operators"] and not found.streams.kernels:
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
        elif event.ph == "X" and isinstance(event.cat, str) and is_runtime(event.cat):
            # What is not read otherwise may be damaged.
            with suppress(FormatError):
                _take_call(found, place, event, times(event, place))
        return
    if (when_ns := _when(found, place, event, tolerant)) is None:
        found.counts[role] -= 1
        return
    if (step := _STEP.fullmatch(place.text(event.name, "name"))) is None:
        found.table.add(event, when_ns, role == "annotations", number, place)
        return
    found.processes.add(str(event.pid))
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
    if (when_ns := _when(found, place, event, tolerant)) is not None:
        found.streams.add(event, when_ns, found.lanes, number, place)
        if is_runtime(event.cat):
            _take_call(found, place, event, when_ns)


def _take_call(found: Survey, place: Place, event: RawEvent, when_ns: tuple[int, int]) -> None:
    if _number(arguments(event, place).correlation) != UNKNOWN:
        waits = blocks(place.text(event.name, "name"))
        found.calls.add(when_ns, found.lanes.number(event.pid, event.tid, place), waits)
