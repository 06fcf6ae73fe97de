"""Events of the host in a Kineto trace: their exact times, their threads, and the steps they belong to."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.graph.budget import budget
from simsched.traces.pytorch.aten import has_window
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import MAX_INTEGER, Place

if TYPE_CHECKING:
    from simsched.traces.pytorch.raw import RawArguments, RawEvent


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
        Position among the events, parents before children where the profiler records it.
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
    values : list or None
        Arguments that are not tensors, as text by position, unchecked; of operators with windows only.
    types : list or None
        Types of the inputs as recorded, unchecked.
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
    values: Any = None
    types: Any = None


@dataclass(frozen=True, slots=True)
class Window:
    """A ProfilerStep: its number, and its time in nanoseconds."""

    number: int
    start_ns: int
    finish_ns: int


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
    lane_numbers : list of int
        Numbers of them by the file's lanes.
    before : list of Event
        Operators that began before the step and reach into it, without arguments; their lanes may be further ones.
    """

    window: Window | None
    events: list[Event] = field(default_factory=list)
    lanes: list[str] = field(default_factory=list)
    lane_numbers: list[int] = field(default_factory=list)
    before: list[Event] = field(default_factory=list)


class Lanes:
    """Lanes by number, in the order of their first occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._names: dict[tuple[str, str], str] = {}

    def number(self, pid: Any, tid: Any, place: Place) -> int:
        """Return the number of a lane by its ids, which are numbers or texts."""
        return self._numbers.setdefault(_ids(pid, tid, place), len(self._numbers))

    def name(self, pid: Any, tid: Any, name: str, place: Place) -> None:
        """Record the name of a lane in the file."""
        self._names[_ids(pid, tid, place)] = name

    def names(self) -> list[str]:
        """Return the names of all lanes, by number."""
        return [self._names.get(lane, f"thread {lane[1]}") for lane in self._numbers]


def _ids(pid: Any, tid: Any, place: Place) -> tuple[str, str]:
    for key, value in (("pid", pid), ("tid", tid)):
        if type(value) not in (int, str):
            raise place.error(f"{key} is {shown(value)}, expected a number or a text")
    return str(pid), str(tid)


#: Longer texts are parsed with care.
_PLAIN_DIGITS = 15
#: Ascend's profiler writes starts as JSON texts, so that no reader rounds them.
_QUOTED = re.compile(rb'"(-?[0-9]{1,18}(?:\.[0-9]{1,18})?)"')


def nanoseconds(text: bytes, key: str, place: Place) -> int:
    """Return the JSON text of microseconds as integer nanoseconds, exact to the third decimal.

    Raises
    ------
    FormatError
        If the text is not a number, or beyond the clock.

    Examples
    --------
    >>> from pathlib import Path
    >>> nanoseconds(b"4309459776641.837", "ts", Place(Path("run.json"), "event"))
    4309459776641837
    """
    if text[:1] == b'"' and (quoted := _QUOTED.fullmatch(text)):
        text = quoted[1]
    whole, _, decimals = text.partition(b".")
    if whole.isdigit() and len(whole) <= _PLAIN_DIGITS:
        if not decimals:
            return int(whole) * 1000
        if len(decimals) == 3 and decimals.isdigit():
            return int(whole + decimals)
    try:
        number = Decimal(text.decode())
    except (InvalidOperation, UnicodeError):
        raise place.error(
            f"{key} is {shown(text.decode('utf-8', 'replace')) if text else 'absent'}, expected microseconds"
        ) from None
    return place.nanoseconds(number, key)


def times(event: RawEvent, place: Place) -> tuple[int, int]:
    """Return start and finish of an event in nanoseconds, or raise `FormatError`."""
    start_ns = nanoseconds(bytes(event.ts), "ts", place)
    duration_ns = nanoseconds(bytes(event.dur), "dur", place)
    if duration_ns < 0:
        raise place.error(
            f"dur is {shown(bytes(event.dur).decode())}, below zero",
            "the profiler's clock went backwards: record again, or leave such events out with tolerant=true",
        )
    return start_ns, start_ns + duration_ns


_COLUMNS = (
    *("start_ns", "finish_ns", "lane", "order", "name", "annotation", "sequence"),
    *("dims", "values", "types"),
)


class Table:
    """Operators and annotations in file order; their names and shapes are kept once each.

    Parameters
    ----------
    lanes : Lanes
        The threads.
    """

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._columns = {key: array("q") for key in _COLUMNS}
        self._appends = [column.append for column in self._columns.values()]
        self._rf_ids = array("Q")
        self._names: dict[str, int] = {}
        self._dims: dict[bytes, int] = {b"": 0}

    def add(
        self, event: RawEvent, when_ns: tuple[int, int], annotation: bool, number: int, place: Place
    ) -> None:
        """Add the event of this number in the file, or raise `FormatError` if it is malformed."""
        from simsched.traces.pytorch.raw import RawArguments

        args = RawArguments() if not bytes(event.args) else arguments(event, place)
        order = _whole(
            args.index, "Ev Idx", _whole(args.old_index, "Profiler Event Index", number, place), place
        )
        sequence = _whole(args.sequence, "Sequence number", -1, place)
        row = (
            *when_ns,
            self._lanes.number(event.pid, event.tid, place),
            order if -MAX_INTEGER <= order < MAX_INTEGER else number,
            self._names.setdefault(event.name, len(self._names)),
            annotation,
            sequence if sequence < MAX_INTEGER else -1,
            self._dims.setdefault(bytes(args.dims), len(self._dims)),
            self._dims.setdefault(bytes(args.values) if has_window(event.name) else b"", len(self._dims)),
            self._dims.setdefault(bytes(args.types), len(self._dims)),
        )
        for append, value in zip(self._appends, row, strict=True):
            append(value)
        rf_id = _whole(args.rf_id, "Record function id", 0, place)
        if rf_id < 0:
            raise place.error(f"Record function id is {rf_id}, below zero")
        self._rf_ids.append(rf_id)

    def starts_ns(self) -> npt.NDArray[np.int64]:
        """Return the starts of all operators, ascending."""
        return np.sort(np.array(self._columns["start_ns"])[np.array(self._columns["annotation"]) == 0])

    def step(self, place: Place, window: Window | None) -> Step:
        """Return the operators and annotations that start within a step, or all of them.

        Raises
        ------
        FormatError
            If they are more than memory has room for.
        """
        starts = np.array(self._columns["start_ns"])
        inside = (
            np.ones(len(starts), bool)
            if window is None
            else (window.start_ns <= starts) & (starts < window.finish_ns)
        )
        rows = np.flatnonzero(inside)
        budget().check(place.file, len(rows), "tasks")
        names, dims = list(self._names), list(self._dims)
        shapes: dict[int, Any] = {}
        used: dict[int, int] = {}
        columns = (np.array(self._columns[key])[rows].tolist() for key in _COLUMNS)
        rf_ids = np.array(self._rf_ids)[rows].tolist()
        step = Step(window)
        for start, finish, lane, order, name, annotation, sequence, shape, values, types, rf_id in zip(
            *columns, rf_ids, strict=True
        ):
            for text in (shape, values, types):
                if text not in shapes:
                    shapes[text] = _decoded(dims[text], place)
            step.events.append(
                Event(
                    start, finish, used.setdefault(lane, len(used)), order, names[name], bool(annotation),
                    rf_id or None, None if sequence < 0 else sequence, shapes[shape], shapes[values], shapes[types],
                )
            )  # fmt: skip
        lanes = self._lanes.names()
        step.lanes, step.lane_numbers = [lanes[lane] for lane in used], list(used)
        if window is not None:
            step.before = self._reaching(starts < window.start_ns, window.start_ns, names, used)
        return step

    def _reaching(
        self, among: npt.NDArray[np.bool_], moment_ns: int, names: list[str], used: dict[int, int]
    ) -> list[Event]:
        """Return those of some operators that end after a moment; `used` has the numbers of lanes, and is continued."""
        operators = among & (np.array(self._columns["annotation"]) == 0)
        rows = np.flatnonzero(operators & (np.array(self._columns["finish_ns"]) > moment_ns))
        columns = (np.array(self._columns[key])[rows].tolist() for key in _COLUMNS[:5])
        return [
            Event(start, finish, used.setdefault(lane, len(used)), order, names[name], False)
            for start, finish, lane, order, name in zip(*columns, strict=True)
        ]


def arguments(event: RawEvent, place: Place) -> RawArguments:
    """Return the arguments of an event, or raise `FormatError` if they are not an object."""
    from msgspec import DecodeError

    from simsched.traces.pytorch.raw import ARGUMENTS

    try:
        return ARGUMENTS.decode(event.args)
    except (DecodeError, UnicodeError) as error:
        raise place.error(f"args: {str(error)[:100]}") from None


def _whole(value: Any, key: str, default: int, place: Place) -> int:
    from msgspec import UNSET

    return default if value is UNSET else place.integer(value, key)


def _decoded(text: bytes, place: Place) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, UnicodeError):
        raise place.error(
            f"Input Dims, Input type or Concrete Inputs is {shown(text)}, expected lists"
        ) from None
