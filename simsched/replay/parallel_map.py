"""Concurrent replays: the compiled engine releases Python's global lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from simsched.system import usable_cpus

Item = TypeVar("Item")
Found = TypeVar("Found")


def parallel_map(replay: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """Return the result of `replay` for each item, in their order, as many at a time as this process has CPUs.

    The first error ends it: items not yet begun are not begun.
    """
    with ThreadPoolExecutor(usable_cpus()) as pool:
        try:
            return list(pool.map(replay, items))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
