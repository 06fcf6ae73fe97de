"""Step functions of time: how many there are of something, from one event to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.graph.taskgraph import Seconds

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Steps:
    """A whole number at every moment, 0 before the first.

    Parameters
    ----------
    time_s : float64 array, shape (m,)
        Ascending, all different.
    level : int64 array, shape (m,)
        The number from each of these on.
    """

    time_s: Seconds
    level: Ints

    @classmethod
    def of(cls, begin_s: Seconds, end_s: Seconds, amount: Ints) -> Steps:
        """Return the sum of amounts, each from its beginning to its end."""
        lasting = end_s > begin_s
        begin_s, end_s, amount = begin_s[lasting], end_s[lasting], amount[lasting]
        time_s = np.concatenate([begin_s, end_s])
        order = np.argsort(time_s)
        time_s = time_s[order]
        level = np.cumsum(np.concatenate([amount, -amount])[order])
        last = np.ones(len(time_s), bool)
        last[:-1] = time_s[1:] > time_s[:-1]
        return cls(time_s[last], level[last])

    def at(self, time_s: Seconds) -> Ints:
        """Return the number from each of these times on."""
        place = np.searchsorted(self.time_s, time_s, side="right")
        return np.concatenate([[0], self.level])[place]

    def above(self, level: int, begin_s: Seconds, end_s: Seconds) -> Seconds:
        """Return the seconds from each beginning to its end, in which the number is above a level that is not negative.

        Where that is always or never, they are exact.
        """
        holds = np.concatenate([[False], self.level > level])
        time_s = np.concatenate(
            [[min(self.time_s[:1].min(initial=0.0), begin_s.min(initial=0.0))], self.time_s]
        )
        passed = np.concatenate([[0.0], np.cumsum(np.diff(time_s) * holds[:-1])])
        count = np.concatenate([[0], np.cumsum(holds)])
        first = np.searchsorted(self.time_s, begin_s, side="right")
        last = np.maximum(np.searchsorted(self.time_s, end_s, side="left"), first)
        until = [passed[i] + holds[i] * (t - time_s[i]) for i, t in ((first, begin_s), (last, end_s))]
        inside = count[last + 1] - count[first]
        partly = np.clip(until[1] - until[0], 0.0, end_s - begin_s)
        return np.where(inside == 0, 0.0, np.where(inside == last - first + 1, end_s - begin_s, partly))


def on_common_times(steps: Sequence[Steps], begin_s: float, end_s: float) -> tuple[Seconds, list[Ints]]:
    """Return the lengths of the moments in which no number changes, shape (m,), and each number in them.

    Parameters
    ----------
    steps : sequence of Steps
    begin_s, end_s : float
        From when to when.
    """
    times = np.concatenate([[begin_s, end_s], *(one.time_s for one in steps)])
    times = np.unique(np.clip(times, begin_s, end_s))
    return np.diff(times), [one.at(times[:-1]) for one in steps]
