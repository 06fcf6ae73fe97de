"""Times of recorded runs: exact whole nanoseconds, the recording that they make, tasks on its lanes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import Recording

#: 104 days: beyond it nanoseconds no longer survive as float64 seconds.
MAX_NS = 2**53
#: Year 2262: the last moment whose nanoseconds since 1970 fit 64 bits.
LATEST_NS = 2**63 - 1
_BLOCK = 1 << 17
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,25}(?:\.[0-9]{0,25})?|\.[0-9]{1,25})(?:[eE][+-]?[0-9]{1,2})?")


def whole_ns(value: object, unit_ns: int, least_ns: int = -MAX_NS, most_ns: int = MAX_NS) -> int | None:
    """Return a decimal number as nanoseconds, never rounded to a float; None if it is out of bounds or none.

    Parameters
    ----------
    value : object
        The number: as text, with an exponent if need be, or as `json_stream` gives it, an int or a Decimal.
    unit_ns : int
        Nanoseconds of the file's unit: 1_000_000 where it counts milliseconds.
    least_ns, most_ns : int
        Allowed range.

    Examples
    --------
    >>> whole_ns("126.672503", 1_000_000), whole_ns(Decimal("1e-3"), 10**9), whole_ns("nan", 1), whole_ns(True, 1)
    (126672503, 1000000, None, None)
    >>> whole_ns(Decimal("1e999999999999999999"), 1), whole_ns(Decimal("1e-999999999999999999"), 1)
    (None, 0)
    """
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    number = Decimal(value)
    # The magnitude is checked first: an integer of a billion digits must never be made.
    if not number.is_finite() or number.copy_abs() > max(most_ns, -least_ns):
        return None
    time_ns = round(number * unit_ns)
    return time_ns if least_ns <= time_ns <= most_ns else None


Times = Sequence[int] | npt.NDArray[np.int64]


def recording(
    path: Path,
    starts_ns: Times,
    finishes_ns: Times,
    lanes: Sequence[int] | npt.NDArray[np.integer],
    names: Sequence[str],
    origin_ns: int | None = None,
    *,
    own_clock: bool = False,
) -> Recording:
    """Return time and place of tasks.

    Parameters
    ----------
    path : Path
        The file, for the message.
    starts_ns, finishes_ns : sequences of int, one per task
        On the recording's clock, within 64 bits.
    lanes : sequence of int, one per task
        Indices into `names`.
    names : sequence of str
        Of the lanes.
    origin_ns : int, optional
        What becomes second 0; the first start when not given.
    own_clock : bool
        Whether the clock begins with the recorded process, and so tells nothing of when other recordings began.

    Raises
    ------
    FormatError
        If the run takes longer than seconds can hold exactly.

    Examples
    --------
    >>> recording(Path("run"), [5 * 10**9, 6 * 10**9], [6 * 10**9, 8 * 10**9], [0, 0], ["worker"]).finish_s.tolist()
    [1.0, 3.0]
    """
    start_ns, finish_ns = np.asarray(starts_ns, np.int64), np.asarray(finishes_ns, np.int64)
    if origin_ns is None:
        origin_ns = int(start_ns.min()) if len(start_ns) else 0
    refuse_long(path, int(finish_ns.max()) - origin_ns if len(finish_ns) else 0)
    return Recording(
        start_s=_seconds(start_ns, origin_ns),
        finish_s=_seconds(finish_ns, origin_ns),
        lanes=np.asarray(lanes, np.int32),
        lane_names=tuple(names),
        origin_ns=None if own_clock else origin_ns,
    )


def timed(
    path: Path, times_ns: list[npt.NDArray[np.int64]], lanes: npt.NDArray[np.int32], names: Sequence[str]
) -> tuple[npt.NDArray[np.float64], Recording]:
    """Return the seconds of tasks, and their recording as `recording` does, of columns of millions.

    Parameters
    ----------
    path, lanes, names
        As `recording` takes them.
    times_ns : list of two int64 arrays, shape (n,)
        Starts and finishes; the list is emptied, as seconds take their place.
    """
    origin_ns = int(times_ns[0].min()) if len(lanes) else 0
    refuse_long(path, int(times_ns[1].max()) - origin_ns if len(lanes) else 0)
    lanes.setflags(write=False)  # as the graph may keep it
    durations_s = _seconds(times_ns[1], times_ns[0])
    start_s = _seconds(times_ns.pop(0), origin_ns)
    finish_s = _seconds(times_ns.pop(), origin_ns)
    return durations_s, Recording(start_s, finish_s, lanes, tuple(names), origin_ns=origin_ns)


def refuse_long(path: Path, length_ns: int) -> None:
    """Raise `FormatError` where a run is longer than `MAX_NS`."""
    if length_ns > MAX_NS:
        raise FormatError(
            f"{path}: the run takes {length_ns / 1e9:g} s; expected at most {MAX_NS / 1e9:g} s; are these the times of "
            "two clocks, or of another unit?"
        )


def _seconds(
    times_ns: npt.NDArray[np.int64], origin_ns: int | npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    seconds, origins_ns = np.empty(len(times_ns)), np.broadcast_to(origin_ns, len(times_ns))
    for begin in range(0, len(seconds), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        seconds[part] = (times_ns[part] - origins_ns[part]) / 1e9
    seconds.setflags(write=False)  # as the graph may keep it
    return seconds


def numbered(lanes: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the lane number of each task, and the lanes' names; they are numbered in natural order.

    Parameters
    ----------
    lanes : sequence of str, one per task
        Names of their lanes.

    Examples
    --------
    >>> numbered(["worker 10", "worker 9", "worker 10"])
    ([1, 0, 1], ['worker 9', 'worker 10'])
    """
    names = sorted(set(lanes), key=_natural)
    index = {name: i for i, name in enumerate(names)}
    return [index[lane] for lane in lanes], names


def overlaps(starts_ns: Sequence[int], finishes_ns: Sequence[int], lanes: Sequence[str]) -> int:
    """Return how many tasks start while another one runs on their lane.

    Parameters
    ----------
    starts_ns, finishes_ns : sequences of int, one per task
        On the recording's clock.
    lanes : sequence of str, one per task
        Names of their lanes.

    Examples
    --------
    >>> overlaps([0, 2, 2, 6], [4, 3, 5, 7], ["a", "b", "a", "a"])
    1
    """
    busy_until: dict[str, int] = {}
    found = 0
    for start, finish, lane in sorted(zip(starts_ns, finishes_ns, lanes, strict=True)):
        found += start < busy_until.get(lane, start)
        busy_until[lane] = max(finish, busy_until.get(lane, finish))
    return found


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts worker 10 after worker 9."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(len(part.lstrip("0")), part.lstrip("0")) if part.isdigit() else (0, part) for part in parts]


def by_lane(lanes: npt.NDArray[Any], *keys: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return rows by lane, then by keys, the last one first, as `numpy.lexsort` would, with a third of its memory.

    Parameters
    ----------
    lanes : int array, shape (n,)
        Zero or more.
    *keys : arrays, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> by_lane(np.array([1, 0, 1, 0]), np.array([5, 7, 4, 8])).tolist()
    [1, 3, 2, 0]
    """
    ends = np.cumsum(sizes(lanes))
    place, order = np.append(0, ends), np.empty(len(lanes), np.int32)
    for begin in range(0, len(lanes), _BLOCK):
        block = lanes[begin : begin + _BLOCK]
        near = np.argsort(block, kind="stable")
        found, first, counts = np.unique(block[near], return_index=True, return_counts=True)
        order[np.repeat(place[found] - first, counts) + np.arange(len(near))] = near + begin
        place[found] += counts
    for begin, end in pairwise([0, *ends.tolist()] if keys else []):
        rows = order[begin:end]
        if not ascending(keys[-1], rows):
            order[begin:end] = rows[np.lexsort([key[rows] for key in keys])]
    return order


def sizes(lanes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the number of rows of each lane, as `numpy.bincount` does, without a copy of the column.

    Examples
    --------
    >>> import numpy as np
    >>> sizes(np.array([2, 0, 2], np.int32)).tolist()
    [1, 0, 2]
    """
    found = np.zeros(int(lanes.max(initial=-1)) + 1, np.int64)
    for begin in range(0, len(lanes), _BLOCK):
        found += np.bincount(lanes[begin : begin + _BLOCK], minlength=len(found))
    return found


def ascending(column: npt.NDArray[Any], rows: npt.NDArray[np.int32]) -> bool:
    """Return whether values become larger from row to row."""
    for begin in range(0, len(rows), _BLOCK):
        values = column[rows[begin : begin + _BLOCK + 1]]
        if not np.all(values[1:] > values[:-1]):
            return False
    return True


def picked(
    column: npt.NDArray[Any], rows: npt.NDArray[np.integer], out: npt.NDArray[Any] | None = None
) -> npt.NDArray[Any]:
    """Return `column[rows]`, in the place of `out` if given, which may be the rows themselves.

    Other than in NumPy, rows of 32 bits take no copy of 64, and a column of one number in memory stays such.

    Examples
    --------
    >>> import numpy as np
    >>> picked(np.array([7, 8, 9]), np.array([2, 0], np.int32)).tolist()
    [9, 7]
    """
    if len(column) and not column.strides[0]:
        return np.broadcast_to(column[0], rows.shape)
    found = np.empty(rows.shape, column.dtype) if out is None else out
    for begin in range(0, len(rows), _BLOCK):
        found[begin : begin + _BLOCK] = column[rows[begin : begin + _BLOCK]]
    return found


def in_order(lanes: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return the edges that keep the tasks of every lane in their order, shape (m, 2).

    Parameters
    ----------
    lanes : int array, shape (n,)
        Of the tasks, in the order in which they started.

    Examples
    --------
    >>> import numpy as np
    >>> in_order(np.array([0, 1, 0, 0])).tolist()
    [[0, 2], [2, 3]]
    """
    order, found = by_lane(lanes), 0
    edges = np.empty((len(order) - np.count_nonzero(sizes(lanes)), 2), np.int32)
    for begin in range(0, len(order), _BLOCK):
        rows = order[begin : begin + _BLOCK + 1]
        same = lanes[rows[1:]] == lanes[rows[:-1]]
        own = edges[found : found + np.count_nonzero(same)]
        own[:, 0], own[:, 1] = rows[:-1][same], rows[1:][same]
        found += len(own)
    return edges


def chain(lanes: Iterable[Hashable]) -> list[tuple[int, int]]:
    """Return the edges that keep the tasks of every lane in their order.

    Parameters
    ----------
    lanes : iterable
        The lane of each task, in the order in which they started.

    Examples
    --------
    >>> chain(["a", "b", "a", "a"])
    [(0, 2), (2, 3)]
    """
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(lane, len(numbers)) for lane in lanes], np.int64)
    return [(before, after) for before, after in in_order(codes).tolist()]


def covered(intervals: Iterable[tuple[int, int]], start: int, finish: int) -> int:
    """Return how long at least one of `intervals` was running between two moments, in their unit.

    Examples
    --------
    >>> covered([(0, 4), (2, 6), (8, 20)], 1, 10)
    7
    """
    total, reached = 0, start
    for a, b in sorted(intervals):
        end = min(b, finish)
        total += max(0, end - max(a, reached))
        reached = max(reached, end)
    return total


def packed(start: npt.NDArray[np.int64], finish: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return a lane for each interval such that none overlap on one, with as few lanes as possible.

    Parameters
    ----------
    start, finish : int64 arrays, shape (n,)
        Of each interval, in one unit.

    Examples
    --------
    >>> packed(np.array([0, 1, 5]), np.array([4, 9, 6])).tolist()
    [0, 1, 0]
    """
    lanes = np.zeros(len(start), np.int32)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for i in np.lexsort((finish, start)).tolist():
        while busy and busy[0][0] <= start[i]:
            heappush(free, heappop(busy)[1])
        lanes[i] = heappop(free) if free else len(busy)
        heappush(busy, (int(finish[i]), int(lanes[i])))
    return lanes
