"""Moments and lengths of JSON files as whole nanoseconds."""

from __future__ import annotations

from decimal import Decimal


def nanoseconds(value: object, unit_ns: int, most: int) -> int | None:
    """Return a number of a JSON file as nanoseconds, without ever rounding it to a float.

    Parameters
    ----------
    value : object
        As `json_stream` gives it: int or Decimal.
    unit_ns : int
        What it counts in: 1000 for microseconds.
    most : int
        The most it may be, in its own unit.

    Returns
    -------
    int or None
        None for what is no number from 0 to `most`.

    Examples
    --------
    >>> nanoseconds(Decimal("1795165253.7376685"), 10**9, 2**33), nanoseconds(-1, 1000, 10)
    (1795165253737668500, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value <= most:
        return None
    return int(value * unit_ns)
