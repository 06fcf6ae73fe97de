"""The events of an ONNX Runtime profile: which runs it holds, and the nodes of one of them.

The file is read twice as a stream: once to find the runs, once to keep the nodes of the chosen one, so that memory
does not grow with the runs that are not used. Times are whole microseconds since the session was made, rounded
down, a start and a length each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import FormatError, MissingExtraError
from simsched.graph.loading import open_plain
from simsched.traces.onnx_model import Tensor

KERNEL = "_kernel_time"
#: Beyond this many microseconds (52 days) nanoseconds no longer survive as float64 seconds.
MAX_US = 2**52 // 1000
MAX_RANK = 64
#: Thread ids and names longer than this are not kept whole in messages.
SHOWN = 80

#: Bytes of one element, under the names that ONNX Runtime gives the types.
ITEMSIZE_B = {
    **dict.fromkeys(
        ["bool", "int8", "uint8", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"], 1
    ),
    **dict.fromkeys(["int16", "uint16", "float16", "bfloat16"], 2),
    **dict.fromkeys(["float", "int32", "uint32"], 4),
    **dict.fromkeys(["double", "int64", "uint64", "complex64"], 8),
    "complex128": 16,
}


@dataclass(frozen=True)
class Run:
    """One `model_run` of a profile.

    Parameters
    ----------
    start_us, finish_us : int
        Microseconds since the session was made.
    thread : str
        Process and thread that called it.
    nodes : frozenset of int
        Codes of the distinct node names that ran in it.
    """

    start_us: int
    finish_us: int
    thread: str
    nodes: frozenset[int]

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
    size_B : int or None
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
    size_B: int | None
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
    for place, event in _events(file):
        category, name = event.get("cat"), event.get("name")
        if category == "Session" and name == "model_run":
            start, finish = _times(file, place, event)
            spans.append((start, finish, _thread(file, place, event)))
        elif category == "Node" and isinstance(name, str) and name.endswith(KERNEL):
            starts.append(_times(file, place, event)[0])
            nodes.append(codes.setdefault(name, len(codes)))
    if not spans:
        raise FormatError(
            f"{file}: no model_run event; record at least one run of the session and end with end_profiling()"
        )
    order = np.argsort(starts, kind="stable") if starts else np.empty(0, np.int64)
    at, coded = np.array(starts, np.int64)[order], np.array(nodes, np.int64)[order]
    return [_run(span, at, coded) for span in sorted(spans)]


def _run(span: tuple[int, int, str], starts: np.ndarray[Any, Any], codes: np.ndarray[Any, Any]) -> Run:
    first, last = np.searchsorted(starts, span[0]), np.searchsorted(starts, span[1], side="right")
    return Run(*span, frozenset(np.unique(codes[first:last]).tolist()))


def read_events(file: Path, run: Run) -> list[Event]:
    """Return the node events that start within a run, in order of start, finish and place in the file.

    Raises
    ------
    FormatError
        If one of them is malformed; the message tells which.
    """
    events = []
    parts: dict[str, int] = {}
    for place, event in _events(file):
        name = event.get("name")
        if event.get("cat") != "Node" or not isinstance(name, str) or not name.endswith(KERNEL):
            continue
        args = event.get("args", {})
        if not isinstance(args, dict):
            raise _wrong(file, place, "args", args, "an object")
        width = _width(file, place, args.get("thread_scheduling_stats"), parts)
        start, finish = _times(file, place, event)
        if run.start_us <= start <= run.finish_us:
            events.append(_event(file, place, event, args, (start, finish), width))
    return sorted(events, key=lambda e: (e.start_us, e.finish_us, e.place))


def _event(
    file: Path,
    place: int,
    event: Mapping[str, Any],
    args: Mapping[str, Any],
    times: tuple[int, int],
    width: int,
) -> Event:
    return Event(
        place=place,
        name=_clean(event["name"].removesuffix(KERNEL)),
        op_type=_string(file, place, args, "op_name"),
        index=_string(file, place, args, "node_index"),
        start_us=times[0],
        finish_us=times[1],
        thread=_thread(file, place, event),
        provider=_string(file, place, args, "provider"),
        inputs=_tensors(file, place, args, "input_type_shape"),
        outputs=_tensors(file, place, args, "output_type_shape"),
        size_B=_size_B(file, place, args),
        width=width,
    )


def _events(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        import ijson
    except ImportError:
        raise MissingExtraError("ijson", "formats", "reading ONNX Runtime profiles") from None
    with open_plain(file) as stream:
        place = -1
        try:
            for place, event in enumerate(ijson.items(stream, "item")):
                if not isinstance(event, dict):
                    raise FormatError(f"{file}: event {place} is {shown(event)}; expected an object")
                yield place, event
        except (ijson.JSONError, ValueError, OverflowError) as error:
            reason = " ".join(str(error).split())[:200]
            raise FormatError(
                f"{file}: broken or cut off after event {place}: {reason}; was end_profiling() called and the whole "
                "file copied?"
            ) from None


def shown(value: object) -> str:
    """Return a value as it may stand in a message: on one line and of bounded length."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # thousands of digits, thousands of brackets
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _wrong(file: Path, place: int, key: str, value: object, expected: str) -> FormatError:
    return FormatError(f"{file}: event {place} has {key} {shown(value)}; expected {expected}")


def _times(file: Path, place: int, event: Mapping[str, Any]) -> tuple[int, int]:
    start, length = (_microseconds(file, place, event, key) for key in ("ts", "dur"))
    return start, start + length


def _microseconds(file: Path, place: int, event: Mapping[str, Any], key: str) -> int:
    value = event.get(key)
    if type(value) is not int or not 0 <= value <= MAX_US // 2:
        raise _wrong(file, place, key, value, f"whole microseconds from 0 to {MAX_US // 2}")
    return value


def _thread(file: Path, place: int, event: Mapping[str, Any]) -> str:
    ids = [event.get("pid"), event.get("tid")]
    for key, value in zip(("pid", "tid"), ids, strict=True):
        short = len(value) <= SHOWN if isinstance(value, str) else type(value) is int and abs(value) < 2**64
        if not short:
            raise _wrong(file, place, key, value, "a process or thread id")
    return _clean(f"process {ids[0]} thread {ids[1]}")


def _clean(text: str) -> str:
    """Return text that can be printed and stored: a lone surrogate becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _string(file: Path, place: int, args: Mapping[str, Any], key: str) -> str:
    value = args.get(key, "")
    if not isinstance(value, str):
        raise _wrong(file, place, key, value, "a string")
    return _clean(value)


def _size_B(file: Path, place: int, args: Mapping[str, Any]) -> int | None:
    keys = ("activation_size", "parameter_size", "output_size")
    if not any(key in args for key in keys):
        return None
    return sum(_whole(file, place, args, key) for key in keys)


def _whole(file: Path, place: int, args: Mapping[str, Any], key: str) -> int:
    value = args.get(key, "0")
    if not isinstance(value, str) or not (value.isascii() and value.isdigit()) or len(value) > 18:
        raise _wrong(file, place, key, value, "a whole number of bytes, as a string")
    return int(value)


def _tensors(file: Path, place: int, args: Mapping[str, Any], key: str) -> tuple[Tensor, ...] | None:
    """Return the tensors of a list like `[{"float": [16, 3, 32, 32]}]`."""
    value = args.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(t, dict) and len(t) == 1 for t in value):
        raise _wrong(file, place, key, value, 'a list like [{"float": [2, 3]}]')
    tensors = [next(iter(t.items())) for t in value]
    for _, dims in tensors:
        fits = isinstance(dims, list) and len(dims) <= MAX_RANK
        if not fits or not all(type(d) is int and 0 <= d < 2**63 for d in dims):
            raise _wrong(file, place, key, dims, f"a shape: at most {MAX_RANK} whole numbers of 0 or more")
    return tuple(Tensor(_clean(dtype), tuple(dims)) for dtype, dims in tensors)


def _width(file: Path, place: int, stats: object, parts: dict[str, int]) -> int:
    """Return how many threads ran a part of a node, and remember the counters for the next one.

    `num_run` of a pool's thread counts all parts it ever ran; those that grew since the last event helped with this
    one. The caller always runs a part itself.
    """
    if stats is None or isinstance(stats, str):
        return 1
    threads = stats.get("sub_threads") if isinstance(stats, dict) else None
    if not isinstance(threads, dict):
        raise _wrong(file, place, "thread_scheduling_stats", stats, 'an object with "sub_threads"')
    helpers = 0
    for thread, state in threads.items():
        count = state.get("num_run") if isinstance(state, dict) else None
        if type(count) is not int or not 0 <= count < 2**64:
            raise _wrong(
                file, place, f"sub_threads[{shown(thread)}]", state, 'an object with a count "num_run"'
            )
        helpers += count > parts.get(thread, 0)
        parts[thread] = count
    return 1 + helpers
