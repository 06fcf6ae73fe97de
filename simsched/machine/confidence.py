"""Interval of a number of which a file states no more than its confidence."""

from __future__ import annotations

from collections.abc import Mapping

from simsched.machine.schema import Confidence

#: A number times and divided by this are the assumed ends of its 95 % interval. Our reading of the four words: a
#: vendor's number; one measured elsewhere; one read off a figure or derived; an unchecked one.
FACTORS: Mapping[Confidence, float] = {"high": 1.05, "med": 1.25, "low": 2.0, "unverified": 2.0}


def ends(value: float, confidence: Confidence) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a non-negative number.

    Examples
    --------
    >>> ends(10.0, "med")
    (8.0, 12.5)
    """
    return value / FACTORS[confidence], value * FACTORS[confidence]
