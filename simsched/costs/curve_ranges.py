"""Uncertainty of the cost curves of `curves.toml`: the ends of each number, and curves sampled between them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from simsched.costs.curves import Curve
from simsched.machine.confidence import ends
from simsched.machine.schema import Confidence

#: Numbers of a curve, and the largest value of each.
MOST: Mapping[str, float] = {
    "serial_share": 1.0,
    "thread_overhead": np.inf,
    "grain_flops": np.inf,
    "grain_B": np.inf,
}
#: Half the width of a 95 % interval, in standard deviations of a normal distribution.
Z95 = 1.959963984540054


class Range(NamedTuple):
    """The 95 % interval of a number, and the confidence in the number."""

    low: float
    high: float
    confidence: Confidence


@cache
def ranges() -> Mapping[str, Mapping[str, Range]]:
    """Return the known intervals, by family and name."""
    table = tomllib.loads((files("simsched.costs") / "curves.toml").read_text("utf-8"))
    return {
        row["name"]: {name: _range(row[name], MOST[name]) for name in MOST if name in row}
        for row in table["family"]
    }


def _range(number: Mapping[str, Any], most: float) -> Range:
    confidence: Confidence = number["confidence"]
    low, high = (number["low"], number["high"]) if "low" in number else ends(number["value"], confidence)
    return Range(float(low), float(min(high, most)), confidence)


def sampled_between(value: float, low: float, high: float, z: float) -> float:
    """Return a number's value at a standard normal z: itself at 0, an end of its interval at -+1.96.

    Parameters
    ----------
    value, low, high : float
        The number and the ends of its 95 % interval, none negative; in proportion where `low` is above 0, else in
        equal steps and never below 0.
    z : float
    """
    end, share = (high, z / Z95) if z > 0 else (low, -z / Z95)
    if low > 0:
        return float(value * (end / value) ** share)
    return float(max(value + (end - value) * share, 0.0))


def sampled_curve(curve: Curve, generator: np.random.Generator) -> Curve:
    """Return a curve with numbers sampled from their intervals; a curve not in `curves.toml` is unchanged."""
    found: dict[str, Any] = {
        name: min(sampled_between(getattr(curve, name), low, high, generator.standard_normal()), MOST[name])
        for name, (low, high, _) in ranges().get(curve.family, {}).items()
    }
    return replace(curve, **found)
