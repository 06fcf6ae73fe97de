"""Tasks on lanes (the threads of a recorded run): their order on each, and the time they cover together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import pairwise


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
