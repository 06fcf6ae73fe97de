"""Interval of a number of which a file states no more than its confidence."""

from __future__ import annotations

from collections.abc import Mapping

from simsched.machine.schema import UNITS, Confidence

#: A number times and divided by this are the assumed ends of its 95 % interval. Our reading of the four words: a
#: vendor's number; one measured elsewhere; one read off a figure or derived; an unchecked one.
FACTORS: Mapping[Confidence, float] = {"high": 1.05, "med": 1.25, "low": 2.0, "unverified": 2.0}
#: The most of these for a clock, known or not: chips of a kind differ by no more, and none runs at twice its clock.
MOST_OF_CLOCKS = 1.25
#: Power of the ratio of a narrow element's rate to FP32's that is left of it at the slow end of its 95 % interval: what
#: libraries reach of faster units, over the share that they reach in FP32. Of 16 times: 11.7 on one core and 2 on 112
#: (OpenBLAS, BF16 on AMX, a public article of Fixstars), 6 (n = 4096 on one and four cores of a Xeon 6972P, a public
#: repository of AVX and AMX kernels: 31 % of 1024 FLOP/cycle); of 4: 3.2, 1.8 with lesser instructions (oneDNN, BF16,
#: n = 4096, 32 threads of a Graviton 4: 51 % and 29 % of the peak; the project's issue 4315).
REACHED_GAIN = 0.25


def ends(value: float, confidence: Confidence, unit: str = "") -> tuple[float, float]:
    """Return the ends of the 95 % interval of a non-negative number in a unit.

    Examples
    --------
    >>> ends(10.0, "med")
    (8.0, 12.5)
    >>> ends(2.0, "unverified"), ends(2.0, "unverified", "GHz")
    ((1.0, 4.0), (1.6, 2.5))
    """
    factor = min(FACTORS[confidence], MOST_OF_CLOCKS if unit in UNITS["frequency"] else FACTORS[confidence])
    return value / factor, value * factor
