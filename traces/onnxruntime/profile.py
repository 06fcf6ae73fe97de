"""The events of an ONNX Runtime profile: its runs, and the nodes of one of them.

The file is read twice as a stream: once to find the runs, once to keep the nodes of the chosen one, so that
memory does not grow with the runs that are not used. Times are whole microseconds since the session was made,
rounded down, a start and a length each.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend
from simsched.graph.shapes import MAX_RANK
from simsched.traces.onnx.proto import Tensor
from simsched.traces.shared.json_elements import objects
from simsched.traces.shared.places import ObjectFields

#: Beyond this many microseconds (52 days) nanoseconds no longer survive as float64 seconds.
MAX_US = 2**52 // 1000
LONGEST_ID = 80


@dataclass(frozen=True)
class _Fields(ObjectFields):
    """Checked access to the fields of an event, or of an object inside it; `place` is the event's index in the file."""

    place: int

    def inside(self, key: str) -> _Fields:
        """Return the object in a field; an empty one where the field is missing."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, value, "an object")
        return _Fields(self.path, self.where, value, self.place)

    def text(self, key: str) -> str:
        """Return a string; "" where it is missing."""
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(key, value, "a string")
        return plain_text(value)

    def count(self, key: str) -> int:
        """Return a required count."""
        value = self.values.get(key)
        if type(value) is not int or not 0 <= value < 2**63:
            raise self.wrong(key, value, "a whole number of 0 or more")
        return value

    def times_us(self) -> tuple[int, int]:
        """Return start and finish, in microseconds since the session was made."""
        for key in ("ts", "dur"):
            if not 0 <= self.count(key) <= MAX_US // 2:
                raise self.wrong(key, self.values[key], f"at most {MAX_US // 2} microseconds")
        return self.values["ts"], self.values["ts"] + self.values["dur"]

    def thread(self) -> str:
        """Return process and thread."""
        return f"process {self._id('pid')} thread {self._id('tid')}"

    def _id(self, key: str) -> str:
        value = self.values.get(key)
        short = (
            len(value) <= LONGEST_ID if isinstance(value, str) else type(value) is int and abs(value) < 2**64
        )
        if not short:
            raise self.wrong(key, value, "a process or thread id")
        return plain_text(value)

    def digits(self, key: str) -> int:
        """Return a number that the profile writes as a string; 0 where it is missing."""
        value = self.values.get(key, "0")
        if not isinstance(value, str) or not (value.isascii() and value.isdigit()) or len(value) > 18:
            raise self.wrong(key, value, "a whole number as a string")
        return int(value)

    def tensors(self, key: str) -> tuple[Tensor, ...] | None:
        """Return the tensors of a list like `[{"float": [16, 3, 32, 32]}]`; None where it is missing."""
        if (value := self.values.get(key)) is None:
            return None
        if not isinstance(value, list) or not all(isinstance(t, dict) and len(t) == 1 for t in value):
            raise self.wrong(key, value, 'a list like [{"float": [2, 3]}]')
        return tuple(self._tensor(key, *next(iter(t.items()))) for t in value)

    def _tensor(self, key: str, dtype: str, dims: object) -> Tensor:
        expected = f"a shape: at most {MAX_RANK} whole numbers of 0 or more, and at most 2**62 elements"
        whole = isinstance(dims, list) and all(type(d) is int and d >= 0 for d in dims)
        if not isinstance(dims, list) or not whole or len(dims) > MAX_RANK or math.prod(dims) > 2**62:
            raise self.wrong(key, dims, expected)
        return Tensor(plain_text(dtype), tuple(dims))


#: Suffix of the events that time a node's computation; older versions also write `_fence_before` and others.
KERNEL = "_kernel_time"
#: Categories of a device's activity, from its own profiler: the times of launched kernels, calls of its library.
DEVICE = ("Kernel", "Api")
#: Number of events that the profiler keeps before it drops further ones.
MAX_EVENTS = 1_000_000


@dataclass(frozen=True)
class ModelRun:
    """One `model_run` of a profile.

    Parameters
    ----------
    start_us, finish_us : int
        Microseconds since the session was made.
    thread : str
        Process and thread that called it.
    nodes : int
        Number of distinct nodes that ran in it.
    device_events : int
        Number of events of a device (a GPU's kernels) that started in it.
    """

    start_us: int
    finish_us: int
    thread: str
    nodes: int
    device_events: int

    @property
    def span_us(self) -> int:
        """Length in microseconds."""
        return self.finish_us - self.start_us

    def overlaps(self, other: ModelRun) -> bool:
        """Return whether both ran at the same time."""
        return self.start_us < other.finish_us and other.start_us < self.finish_us


@dataclass(frozen=True)
class Contents:
    """Runs, sessions and threads of a profile.

    Parameters
    ----------
    runs : list of ModelRun
        In order of their start.
    sessions : int
        How often a session was made.
    threads : int
        Number of threads that ran nodes, in all runs.
    full : bool
        Whether the profiler reached the number of events at which it stops.
    """

    runs: list[ModelRun]
    sessions: int
    threads: int
    full: bool


@dataclass(frozen=True)
class Event:
    """One execution of a node.

    Parameters
    ----------
    place : int
        Index of the event in the file's list.
    name, op_type : str
        Of the node; an unnamed one is called by operator and index.
    index : str
        The node's index inside the session; "" where unknown.
    start_us, finish_us : int
        Microseconds since the session was made.
    thread : str
        Process and thread that ran it.
    provider : str
        Execution provider: `CPUExecutionProvider`, ...
    inputs, outputs : tuples of Tensor, or None
        Shapes of its tensors, where known; constants packed at load time are not among them.
    counted_bytes : int or None
        Bytes of inputs, parameters and outputs, where known.
    width, pool : int
        Threads that ran a part of it, of how many that could have.
    """

    place: int
    name: str
    op_type: str
    index: str
    start_us: int
    finish_us: int
    thread: str
    provider: str
    inputs: tuple[Tensor, ...] | None
    outputs: tuple[Tensor, ...] | None
    counted_bytes: int | None
    width: int
    pool: int


def read_contents(file: Path, mend: Mend | None = None) -> Contents:
    """Return the content of a profile.

    Parameters
    ----------
    file : Path
        The profile, plain or gzipped.
    mend : callable, optional
        See `stream`.

    Raises
    ------
    FormatError
        If the file is not a profile, or no run was finished before the profile was written.
    """
    spans: list[tuple[int, int, str]] = []
    codes: dict[str, int] = {}
    starts, nodes, device = array("q"), array("q"), array("q")
    threads: set[str] = set()
    sessions = place = 0
    for event in _events(file, mend):
        category, name, place = event.values.get("cat"), event.values.get("name"), event.place
        if category == "Session":
            sessions += name == "session_initialization"
            if name == "model_run":
                spans.append((*event.times_us(), event.thread()))
        elif category in DEVICE:
            device.append(_moment_us(event.values.get("ts")))
        elif (kernel := _kernel(event)) is not None:
            starts.append(event.times_us()[0])
            nodes.append(codes.setdefault(kernel, len(codes)))
            threads.add(event.thread())
    if not spans:
        raise FormatError(
            f"{file}: no model_run event; record at least one run, and end with end_profiling()"
        )
    order = np.argsort(np.array(starts, np.int64), kind="stable")
    at, coded = np.array(starts, np.int64)[order], np.array(nodes, np.int64)[order]
    on_device = np.sort(np.array(device, np.int64))
    runs = [
        ModelRun(*span, nodes=_distinct(at, coded, *span[:2]), device_events=_within(on_device, *span[:2]))
        for span in sorted(spans)
    ]
    return Contents(runs, sessions, len(threads), place + 1 >= MAX_EVENTS)


def _moment_us(value: object) -> int:
    """Return when a device's event started; -1 for no such time, as only a count depends on it."""
    return value if type(value) is int and 0 <= value < 2**62 else -1


def _within(starts: npt.NDArray[np.int64], start: int, finish: int) -> int:
    first, last = np.searchsorted(starts, [start, finish + 1])
    return int(last - first)


def _distinct(starts: npt.NDArray[np.int64], codes: npt.NDArray[np.int64], start: int, finish: int) -> int:
    """Return the number of distinct codes among those that start in [start, finish]; `starts` ascend."""
    first, last = np.searchsorted(starts, start), np.searchsorted(starts, finish, side="right")
    return len(np.unique(codes[first:last]))


def read_events(file: Path, run: ModelRun, mend: Mend | None = None) -> list[Event]:
    """Return the node events that start within a run, in order of start, finish and place in the file.

    Raises
    ------
    FormatError
        If one of them is malformed; the message names it.
    """
    events = []
    parts_run: dict[str, int] = {}
    for fields in _events(file, mend):
        if (name := _kernel(fields)) is not None:
            # The counters continue through the whole file, so that those of earlier runs must be seen too.
            threads = _threads(fields.inside("args"), parts_run)
            if run.start_us <= fields.times_us()[0] <= run.finish_us:
                events.append(_event(fields, name, *threads))
    return sorted(events, key=lambda e: (e.start_us, e.finish_us, e.place))


def _event(fields: _Fields, name: str, width: int, pool: int) -> Event:
    args = fields.inside("args")
    start, finish = fields.times_us()
    sizes = [key for key in ("activation_size", "parameter_size", "output_size") if key in args.values]
    return Event(
        place=fields.place,
        name=name,
        op_type=args.text("op_name"),
        # The name since ONNX Runtime 1.12, and the one before.
        index=args.text("node_index") or args.text("exec_plan_index"),
        start_us=start,
        finish_us=finish,
        thread=fields.thread(),
        provider=args.text("provider"),
        inputs=args.tensors("input_type_shape"),
        outputs=args.tensors("output_type_shape"),
        counted_bytes=sum(map(args.digits, sizes)) if sizes else None,
        width=width,
        pool=pool,
    )


def _kernel(event: _Fields) -> str | None:
    """Return the node that an event times, which old versions leave empty; None for other events."""
    name = event.values.get("name")
    if event.values.get("cat") != "Node" or not isinstance(name, str) or not name.endswith(KERNEL):
        return None
    return plain_text(name.removesuffix(KERNEL))


def _threads(args: _Fields, parts_run: dict[str, int]) -> tuple[int, int]:
    """Return how many threads ran a part of a node, and of how many; keep the counters for the next one.

    `num_run` of a pool's thread counts all parts it ever ran; those that grew since the last event helped
    with this one. The caller always runs a part itself. A session without a pool writes "".
    """
    if isinstance(args.values.get("thread_scheduling_stats", ""), str):
        return 1, 1
    threads = args.inside("thread_scheduling_stats").inside("sub_threads")
    helpers = 0
    for thread in threads.values:
        count = threads.inside(thread).count("num_run")
        helpers += count > parts_run.get(thread, 0)
        parts_run[thread] = count
    return 1 + helpers, 1 + len(threads.values)


def _events(file: Path, mend: Mend | None) -> Iterator[_Fields]:
    for place, event in enumerate(objects(file, None, mend=mend)[1]):
        yield _Fields(file, f"event {place}", event, place)
