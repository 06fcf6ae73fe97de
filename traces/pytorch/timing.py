"""When an event ran: exact nanoseconds from the text of its microseconds."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Place

if TYPE_CHECKING:
    from simsched.traces.pytorch.raw import RawEvent

#: Longer texts are looked at with care.
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
