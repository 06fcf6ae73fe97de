"""`Choices`: the possible widths of each task, and its time on each in whole units."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import count, takewhile
from math import ceil, floor, gcd, lcm, log2

import numpy as np
import numpy.typing as npt

from simsched.costs import TaskCosts
from simsched.graph.taskgraph import Seconds
from simsched.policy import Layout

Whole = npt.NDArray[np.int64]

#: Units of a schedule's length: sums of them times cores stay far within 64 bits.
MOST_UNITS = 1 << 36


@dataclass(frozen=True, eq=False)
class Choices:
    """The possible widths of each task.

    Parameters
    ----------
    task, width : int64 arrays, shape (c,)
        The task of each choice, ascending, and the cores (executors, in a layout) that it takes.
    seconds : float64 array, shape (c,)
    capacity : int
        Cores (executors) there are.
    n_tasks : int
    """

    task: Whole
    width: Whole
    seconds: Seconds
    capacity: int
    n_tasks: int

    @classmethod
    def of(cls, costs: TaskCosts, layout: Layout | None) -> Choices:
        """Return each task on one executor of a layout; without one, on every width faster than all narrower ones."""
        n = len(costs.one_core_s)
        if layout is not None:
            seconds = costs.seconds(layout.width)
            return cls(np.arange(n), np.ones(n, np.int64), seconds, layout.executors, n)
        widest = int(costs.fastest_widths.max(initial=1))
        table = np.stack([costs.seconds(width) for width in range(1, widest + 1)], axis=1)
        before = np.minimum.accumulate(np.column_stack([np.full(n, np.inf), table]), axis=1)[:, :-1]
        task, column = np.nonzero(table < before)
        return cls(task, column + 1, table[task, column], costs.widest, n)

    def up_to(self, width: int) -> Whole:
        """Return the choice of each task that is fastest on up to so many cores, shape (n,): the last of these."""
        places = self.task * (self.capacity + 1) + self.width
        return (
            np.searchsorted(places, np.arange(self.n_tasks) * (self.capacity + 1) + width, side="right") - 1
        )

    def widths(self) -> list[int]:
        """Return 1, 2, 4, ... and the widest width that there is."""
        widest = int(self.width.max(initial=1))
        return [*takewhile(widest.__gt__, (1 << k for k in count())), widest]


@dataclass(frozen=True, eq=False)
class Units:
    """Seconds as whole numbers of a unit.

    Parameters
    ----------
    unit_s : Fraction
    lengths : int64 array, shape (c,)
        Units of each choice; never more than it takes.
    exact : bool
        Whether they are exactly its seconds, as written in decimal.
    """

    unit_s: Fraction
    lengths: Whole
    exact: bool

    @classmethod
    def of(cls, seconds: Seconds, horizon_s: float) -> Units:
        """Return seconds in units.

        They are exact where one unit divides all of them, as with times in whole nanoseconds. Else the unit is the
        power of two that divides the horizon into 2^36 or a little fewer, and fractions of a unit are cut off: a
        schedule of the real seconds is one of these, too, so lower bounds of these hold for those.

        Parameters
        ----------
        seconds : float64 array, shape (c,)
        horizon_s : float
            Seconds that some schedule needs.
        """
        written = [Fraction(repr(value)) for value in np.unique(seconds).tolist()]
        divisor = Fraction(gcd(*(v.numerator for v in written)), lcm(*(v.denominator for v in written)))
        if not divisor:
            return cls(Fraction(1), np.zeros(len(seconds), np.int64), True)
        if Fraction(horizon_s) / divisor <= MOST_UNITS:
            whole = {float(value): int(value / divisor) for value in written}
            return cls(divisor, np.array([whole[value] for value in seconds.tolist()], np.int64), True)
        # Dividing by a power of two is exact, so the part cut off is really less than a unit.
        exponent = int(np.ceil(log2(horizon_s / MOST_UNITS)))
        return cls(Fraction(2) ** exponent, np.floor(np.ldexp(seconds, -exponent)).astype(np.int64), False)

    def seconds(self, units: int) -> float:
        """Return units in seconds."""
        return float(units * self.unit_s)

    def at_least(self, bound_s: float) -> int:
        """Return the least units of a schedule of at least `bound_s` seconds, but for rounding."""
        units = Fraction(bound_s * (1 - 1e-12)) / self.unit_s
        return ceil(units) if self.exact else floor(units)
