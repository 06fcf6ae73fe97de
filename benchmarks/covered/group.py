"""`Group`: measured values beside the intervals predicted for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from simsched.costs.curves import Z95

#: Least and most share of measured values in 95 % intervals; of fewer than a hundred, all may be.
LEAST, MOST = 0.90, 0.99

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One measured value, what was predicted, and the ends of its interval."""

    name: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Whether the interval holds the measured value."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Group:
    """Values whose intervals are made alike.

    Parameters
    ----------
    name : str
        What was measured, and what was known.
    cases : sequence of Case
    scored : bool
        Whether the bar holds for it: parts of groups are shown only.
    """

    name: str
    cases: Sequence[Case]
    scored: bool = True

    @property
    def held(self) -> float:
        """Share of the measured values that their intervals hold."""
        return sum(case.inside for case in self.cases) / len(self.cases)

    @property
    def width(self) -> float:
        """Median length of an interval over its prediction."""
        return float(np.median([(case.high - case.low) / case.predicted for case in self.cases]))

    @property
    def passes(self) -> bool:
        """Whether it holds as many as it claims."""
        inside = sum(case.inside for case in self.cases)
        return LEAST * len(self.cases) <= inside <= ceil(MOST * len(self.cases))


def sigma_of(logs: Values) -> float:
    """Return the standard deviation of log seconds that errors tell: their 95th percentile over that of a normal.

    The percentile is that below which another error falls with this probability, not one of those at hand.
    """
    return float(np.quantile(np.abs(logs), 0.95, method="weibull")) / Z95


def left_out(name: str, rows: Sequence[tuple[str, float, float]], groups: Sequence[str]) -> Group:
    """Return rows of (name, measured, modelled), each in an interval by the errors of the other groups of shapes."""
    logs, of = np.log([measured / modelled for _, measured, modelled in rows]), np.array(groups)
    sigmas = {group: sigma_of(logs[of != group]) for group in set(groups)}
    cases = []
    for (what, measured, modelled), group in zip(rows, groups, strict=True):
        factor = float(np.exp(Z95 * sigmas[group]))
        cases.append(Case(what, measured, modelled, modelled / factor, modelled * factor))
    return Group(name, cases)
