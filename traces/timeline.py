"""Times of recorded runs: exact whole nanoseconds from text, the recording that they make, overlaps on its lanes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from simsched.graph import Recording

#: 104 days: beyond it nanoseconds no longer survive as float64 seconds.
MAX_NS = 2**53
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,25}(?:\.[0-9]{0,25})?|\.[0-9]{1,25})(?:[eE][+-]?[0-9]{1,2})?")


def whole_ns(text: str, unit_ns: int) -> int | None:
    """Return the nanoseconds of a decimal number, exactly rounded; None where it is no number or beyond `MAX_NS`.

    Parameters
    ----------
    text : str
        The number; an exponent is allowed.
    unit_ns : int
        Nanoseconds of the file's unit: 1_000_000 where it counts milliseconds.

    Examples
    --------
    >>> whole_ns("126.672503", 1_000_000), whole_ns("1e-3", 1_000_000_000), whole_ns("nan", 1)
    (126672503, 1000000, None)
    """
    if not _NUMBER.fullmatch(text):
        return None
    value = Decimal(text) * unit_ns
    return round(value) if abs(value) <= MAX_NS else None


def recording(starts_ns: Sequence[int], finishes_ns: Sequence[int], lanes: Sequence[str]) -> Recording:
    """Return when and where tasks ran, from the first start on; lanes are numbered in their sorted order.

    Parameters
    ----------
    starts_ns, finishes_ns : sequences of int, one a task
        On the recording's clock.
    lanes : sequence of str, one a task
        Names of what ran them.
    """
    first_ns = min(starts_ns, default=0)
    names = sorted(set(lanes), key=_natural)
    index = {name: i for i, name in enumerate(names)}
    return Recording(
        start_s=np.array([t - first_ns for t in starts_ns], np.int64) / 1e9,
        finish_s=np.array([t - first_ns for t in finishes_ns], np.int64) / 1e9,
        lanes=np.array([index[lane] for lane in lanes], np.int32),
        lane_names=tuple(names),
    )


def overlaps(starts_ns: Sequence[int], finishes_ns: Sequence[int], lanes: Sequence[str]) -> int:
    """Return how many tasks start while another one runs on their lane.

    Parameters
    ----------
    starts_ns, finishes_ns : sequences of int, one a task
        On the recording's clock.
    lanes : sequence of str, one a task
        What ran them.

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
    """Sort worker 10 behind worker 9."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(len(part.lstrip("0")), part.lstrip("0")) if part.isdigit() else (0, part) for part in parts]
