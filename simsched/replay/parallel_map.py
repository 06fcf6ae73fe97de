"""Concurrent replays: the compiled engine releases Python's global lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from simsched.system import usable_cpus

Item = TypeVar("Item")
Found = TypeVar("Found")

#: Below this many tasks, a replay is mostly Python's, and threads that wait for its lock take up to twice the CPU time.
LARGE = 5_000


def parallel_map(replay: Callable[[Item], Found], items: Iterable[Item], n_tasks: int) -> list[Found]:
    """Return the result of `replay` for each item, in their order.

    Graphs of `n_tasks` are replayed as many at a time as this process has CPUs; small ones, one after the other. The
    first error ends it: items not yet begun are not begun.
    """
    if n_tasks < LARGE:
        return [replay(item) for item in items]
    with ThreadPoolExecutor(usable_cpus()) as pool:
        try:
            return list(pool.map(replay, items))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
