"""Objects near each place, where objects are read from afar (docs/semantics.md, Read)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from math import inf

from simsched.replay.data import DataPlan


class Caches:
    """Objects near each place: the last ones that were read or written there, as many as fit.

    Parameters
    ----------
    plan : DataPlan
    """

    def __init__(self, plan: DataPlan) -> None:
        self._network, self._capacity_B = plan.network, plan.cache_B
        self._size_B: list[float] = plan.size_B.tolist()
        self._n_caches = int(plan.network.place_of.max()) + 1
        self._near: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(self._n_caches)]
        self._used_B = [0] * self._n_caches

    def read(self, objects: Sequence[int], place: int, at: Sequence[int]) -> list[tuple[int, int]]:
        """Return the objects that are not near a place, each with whence it is read; from now on they are near."""
        found = []
        for one in objects:
            if one not in self._near[place]:
                source = self._source(one, at[one])
                if source != place:
                    found.append((one, source))
            self._keep(one, place)
        return found

    def has(self, one: int, place: int) -> bool:
        """Return whether an object is near a place."""
        return one in self._near[place]

    def write(self, objects: Iterable[int], place: int) -> None:
        """Keep what a task has written near its place."""
        for one in objects:
            self._keep(one, place)

    def leave(self, one: int, place: int) -> None:
        """Note that an object is not near a place any more."""
        if one in self._near[place]:
            del self._near[place][one]
            self._used_B[place] -= int(self._size_B[one])

    def _source(self, one: int, at: int) -> int:
        """Return whence an object is read: where it was written, while it is kept there; else the memory below."""
        kept = self._capacity_B == inf or at >= self._n_caches or one in self._near[at]
        return at if kept else self._network.below(at, one)

    def _keep(self, one: int, place: int) -> None:
        """Put an object near a place; what was there longest without use makes room."""
        near, size_B = self._near[place], int(self._size_B[one])
        if one in near:
            near.move_to_end(one)
        elif size_B <= self._capacity_B:
            near[one] = None
            self._used_B[place] += size_B
            while self._used_B[place] > self._capacity_B:
                self._used_B[place] -= int(self._size_B[near.popitem(last=False)[0]])
