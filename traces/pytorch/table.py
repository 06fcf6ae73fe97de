"""Operators of a whole file as columns, until it is known which step is wanted."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.traces.pytorch.events import Event, Step, Window
from simsched.traces.pytorch.threads import Lanes
from simsched.traces.pytorch.windows import has_window
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import MAX_INTEGER, MAX_RECORDS, Place

if TYPE_CHECKING:
    from simsched.traces.pytorch.raw import RawArguments, RawEvent

_COLUMNS = ("start_ns", "finish_ns", "lane", "order", "name", "annotation", "sequence", "dims", "values")


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
        if len(rows) > MAX_RECORDS:
            raise place.error(
                f"more than {MAX_RECORDS} operators in one step", "record fewer, or a shorter step"
            )
        names, dims = list(self._names), list(self._dims)
        shapes: dict[int, Any] = {}
        used: dict[int, int] = {}
        columns = (np.array(self._columns[key])[rows].tolist() for key in _COLUMNS)
        rf_ids = np.array(self._rf_ids)[rows].tolist()
        step = Step(window)
        for start, finish, lane, order, name, annotation, sequence, shape, values, rf_id in zip(
            *columns, rf_ids, strict=True
        ):
            for text in (shape, values):
                if text not in shapes:
                    shapes[text] = _decoded(dims[text], place)
            step.events.append(
                Event(
                    start, finish, used.setdefault(lane, len(used)), order, names[name], bool(annotation),
                    rf_id or None, None if sequence < 0 else sequence, shapes[shape], shapes[values],
                )
            )  # fmt: skip
        lanes = self._lanes.names()
        step.lanes, step.lane_numbers = [lanes[lane] for lane in used], list(used)
        return step


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
        raise place.error(f"Input Dims or Concrete Inputs is {shown(text)}, expected lists") from None
