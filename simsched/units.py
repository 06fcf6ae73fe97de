"""Units of time and of bytes for readers: scales that keep numbers short."""

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


def format_bytes(bytes_B: float) -> str:
    """Return bytes with a decimal unit, to three digits.

    Examples
    --------
    >>> format_bytes(17.18e9), format_bytes(12.0), format_bytes(1e14)
    ('17.2 GB', '12 B', '100 TB')
    """
    names = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    power = 0
    # Three digits of 999.6 kB are 1 MB.
    while bytes_B / 1000.0**power >= 999.5 and power < len(names) - 1:
        power += 1
    return f"{bytes_B / 1000.0**power:.3g} {names[power]}"
