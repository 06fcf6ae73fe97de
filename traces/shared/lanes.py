"""Tasks on lanes (the threads of a recorded run): their order on each, and the time they cover together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
import numpy.typing as npt


def chain(lanes: Iterable[Hashable]) -> list[tuple[int, int]]:
    """Return the edges that keep the tasks of every lane in their order.

    Parameters
    ----------
    lanes : iterable
        The lane of each task, in the order in which they started.

    Examples
    --------
    >>> chain(["a", "b", "a", "a"])
    [(0, 2), (2, 3)]
    """
    on: dict[Hashable, list[int]] = {}
    for task, lane in enumerate(lanes):
        on.setdefault(lane, []).append(task)
    return [edge for tasks in on.values() for edge in pairwise(tasks)]


def covered(intervals: Iterable[tuple[int, int]], start: int, finish: int) -> int:
    """Return for how long at least one of `intervals` was running between two moments, in their unit.

    Examples
    --------
    >>> covered([(0, 4), (2, 6), (8, 20)], 1, 10)
    7
    """
    total, reached = 0, start
    for a, b in sorted(intervals):
        end = min(b, finish)
        total += max(0, end - max(a, reached))
        reached = max(reached, end)
    return total


def packed(start: npt.NDArray[np.int64], finish: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return a lane for each interval such that none overlap on one, as few as there can be.

    Parameters
    ----------
    start, finish : int64 arrays, shape (n,)
        Of each interval, in one unit.

    Examples
    --------
    >>> packed(np.array([0, 1, 5]), np.array([4, 9, 6])).tolist()
    [0, 1, 0]
    """
    lanes = np.zeros(len(start), np.int32)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for i in np.lexsort((finish, start)).tolist():
        while busy and busy[0][0] <= start[i]:
            heappush(free, heappop(busy)[1])
        lanes[i] = heappop(free) if free else len(busy)
        heappush(busy, (int(finish[i]), int(lanes[i])))
    return lanes
