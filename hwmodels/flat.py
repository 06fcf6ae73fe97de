"""`flat`: identical cores at equal distances, with or without tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from simsched.errors import MachineError
from simsched.graph.adjacency import Index
from simsched.hwmodels.tiles import Tiles, columns_of, filled, whole_tiles
from simsched.machine.schema import Quantity, Strict, measures, si
from simsched.machine.structure import Box, Picture


class FlatTable(Strict):
    """The `[structure]` table of identical cores.

    Parameters
    ----------
    same_tile, other_tile : Quantity, optional
        Time of a cache line between cores of one tile, and of two; 0 when not given.
    domains : Quantity, optional
        Memory domains that divide the tiles among them, in their order; one when not given.
    """

    kind: Literal["flat"] = "flat"
    same_tile: Annotated[Quantity, measures("time")] | None = None
    other_tile: Annotated[Quantity, measures("time")] | None = None
    domains: Annotated[Quantity, measures("count", least=1, most=2**20, whole=True)] | None = None


@dataclass(frozen=True)
class Flat(Tiles):
    """Identical cores at equal distances, in one memory domain or several.

    Parameters
    ----------
    n_tiles, per_tile : int
        Tiles, and cores of each.
    same_tile_s, other_tile_s : float
        Seconds of a cache line between cores of one tile, and of two.
    domains : int
        Memory domains.

    Examples
    --------
    >>> from simsched.hwmodels.flat import Flat
    >>> flat = Flat(n_tiles=2, per_tile=2, same_tile_s=1e-8, other_tile_s=1e-7)
    >>> flat.n_cores, flat.transfer_s(0).tolist()
    (4, [0.0, 1e-08, 1e-07, 1e-07])
    """

    kind: ClassVar[str] = "flat"
    schema: ClassVar[type[FlatTable]] = FlatTable

    n_tiles: int
    per_tile: int = 1
    same_tile_s: float = 0.0
    other_tile_s: float = 0.0
    domains: int = 1

    def __post_init__(self) -> None:
        if self.domains > self.n_tiles:
            raise MachineError(
                f"domains is {self.domains}, but there are only {self.n_tiles} tiles to divide"
            )

    @classmethod
    def of(cls, table: FlatTable, n_cores: int, cores_per_tile: int) -> Flat:
        """Return the structure of a checked table."""
        same, other = (0.0 if q is None else si(q) for q in (table.same_tile, table.other_tile))
        domains = 1 if table.domains is None else int(si(table.domains))
        return cls(whole_tiles(n_cores, cores_per_tile), cores_per_tile, same, other, domains)

    @property
    def domain_of(self) -> Index:
        """Memory domain of each core: equal parts of the tiles, in their order."""
        return (self.tile_of.astype(np.int64) * self.domains // self.n_tiles).astype(np.int32)

    def hops(self, core: int) -> npt.NDArray[np.int64]:
        """Return 0 for the cores of the same tile, 1 for all others."""
        return np.where(self.tile_of == core // self.per_tile, 0, 1)

    def transfer_s(self, core: int) -> npt.NDArray[np.float64]:
        """Return the seconds of a cache line from a core to every core."""
        seconds = np.where(self.hops(core) == 0, self.same_tile_s, self.other_tile_s)
        seconds[core] = 0.0
        return seconds

    def picture(self) -> Picture:
        """Return the tiles as a block that is as square as possible."""
        return Picture(tuple(self._boxes()))

    def _boxes(self) -> Iterator[Box]:
        columns = columns_of(self.n_tiles)
        for tile in range(self.n_tiles):
            row, column = divmod(tile, columns)
            if self.per_tile == 1:
                yield Box(column + 0.04, -row - 0.96, 0.92, 0.92, "core", str(tile), tile)
                continue
            box = Box(column + 0.04, -row - 0.96, 0.92, 0.92, "tile")
            yield box
            yield from filled(box, tile * self.per_tile, self.per_tile)

    def facts(self) -> Mapping[str, str]:
        """Return the facts for readers."""
        return {"structure": "all cores equally far apart"}
