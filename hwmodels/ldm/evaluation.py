"""Seconds of a nest for given tiles and loop order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import LoopNest, Tensor
from simsched.hwmodels.ldm.times import Moved, hidden_s


class MoveTimes(NamedTuple):
    """Seconds of a get and a put of a tile by DMA, and of either past the LDM."""

    get_s: float
    put_s: float
    gload_s: float


class _Tile(NamedTuple):
    """A tile of a tensor: their number, bytes of LDM of its buffers, and its span in each dimension."""

    tiles: int
    buffers_B: float
    spans: list[float]


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


class Evaluation:
    """Seconds of a CPE's part by tiles and order of its loops, which are given by number.

    Parameters
    ----------
    part : LoopNest
        The part of the CPE with the most work.
    group : CoreGroup
    cpes : int
        Number that move tiles concurrently.
    prices : OwnTiles, optional
        What moving and computing take; `OwnTiles` when not given.
    """

    def __init__(self, part: LoopNest, group: CoreGroup, cpes: int, prices: OwnTiles | None = None) -> None:
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
            counts = [-(-extent // tile) for extent, tile in zip(self.extents, tiles, strict=True)]
            moved = [
                _moved(tensor, tiles, moves, is_input=at < self._inputs)
                for at, (tensor, moves) in enumerate(
                    zip(self._tensors, self._moves(order, counts), strict=True)
                )
            ]
            busy_s = self._prices.busy_s(dict(zip(self.loops, counts, strict=True)))
            busy_s += sum([one.seconds for one in moved if one.by_gload])
            total_s = busy_s + sum([one.seconds for one in moved if not one.by_gload]) + self._spawn_join_s
            known = self._known_s[tiles, order] = (
                total_s - hidden_s(moved, busy_s) if self._twice else total_s
            )
        return known

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

    def __init__(self, part: LoopNest, tensor: Tensor, prices: OwnTiles, *, twice: bool) -> None:
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
        self._known: dict[object, _Tile] = {}
        self._times: dict[object, MoveTimes] = {}

    def tile(self, tiles: Sequence[int]) -> _Tile:
        """Return the tile of the tensor for the tiles of all loops."""
        key = self._key(tiles)
        if (known := self._known.get(key)) is None:
            spans = self._spans({loop: tiles[loop] for loop in self._own})
            count = math.prod([-(-self._extents[loop] // tiles[loop]) for loop in self._own])
            size_B = math.prod(spans) * self._element_B
            known = self._known[key] = _Tile(
                count, 2 * size_B if self._twice and count > 1 else size_B, spans
            )
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
