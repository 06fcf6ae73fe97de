"""The events of an ONNX Runtime profile: which runs it holds, and the nodes of one of them.

The file is read twice as a stream: once to find the runs, once to keep the nodes of the chosen one, so that
memory does not grow with the runs that are not used. Times are whole microseconds since the session was made,
rounded down, a start and a length each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.traces.json_stream import shown, stream
from simsched.traces.onnx.tensors import Tensor
from simsched.traces.onnxruntime.fields import Fields

#: Suffix of the events that time a node's computation; older versions also write `_fence_before` and others.
KERNEL = "_kernel_time"


@dataclass(frozen=True)
class Run:
    """One `model_run` of a profile.

    Parameters
    ----------
    start_us, finish_us : int
        Microseconds since the session was made.
    thread : str
        Process and thread that called it.
    nodes : int
        Number of distinct nodes that ran in it.
    """

    start_us: int
    finish_us: int
    thread: str
    nodes: int

    @property
    def span_us(self) -> int:
        """Length in microseconds."""
        return self.finish_us - self.start_us

    def overlaps(self, other: Run) -> bool:
        """Tell whether both ran at the same time."""
        return self.start_us < other.finish_us and other.start_us < self.finish_us


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
        The node's index inside the session; "" where not told.
    start_us, finish_us : int
        Microseconds since the session was made.
    thread : str
        Process and thread that ran it.
    provider : str
        Execution provider: `CPUExecutionProvider`, ...
    inputs, outputs : tuples of Tensor, or None
        Shapes of its tensors, where told; constants packed at load time are not among them.
    counted_bytes : int or None
        Bytes of inputs, parameters and outputs, where told.
    width : int
        Threads that ran a part of it.
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


def read_runs(file: Path) -> list[Run]:
    """Return the runs of a profile, in order of their start.

    Raises
    ------
    FormatError
        If the file is not a profile, or no run was finished before the profile was written.
    """
    spans: list[tuple[int, int, str]] = []
    codes: dict[str, int] = {}
    starts, nodes = array("q"), array("q")
    for event in _events(file):
        if event.values.get("cat") == "Session" and event.values.get("name") == "model_run":
            spans.append((*event.times_us(), event.thread()))
        elif name := _kernel(event):
            starts.append(event.times_us()[0])
            nodes.append(codes.setdefault(name, len(codes)))
    if not spans:
        raise FormatError(
            f"{file}: no model_run event; record at least one run, and end with end_profiling()"
        )
    order = np.argsort(np.array(starts, np.int64), kind="stable")
    at, coded = np.array(starts, np.int64)[order], np.array(nodes, np.int64)[order]
    return [Run(*span, nodes=_distinct(at, coded, *span[:2])) for span in sorted(spans)]


def _distinct(starts: npt.NDArray[np.int64], codes: npt.NDArray[np.int64], start: int, finish: int) -> int:
    """Return the number of distinct codes among those that start in [start, finish]; `starts` ascend."""
    first, last = np.searchsorted(starts, start), np.searchsorted(starts, finish, side="right")
    return len(np.unique(codes[first:last]))


def read_events(file: Path, run: Run) -> list[Event]:
    """Return the node events that start within a run, in order of start, finish and place in the file.

    Raises
    ------
    FormatError
        If one of them is malformed; the message tells which.
    """
    events = []
    parts_run: dict[str, int] = {}
    for fields in _events(file):
        if name := _kernel(fields):
            # The counters run on through the whole file, so that those of earlier runs must be seen too.
            width = _width(fields.inside("args"), parts_run)
            if run.start_us <= fields.times_us()[0] <= run.finish_us:
                events.append(_event(fields, name, width))
    return sorted(events, key=lambda e: (e.start_us, e.finish_us, e.place))


def _event(fields: Fields, name: str, width: int) -> Event:
    args = fields.inside("args")
    start, finish = fields.times_us()
    return Event(
        place=fields.place,
        name=name,
        op_type=args.text("op_name"),
        index=args.text("node_index"),
        start_us=start,
        finish_us=finish,
        thread=fields.thread(),
        provider=args.text("provider"),
        inputs=args.tensors("input_type_shape"),
        outputs=args.tensors("output_type_shape"),
        counted_bytes=_counted_bytes(args),
        width=width,
    )


def _kernel(event: Fields) -> str:
    """Return the node that an event times; "" if it is no such event."""
    name = event.values.get("name")
    if event.values.get("cat") != "Node" or not isinstance(name, str) or not name.endswith(KERNEL):
        return ""
    return plain_text(name.removesuffix(KERNEL))


def _counted_bytes(args: Fields) -> int | None:
    keys = ("activation_size", "parameter_size", "output_size")
    return sum(args.digits(key) for key in keys) if any(key in args.values for key in keys) else None


def _width(args: Fields, parts_run: dict[str, int]) -> int:
    """Return how many threads ran a part of a node, and remember the counters for the next one.

    `num_run` of a pool's thread counts all parts it ever ran; those that grew since the last event helped
    with this one. The caller always runs a part itself. A session without a pool writes "".
    """
    if isinstance(args.values.get("thread_scheduling_stats", ""), str):
        return 1
    threads = args.inside("thread_scheduling_stats").inside("sub_threads")
    helpers = 0
    for thread in threads.values:
        count = threads.inside(thread).count("num_run")
        helpers += count > parts_run.get(thread, 0)
        parts_run[thread] = count
    return 1 + helpers


def _events(file: Path) -> Iterator[Fields]:
    for place, (_, event) in enumerate(stream(file, "item")):
        if not isinstance(event, dict):
            raise FormatError(f"{file}: event {place} is {shown(event)}; expected an object")
        yield Fields(file, place, event)
