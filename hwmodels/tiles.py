"""Helpers of all kinds of structures: whole tiles, and cores drawn in a box."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, sqrt
from typing import Any, Self, cast

import numpy as np

from simsched.errors import MachineError
from simsched.graph.adjacency import Index
from simsched.machine.structure import Box, Structure


def whole_tiles(n_cores: int, per_tile: int, what: str = "a tile") -> int:
    """Return the number of tiles of so many cores.

    Raises
    ------
    MachineError
        If they are not whole tiles, or none.
    """
    if n_cores < 1:
        raise MachineError(f"{n_cores} cores: expected at least {per_tile}")
    if n_cores % per_tile:
        near = max(n_cores // per_tile, 1) * per_tile
        raise MachineError(
            f"{n_cores} cores: {what} has {per_tile} cores and stays whole; try {near} or {near + per_tile}"
        )
    return n_cores // per_tile


def columns_of(count: int) -> int:
    """Return the columns of a block of `count` equal boxes that is as square as possible, wider than high."""
    return ceil(sqrt(count))


def filled(box: Box, first: int, count: int, columns: int | None = None) -> Iterator[Box]:
    """Yield the boxes of cores `first` to `first + count - 1`, row by row in `box`."""
    columns = columns or columns_of(count)
    width, height = box.width / columns, box.height / ceil(count / columns)
    gap = 0.08 * min(width, height)
    for k in range(count):
        row, column = divmod(k, columns)
        x, y = box.x + column * width, box.y + box.height - (row + 1) * height
        yield Box(x + gap, y + gap, width - 2 * gap, height - 2 * gap, "core", str(first + k), first + k)


class Tiles(Structure):
    """A structure of `n_tiles` tiles, each of `per_tile` cores: both are fields of what derives from it."""

    n_tiles: int
    per_tile: int

    @property
    def n_cores(self) -> int:
        """Number of cores."""
        return self.n_tiles * self.per_tile

    @property
    def cores_per_tile(self) -> int:
        """Cores of a tile."""
        return self.per_tile

    def resized(self, n_cores: int) -> Self:
        """Return another number of cores, in whole tiles."""
        resized: Self = replace(cast("Any", self), n_tiles=whole_tiles(n_cores, self.per_tile))
        return resized


class SingleCores(Structure):
    """A structure of `cores`, a field of what derives from it: none shares an L2, and memory is one domain."""

    cores: int

    @property
    def n_cores(self) -> int:
        """Number of cores."""
        return self.cores

    @property
    def cores_per_tile(self) -> int:
        """1: each core has its own L2, or memory."""
        return 1

    @property
    def domain_of(self) -> Index:
        """Memory domain of each core: all 0, addresses are spread over all memories."""
        return np.zeros(self.cores, np.int32)
