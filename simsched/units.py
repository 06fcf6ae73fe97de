"""Units of time for readers: a scale that keeps numbers short."""

from __future__ import annotations

from typing import NamedTuple


class TimeUnit(NamedTuple):
    """A unit and its number per second."""

    name: str
    per_s: float


UNITS = (TimeUnit("s", 1.0), TimeUnit("ms", 1e3), TimeUnit("µs", 1e6), TimeUnit("ns", 1e9))


def time_unit(span_s: float) -> TimeUnit:
    """Return the largest unit in which `span_s` is at least 1; seconds where it is 0 or unknown."""
    if not span_s > 0:
        return UNITS[0]
    return next((unit for unit in UNITS if span_s * unit.per_s >= 1), UNITS[-1])


def format_time(seconds: float) -> str:
    """Return a time with its unit, to three digits, or to whole units above a thousand.

    Examples
    --------
    >>> format_time(0.0123), format_time(0.0)
    ('12.3 ms', '0 s')
    """
    unit = time_unit(seconds)
    value = seconds * unit.per_s
    return f"{value:.3g} {unit.name}" if value < 999.5 else f"{value:.0f} {unit.name}"
