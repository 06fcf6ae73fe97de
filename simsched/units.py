"""Units of time and of bytes for readers: scales that keep numbers short."""

from __future__ import annotations

import math
import re
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
    """Return a time with its unit, to three digits, or to whole units above a thousand, six digits at most.

    Examples
    --------
    >>> format_time(0.0123), format_time(0.0), format_time(123456.0), format_time(3e15)
    ('12.3 ms', '0 s', '123456 s', '3e+15 s')
    """
    unit = time_unit(float(f"{seconds:.3g}"))  # three digits of 999.9 ms are 1 s
    value = seconds * unit.per_s
    return f"{value:.3g} {unit.name}" if value < 999.5 else f"{round(value, 0):.6g} {unit.name}"


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


_BYTES = re.compile(
    r"([0-9]{1,18}(?:\.[0-9]{0,9})?(?:e[0-9]{1,2})?) ?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?B?", re.ASCII
)


def parse_bytes(given: object) -> float:
    """Return a number of bytes above zero, from a number or a text with a unit.

    Raises
    ------
    ValueError
        If it is anything else; the message begins with what it is.

    Examples
    --------
    >>> parse_bytes("1.5 GB"), parse_bytes("64MiB"), parse_bytes(1000)
    (1500000000.0, 67108864.0, 1000.0)
    """
    if isinstance(given, str) and (found := _BYTES.fullmatch(given.strip())):
        power = " kMGTP".index((found[2] or " ")[0])
        value = float(found[1]) * float(1024 if (found[2] or "").endswith("i") else 1000) ** power
    else:
        value = float(given) if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    if not 0 < value < math.inf:
        raise ValueError(f"{given!r:.40}; expected a number of bytes above zero, as 8GB or 500e6")
    return value
