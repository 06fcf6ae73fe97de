"""Search for the fastest tiles and loop order of a nest."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from simsched.hwmodels.ldm.evaluation import Evaluation
from simsched.hwmodels.ldm.nest import Tiles

#: A loop is cut into at most this many tiles of nearly the same size; beyond it tiles are powers of two.
EVEN = 8


def fastest(
    evaluation: Evaluation, first: Tiles, floors: Tiles | None = None
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the tiles and the order of the tile loops, outermost first, that take the least seconds found.

    From the `first` tiles and from the least ones, each with the orders that keep one of the tensors in the LDM
    longest, one loop after the other gets the tile that is best while all else stays; a tile that does not fit is
    tried with another loop's tile made smaller as needed. Then each loop is moved to its best place in the
    order. This is repeated until nothing is faster. Ties keep the current choice, so that the result is deterministic.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation of the seconds.
    first : mapping of str to int
        Tiles that fit.
    floors : mapping of str to int, optional
        Least tiles; 1 for loops that are not there.
    """
    lowest = floors or {}
    starts = [
        tuple(
            min(tiles.get(loop, 1), extent)
            for loop, extent in zip(evaluation.loops, evaluation.extents, strict=True)
        )
        for tiles in (first, lowest)
    ]
    descent = _Descent(evaluation, lowest)
    begin = starts[:1] if descent.at_once else dict.fromkeys(starts)
    found = (descent.from_(start, order) for start in begin for order in _orders(evaluation))
    return _named(evaluation, found)


def refitted(
    evaluation: Evaluation, tiles: Tiles, order: Sequence[str], floors: Tiles | None = None
) -> tuple[dict[str, int], tuple[str, ...]] | None:
    """Return tiles and an order as they are where the tiles fit, else the fastest found with one of them made smaller.

    None where that is not enough.
    """
    loops = evaluation.loops
    here, places = tuple(tiles[loop] for loop in loops), tuple(loops.index(loop) for loop in order)
    if evaluation.fits(here):
        return dict(tiles), tuple(order)
    descent = _Descent(evaluation, floors or {})
    smaller = [fitting for loop in range(len(loops)) if (fitting := descent.shrunk(here, loop))]
    return _named(evaluation, [descent.from_(one, places) for one in smaller]) if smaller else None


def fastest_order(evaluation: Evaluation, tiles: Tiles) -> tuple[str, ...]:
    """Return the order of the tile loops, outermost first, that takes the least seconds found with given tiles."""
    fixed = tuple(tiles[loop] for loop in evaluation.loops)
    descent = _Descent(evaluation, tiles)
    return _named(evaluation, (descent.ordered(fixed, order) for order in _orders(evaluation)))[1]


def _named(evaluation: Evaluation, found: Iterable[_Found]) -> tuple[dict[str, int], tuple[str, ...]]:
    best = min(found, key=lambda one: one.seconds)
    loops = evaluation.loops
    return dict(zip(loops, best.tiles, strict=True)), tuple(loops[loop] for loop in best.order)


def sizes(extent: int) -> list[int]:
    """Return the candidate tiles of a loop, ascending: powers of two, and up to `EVEN` even parts."""
    powers = {2**i for i in range(extent.bit_length())}
    return sorted(powers | {math.ceil(extent / parts) for parts in range(1, EVEN + 1)})


def _orders(evaluation: Evaluation) -> Iterator[tuple[int, ...]]:
    """Yield orders that keep one tensor after the other in the LDM: its loops are outermost."""
    loops = range(len(evaluation.loops))
    found = [tuple(sorted(loops, key=lambda loop: loop not in indexed)) for indexed in evaluation.tensors]
    yield from dict.fromkeys(found)


@dataclass(frozen=True)
class _Found:
    """Tiles and order of loops, by number, and their seconds."""

    seconds: float
    tiles: tuple[int, ...]
    order: tuple[int, ...]


class _Descent:
    """Coordinate descent over the tiles and the order of the loops."""

    def __init__(self, evaluation: Evaluation, floors: Tiles) -> None:
        self._evaluation = evaluation
        self._sizes = [
            [size for size in sizes(extent) if size >= floors.get(loop, 1)]
            for loop, extent in zip(evaluation.loops, evaluation.extents, strict=True)
        ]
        self._open = [loop for loop, extent in enumerate(evaluation.extents) if extent > 1]
        # Descents from different starts may meet.
        self._known: dict[tuple[tuple[int, ...], int], list[tuple[int, ...]]] = {}

    @property
    def at_once(self) -> bool:
        """Whether one pass from any start tries all tiles: there is a single loop to tile."""
        return len(self._open) < 2

    def from_(self, tiles: tuple[int, ...], order: tuple[int, ...]) -> _Found:
        """Return the fastest tiles and order, beginning with these."""
        best = _Found(self._evaluation.seconds(tiles, order), tiles, order)
        while True:
            before = best
            for loop in self._open:
                best = self._tiled(best, loop)
            best = self._reordered(best)
            if best is before or self.at_once:
                return best

    def ordered(self, tiles: tuple[int, ...], order: tuple[int, ...]) -> _Found:
        """Return the fastest order of given tiles, beginning with one."""
        best = _Found(self._evaluation.seconds(tiles, order), tiles, order)
        while (better := self._reordered(best)) is not best:
            best = better
        return best

    def _reordered(self, best: _Found) -> _Found:
        for loop in self._open:
            best = self._placed(best, loop)
        return best

    def _tiled(self, best: _Found, loop: int) -> _Found:
        """Return the best with another tile of a loop."""
        here = best.tiles
        if (candidates := self._known.get((here, loop))) is None:
            candidates = self._known[here, loop] = list(dict.fromkeys(self._retiled(here, loop)))
        for tiles in candidates:
            seconds = self._evaluation.seconds(tiles, best.order)
            if seconds < best.seconds:
                best = _Found(seconds, tiles, best.order)
        return best

    def _retiled(self, tiles: tuple[int, ...], loop: int) -> Iterator[tuple[int, ...]]:
        for size in self._sizes[loop]:
            if size == tiles[loop]:
                continue
            changed = (*tiles[:loop], size, *tiles[loop + 1 :])
            if self._evaluation.fits(changed):
                yield changed
                continue
            for other in self._open:
                if other != loop and (smaller := self.shrunk(changed, other)):
                    yield smaller

    def shrunk(self, tiles: tuple[int, ...], loop: int) -> tuple[int, ...] | None:
        """Return tiles that fit because that of a loop is smaller, as large as possible; None if none do."""

        def with_(size: int) -> tuple[int, ...]:
            return (*tiles[:loop], size, *tiles[loop + 1 :])

        # Ranges smaller than a tile have as many buffers, which grow with the size.
        smaller = self._sizes[loop][: bisect_left(self._sizes[loop], tiles[loop])]
        fitting = bisect_left(smaller, True, key=lambda size: not self._evaluation.fits(with_(size)))
        return with_(smaller[fitting - 1]) if fitting else None

    def _placed(self, best: _Found, loop: int) -> _Found:
        """Return the best with a loop at another place of the order."""
        others = [other for other in best.order if other != loop]
        tiles = best.tiles
        for place in range(len(best.order)):
            order = (*others[:place], loop, *others[place:])
            if order != best.order:
                seconds = self._evaluation.seconds(tiles, order)
                if seconds < best.seconds:
                    best = _Found(seconds, tiles, order)
        return best
