"""Step functions of time: a count, from one event to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simsched.graph.adjacency import Ints
from simsched.graph.taskgraph import Seconds


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
        if not lasting.all():
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
        """Return the seconds from each beginning to its end with the number above a non-negative level.

        Where that is always or never, they are exact.
        """
        holds = self.level > level
        # Beginnings and ends above the level alternate, and are far fewer than changes of the number.
        turns = np.flatnonzero(holds[1:] != holds[:-1]) + 1
        turns_s = self.time_s[np.concatenate([np.flatnonzero(holds[:1]), turns])]
        begins_s = np.concatenate([[-np.inf], turns_s[::2]])
        ends_s = np.concatenate([[-np.inf], turns_s[1::2]])
        passed_s = np.concatenate([[0.0], np.cumsum(ends_s[1:] - begins_s[1:])])
        first, last = (np.searchsorted(begins_s, t, side="right") - 1 for t in (begin_s, end_s))
        until_s = [passed_s[i] - np.maximum(ends_s[i] - t, 0.0) for i, t in ((first, begin_s), (last, end_s))]
        partly = np.clip(until_s[1] - until_s[0], 0.0, end_s - begin_s)
        return np.where(end_s <= ends_s[first], end_s - begin_s, partly)


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
