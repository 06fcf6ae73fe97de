"""Seconds of a nest for given tiles and loop order, and the search for the fastest ones."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, Protocol

from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import LoopNest, Tensor, Tiles
from simsched.hwmodels.ldm.times import hidden_s


class MoveTimes(NamedTuple):
    """Seconds of a get and a put of a tile by DMA, and of either past the LDM."""

    get_s: float
    put_s: float
    gload_s: float


class Tile(NamedTuple):
    """A tile of a tensor: their number, bytes of LDM of its buffers, and its span in each dimension."""

    tiles: int
    buffers_B: float
    spans: list[float]


class Prices(Protocol):
    """Room in the LDM, and seconds of moving and computing."""

    ldm_B: float

    def move(self, count: float, size_B: float) -> MoveTimes:
        """Return the seconds of moving a tile of `count` runs of memory, each of `size_B`."""

    def busy_s(self, counts: Mapping[str, int]) -> float:
        """Return the seconds of computation, by the tiles of each loop."""


class OwnTiles:
    """Each CPE moves its own tiles to its own LDM and computes on them."""

    def __init__(self, part: LoopNest, group: CoreGroup, cpes: int) -> None:
        self.ldm_B = group.ldm_B
        self._group, self._cpes, self._element_B = group, cpes, part.element_B
        self._compute_s = group.compute_s(part.total_flops)

    def move(self, count: float, size_B: float) -> MoveTimes:
        """Return the seconds when all CPEs move tiles concurrently."""
        strided = count > 1
        return MoveTimes(
            count * self._group.get_s(size_B, self._cpes, strided=strided),
            count * self._group.put_s(size_B, self._cpes, strided=strided),
            count * size_B / self._element_B * self._group.gload_s(self._cpes),
        )

    def busy_s(self, counts: Mapping[str, int]) -> float:
        """Return the seconds of the CPE with the most work."""
        return self._compute_s


class Moved(NamedTuple):
    """The part of a `Transfer` that `hidden_s` needs."""

    gets: int
    puts: int
    get_s: float
    put_s: float
    seconds: float
    by_gload: bool


class Evaluation:
    """Seconds of a CPE's part by tiles and order of its loops, which are given by number.

    Parameters
    ----------
    part : LoopNest
        The part of the CPE with the most work.
    group : CoreGroup
    cpes : int
        Number that move tiles concurrently.
    prices : Prices, optional
        What moving and computing take; `OwnTiles` when not given.
    """

    def __init__(self, part: LoopNest, group: CoreGroup, cpes: int, prices: Prices | None = None) -> None:
        self.loops = tuple(part.loops)
        self.extents = tuple(part.loops.values())
        self._prices = OwnTiles(part, group, cpes) if prices is None else prices
        self._spawn_join_s, self._twice = group.spawn_join_s, group.double_buffering
        self._inputs = len(part.inputs)
        alike: dict[object, _TensorTiles] = {}
        for tensor in part.tensors:
            key = tensor.dims, tensor.shape
            alike[key] = alike.get(key) or _TensorTiles(part, tensor, self._prices, twice=self._twice)
        self._tensors = [alike[tensor.dims, tensor.shape] for tensor in part.tensors]
        # By loop, the tensors that it indexes.
        self._of_loop = [
            [at for at, tensor in enumerate(self._tensors) if loop in tensor.indexed]
            for loop in range(len(self.loops))
        ]
        self._known_s: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}

    @property
    def tensors(self) -> list[frozenset[int]]:
        """Loops that index each tensor, by number."""
        return [tensor.indexed for tensor in self._tensors]

    def fits(self, tiles: Sequence[int]) -> bool:
        """Return whether the LDM holds all buffers."""
        used_B = 0.0
        for tensor in self._tensors:
            used_B += tensor.tile(tiles).buffers_B
        return used_B <= self._prices.ldm_B

    def seconds(self, tiles: tuple[int, ...], order: tuple[int, ...]) -> float:
        """Return the seconds with tiles that fit, under an order of the tile loops, outermost first."""
        if (known := self._known_s.get((tiles, order))) is None:
            known = self._known_s[tiles, order] = self._summed_s(tiles, order)
        return known

    def _summed_s(self, tiles: Sequence[int], order: Sequence[int]) -> float:
        counts = [-(-extent // tile) for extent, tile in zip(self.extents, tiles, strict=True)]
        moved = [
            _moved(tensor, tiles, moves, is_input=at < self._inputs)
            for at, (tensor, moves) in enumerate(zip(self._tensors, self._moves(order, counts), strict=True))
        ]
        busy_s = self._prices.busy_s(dict(zip(self.loops, counts, strict=True)))
        busy_s += sum([one.seconds for one in moved if one.by_gload])
        total_s = busy_s + sum([one.seconds for one in moved if not one.by_gload]) + self._spawn_join_s
        return total_s - hidden_s(moved, busy_s) if self._twice else total_s

    def _moves(self, order: Sequence[int], counts: Sequence[int]) -> list[int]:
        """Return how often a tile of each tensor moves: in each turn of its innermost loop and of those around it."""
        moves, around = [1] * len(self._tensors), 1
        for loop in order:
            if counts[loop] > 1:
                around *= counts[loop]
                for at in self._of_loop[loop]:
                    moves[at] = around
        return moves


def _moved(tensor: _TensorTiles, tiles: Sequence[int], moves: int, *, is_input: bool) -> Moved:
    gets, puts = (moves, 0) if is_input else (moves - tensor.tile(tiles).tiles, moves)
    get_s, put_s, gload_s = tensor.times(tiles)
    dma_s, by_gload_s = gets * get_s + puts * put_s, (gets + puts) * gload_s
    if dma_s > by_gload_s:
        return Moved(gets, puts, gload_s, gload_s, gets * gload_s + puts * gload_s, by_gload=True)
    return Moved(gets, puts, get_s, put_s, dma_s, by_gload=False)


class _TensorTiles:
    """Tiles of a tensor by its loops' tiles, each computed once; see `blocks` and `transfer`."""

    def __init__(self, part: LoopNest, tensor: Tensor, prices: Prices, *, twice: bool) -> None:
        numbers = {loop: at for at, loop in enumerate(part.loops)}
        self.indexed = frozenset(numbers[loop] for loop in tensor.variables)
        self._own = sorted(self.indexed)
        self._key = itemgetter(*self._own) if self._own else lambda tiles: ()
        self._extents = tuple(part.loops.values())
        self._dims = [
            (size, [(numbers[loop], abs(factor)) for loop, factor in dim.terms])
            for dim, size in zip(tensor.dims, tensor.shape, strict=True)
        ]
        self._element_B, self._prices, self._twice = part.element_B, prices, twice
        self._known: dict[object, Tile] = {}
        self._times: dict[object, MoveTimes] = {}

    def tile(self, tiles: Sequence[int]) -> Tile:
        """Return the tile of the tensor for the tiles of all loops."""
        key = self._key(tiles)
        if (known := self._known.get(key)) is None:
            spans = self._spans({loop: tiles[loop] for loop in self._own})
            count = math.prod([-(-self._extents[loop] // tiles[loop]) for loop in self._own])
            size_B = math.prod(spans) * self._element_B
            known = self._known[key] = Tile(count, 2 * size_B if self._twice and count > 1 else size_B, spans)
        return known

    def times(self, tiles: Sequence[int]) -> MoveTimes:
        """Return the seconds of the moves of such a tile: of one of mean size, where the last is smaller."""
        key = self._key(tiles)
        if (known := self._times.get(key)) is None:
            known = self._times[key] = self._moving(tiles, self.tile(tiles).spans)
        return known

    def _moving(self, tiles: Sequence[int], full: Sequence[float]) -> MoveTimes:
        extents = self._extents
        mean = self._spans({loop: extents[loop] / -(-extents[loop] // tiles[loop]) for loop in self._own})
        lowest = len(full) - 1
        while lowest > 0 and full[lowest] == self._dims[lowest][0]:
            lowest -= 1
        return self._prices.move(math.prod(mean[:lowest]), math.prod(mean[lowest:]) * self._element_B)

    def _spans(self, tiles: Mapping[int, float]) -> list[float]:
        spans = []
        for size, terms in self._dims:
            span = 1.0
            for loop, factor in terms:
                span += factor * (tiles[loop] - 1)
            spans.append(min(span, size))
        return spans


#: A loop is cut into at most this many tiles of nearly the same size; beyond it tiles are powers of two.
EVEN = 8


@dataclass(frozen=True)
class Found:
    """Tiles and order of loops, by number, and their seconds."""

    seconds: float
    tiles: tuple[int, ...]
    order: tuple[int, ...]


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


def fastest_order(evaluation: Evaluation, tiles: Tiles) -> tuple[str, ...]:
    """Return the order of the tile loops, outermost first, that takes the least seconds found with given tiles."""
    fixed = tuple(tiles[loop] for loop in evaluation.loops)
    descent = _Descent(evaluation, tiles)
    return _named(evaluation, (descent.ordered(fixed, order) for order in _orders(evaluation)))[1]


def _named(evaluation: Evaluation, found: Iterable[Found]) -> tuple[dict[str, int], tuple[str, ...]]:
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

    def from_(self, tiles: tuple[int, ...], order: tuple[int, ...]) -> Found:
        """Return the fastest tiles and order, beginning with these."""
        best = Found(self._evaluation.seconds(tiles, order), tiles, order)
        while True:
            before = best
            for loop in self._open:
                best = self._tiled(best, loop)
            best = self._reordered(best)
            if best is before or self.at_once:
                return best

    def ordered(self, tiles: tuple[int, ...], order: tuple[int, ...]) -> Found:
        """Return the fastest order of given tiles, beginning with one."""
        best = Found(self._evaluation.seconds(tiles, order), tiles, order)
        while (better := self._reordered(best)) is not best:
            best = better
        return best

    def _reordered(self, best: Found) -> Found:
        for loop in self._open:
            best = self._placed(best, loop)
        return best

    def _tiled(self, best: Found, loop: int) -> Found:
        """Return the best with another tile of a loop."""
        here = best.tiles
        if (candidates := self._known.get((here, loop))) is None:
            candidates = self._known[here, loop] = list(dict.fromkeys(self._retiled(here, loop)))
        for tiles in candidates:
            seconds = self._evaluation.seconds(tiles, best.order)
            if seconds < best.seconds:
                best = Found(seconds, tiles, best.order)
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
                if other != loop and (smaller := self._shrunk(changed, other)):
                    yield smaller

    def _shrunk(self, tiles: tuple[int, ...], loop: int) -> tuple[int, ...] | None:
        """Return tiles that fit because that of a loop is smaller, as large as possible; None if none do."""

        def with_(size: int) -> tuple[int, ...]:
            return (*tiles[:loop], size, *tiles[loop + 1 :])

        # Ranges smaller than a tile have as many buffers, which grow with the size.
        smaller = self._sizes[loop][: bisect_left(self._sizes[loop], tiles[loop])]
        fitting = bisect_left(smaller, True, key=lambda size: not self._evaluation.fits(with_(size)))
        return with_(smaller[fitting - 1]) if fitting else None

    def _placed(self, best: Found, loop: int) -> Found:
        """Return the best with a loop at another place of the order."""
        others = [other for other in best.order if other != loop]
        tiles = best.tiles
        for place in range(len(best.order)):
            order = (*others[:place], loop, *others[place:])
            if order != best.order:
                seconds = self._evaluation.seconds(tiles, order)
                if seconds < best.seconds:
                    best = Found(seconds, tiles, order)
        return best
