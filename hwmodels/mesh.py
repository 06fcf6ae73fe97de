"""`mesh`: tiles, memory and I/O on a grid of mesh stops, as on Knights Landing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, Field, StrictInt, model_validator

from simsched.errors import MachineError
from simsched.graph.adjacency import Index, Ints
from simsched.hwmodels.grid import Grid, GridLinks, parsed
from simsched.hwmodels.tiles import Tiles, whole_tiles
from simsched.machine.schema import Quantity, Strict, measures, si
from simsched.machine.structure import Box, Picture


def mean_distance(at: Ints, to: Ints) -> npt.NDArray[np.float64]:
    """Return the mean distance of each number in `at` to the numbers in `to`, in O((n + m) log m)."""
    to = np.sort(to)
    sums = np.concatenate([[0], np.cumsum(to)])
    below = np.searchsorted(to, at, side="right")
    total = at * below - sums[below] + (sums[-1] - sums[below]) - at * (len(to) - below)
    return np.asarray(total / len(to), np.float64)


Floats = npt.NDArray[np.float64]
Cluster = Literal["a2a", "quadrant", "snc4"]


class MeshTable(Strict):
    """The `[structure]` table of a mesh.

    Parameters
    ----------
    layout : list of str
        A row of mesh stops each, from the top: T (tile), E (MCDRAM controller), M (DDR controller), I (I/O), X (other).
    disabled : list of [row, column]
        Tile positions without working cores, from 0 at the top left. Their mesh stops and tag directories work.
    cluster : {"a2a", "quadrant", "snc4"}
        All-to-all and quadrant are one memory domain, SNC-4 is four.
    hop_y, hop_x : Quantity
        Time of a vertical and of a horizontal hop.
    same_tile, other_tile : Quantity
        Time of a cache line between the cores of a tile; between tiles, the median over all pairs.
    """

    kind: Literal["mesh"] = "mesh"
    layout: Annotated[tuple[str, ...], Field(min_length=1, max_length=64), AfterValidator(parsed)]
    disabled: tuple[tuple[StrictInt, StrictInt], ...] = ()
    cluster: Cluster
    hop_y: Annotated[Quantity, measures("time")]
    hop_x: Annotated[Quantity, measures("time")]
    same_tile: Annotated[Quantity, measures("time")]
    other_tile: Annotated[Quantity, measures("time")]

    @model_validator(mode="after")
    def _disabled_are_tiles(self) -> Self:
        if mistakes := Grid(self.layout, self.disabled).mistakes():
            raise ValueError(f"disabled: {'; '.join(mistakes)}")
        return self


@dataclass(frozen=True)
class Mesh(Tiles):
    """Tiles on a grid of mesh stops with YX routing: first along the column, then along the row.

    Tiles are numbered row by row over the positions in use, in SNC-4 cluster by cluster, as Linux does. A cache line is
    asked for at the tag directory of its address, which asks the core that holds it, which sends it: three ways.
    Directories are at every tile position, addresses are spread evenly over all of them (SNC-4: half over those of
    one core's cluster, half over the other's). The seconds of a line are `base_s` and the mean cost of these hops.

    Parameters
    ----------
    grid : Grid
        Layout and disabled positions, as the machine file has them.
    n_tiles : int
        Tiles in use; see `Grid.with_tiles`.
    per_tile : int
        Cores of a tile.
    cluster : {"a2a", "quadrant", "snc4"}
        Cluster mode.
    hop_y_s, hop_x_s, same_tile_s : float
        Seconds of a vertical hop, of a horizontal hop, of a line between the cores of a tile.
    base_s : float
        Cost of a line between two tiles in addition to its hops.

    References
    ----------
    Hot Chips 27, "Knights Landing (KNL): 2nd Generation Intel Xeon Phi Processor", 2015: grid, routing, modes.

    Examples
    --------
    >>> import simsched as ss
    >>> mesh = ss.machine("knl-7250").structure
    >>> mesh.n_tiles, mesh.stops.width, mesh.hops(0)[:6].tolist()
    (34, 6, [0, 0, 1, 1, 4, 4])
    """

    kind: ClassVar[str] = "mesh"
    schema: ClassVar[type[MeshTable]] = MeshTable

    grid: Grid
    n_tiles: int
    per_tile: int
    cluster: Cluster
    hop_y_s: float
    hop_x_s: float
    same_tile_s: float
    base_s: float = 0.0

    @classmethod
    def of(cls, table: MeshTable, n_cores: int, cores_per_tile: int) -> Mesh:
        """Return the mesh of a checked table; `base_s` follows from the median that it states."""
        grid = Grid(table.layout, tuple(sorted(table.disabled)))
        tiles = whole_tiles(n_cores, cores_per_tile)
        if tiles != len(grid.enabled):
            raise MachineError(
                f"layout has {len(grid.enabled)} tile positions in use (T, and not in disabled); "
                f"{n_cores} cores, {cores_per_tile} per tile, need {tiles}"
            )
        hops = si(table.hop_y), si(table.hop_x)
        mesh = cls(grid, tiles, cores_per_tile, table.cluster, *hops, si(table.same_tile))
        median = replace(mesh, cluster="quadrant")._median_between_tiles_s()
        if median > si(table.other_tile):
            raise MachineError(
                f"other_tile is {si(table.other_tile):g} s, and the hops of such a transfer alone take "
                f"{median:g} s; give a longer time, or shorter hop_y and hop_x"
            )
        return replace(mesh, base_s=si(table.other_tile) - median)

    @cached_property
    def stops(self) -> Grid:
        """The stops with the actual number of tiles."""
        return self.grid.with_tiles(self.n_tiles)

    @cached_property
    def places(self) -> Ints:
        """Position (row, column) of each tile in the order of their numbers."""
        enabled = self.stops.enabled
        return enabled[np.argsort(self._clusters(enabled), kind="stable")]

    @cached_property
    def domain_of(self) -> Index:
        """Memory domain of each core: all 0, or the SNC-4 cluster; a cluster without cores is not a domain."""
        numbers = np.unique(self._clusters(self.places), return_inverse=True)[1]
        return np.repeat(numbers, self.per_tile).astype(np.int32)

    def _clusters(self, at: Ints) -> Ints:
        """Return the cluster of each position: top left, top right, bottom left, bottom right; a middle row is top."""
        if self.cluster != "snc4":
            return np.zeros(len(at), np.int64)
        rows = self.stops.positions()[:, 0]
        below = 2 * at[:, 0] > int(rows.min() + rows.max())
        return 2 * below + (2 * at[:, 1] >= self.stops.width)

    def vertical_hops(self, core: int) -> Ints:
        """Return the steps along columns from a core to every core."""
        return self._away(core)[:, 0]

    def horizontal_hops(self, core: int) -> Ints:
        """Return the steps along rows from a core to every core."""
        return self._away(core)[:, 1]

    def hops(self, core: int) -> Ints:
        """Return the steps from a core to every core; 0 within a tile."""
        return np.asarray(self._away(core).sum(1), np.int64)

    def _away(self, core: int) -> Ints:
        at = self.places
        return np.repeat(np.abs(at - at[core // self.per_tile]), self.per_tile, axis=0)

    def hops_to(self, core: int, letter: str) -> Ints:
        """Return the steps from a core to every stop with a letter of the layout, row by row."""
        away = np.abs(self.stops.positions(letter) - self.places[core // self.per_tile])
        return np.asarray(away.sum(1), np.int64)

    def route(self, core: int, to: int) -> list[tuple[int, int]]:
        """Return the stops, (row, column), on the way from one core to another: first the column, then the row."""
        (r0, c0), (r1, c1) = (self.places[k // self.per_tile].tolist() for k in (core, to))
        along = [(r, c0) for r in range(r0, r1, 1 if r1 > r0 else -1)]
        return along + [(r1, c) for c in range(c0, c1, 1 if c1 > c0 else -1)] + [(r1, c1)]

    @cached_property
    def interconnect(self) -> GridLinks:
        """Links between neighbouring stops; memories are the MCDRAM controllers, else those of the DDR."""
        letter = "E" if any("E" in row for row in self.stops.rows) else "M"
        at, number = self.stops.positions(letter), np.array([self.stops.width, 1])
        stop_of = np.repeat(self.places @ number, self.per_tile).astype(np.int32)
        # A memory of a cluster without cores serves the last domain.
        used = np.unique(self._clusters(self.places))
        domains = np.minimum(np.searchsorted(used, self._clusters(at)), len(used) - 1)
        return GridLinks(self.stops, stop_of, (at @ number).astype(np.int32), domains.astype(np.int32))

    def transfer_s(self, core: int) -> Floats:
        """Return the seconds of a cache line from a core to every core."""
        tile = core // self.per_tile
        seconds = np.repeat(self._between_tiles_s(tile) + self.base_s, self.per_tile)
        seconds[tile * self.per_tile : (tile + 1) * self.per_tile] = self.same_tile_s
        seconds[core] = 0.0
        return seconds

    def _between_tiles_s(self, tile: int) -> Floats:
        """Return the mean seconds on the way from a tile over a directory to every tile, and back."""
        at, own = self.places, self.domain_of[tile * self.per_tile]
        theirs, every = self.domain_of[:: self.per_tile], np.arange(self.n_tiles)
        to = self._to_directories_s
        back = np.abs(at - at[tile]) @ np.array([self.hop_y_s, self.hop_x_s])
        return np.asarray(back + (to[own, tile] + to[theirs, tile] + to[own] + to[theirs, every]) / 2)

    @cached_property
    def _to_directories_s(self) -> Floats:
        """Mean seconds from each tile to the directories of each domain, (n_domains, n_tiles)."""
        at, directories = self.places, self.stops.positions()
        cluster, used = self._clusters(directories), np.unique(self._clusters(at))
        return np.array([
            self.hop_y_s * mean_distance(at[:, 0], directories[cluster == c, 0])
            + self.hop_x_s * mean_distance(at[:, 1], directories[cluster == c, 1])
            for c in used
        ])  # fmt: skip

    def _median_between_tiles_s(self) -> float:
        pairs = [self._between_tiles_s(tile)[tile + 1 :] for tile in range(self.n_tiles - 1)]
        return float(np.median(np.concatenate(pairs))) if pairs else 0.0

    def picture(self) -> Picture:
        """Return the grid: tiles with their cores, memory and I/O stops, disabled positions."""
        rows, columns = len(self.stops.rows), self.stops.width
        links = [((c + 0.5, r + 0.5), (c + 1.5, r + 0.5)) for r in range(rows) for c in range(columns - 1)]
        links += [((c + 0.5, r + 0.5), (c + 0.5, r + 1.5)) for r in range(rows - 1) for c in range(columns)]
        frames = self._cluster_frames() if self.cluster == "snc4" else ()
        return Picture((*frames, *self.stops.boxes(self.places, self.per_tile, outlined=True)), tuple(links))

    def _cluster_frames(self) -> Iterator[Box]:
        rows, columns = len(self.stops.rows), self.stops.width
        positions = self.stops.positions()[:, 0]
        above, left = int(positions.min() + positions.max()) // 2 + 1, -(-columns // 2)
        for x, width in ((0, left), (left, columns - left)):
            for y, height in ((rows - above, above), (0, rows - above)):
                if width and height:
                    yield Box(x + 0.02, y + 0.02, width - 0.04, height - 0.04, "domain")

    def facts(self) -> Mapping[str, str]:
        """Return the facts for readers."""
        grid = self.stops
        return {
            "mesh": f"{len(grid.rows)} x {grid.width} stops, YX routing",
            "tile positions": f"{len(grid.positions())}, {len(grid.disabled)} of them disabled",
            "cluster mode": self.cluster,
            "memory domains": str(self.n_domains),
        }
