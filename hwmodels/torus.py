"""`torus`: tiles, memory and I/O on a grid whose network runs one way each and round the edges, as on Wormhole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, Field, StrictInt, model_validator

from simsched.errors import MachineError
from simsched.graph.adjacency import Ints
from simsched.hwmodels.grid import Grid, GridLinks, parsed
from simsched.hwmodels.tiles import SingleCores, whole_tiles
from simsched.machine.schema import Quantity, Strict, measures, si
from simsched.machine.structure import Picture

#: Stops that are not tiles: role in the picture, and label.
STOPS = {"M": ("memory", "DRAM"), "E": ("memory", "HBM"), "I": ("io", "I/O"), "X": ("io", "misc")}
#: Network that data take: its two directions, in the order in which a way takes them.
ROUTING = {0: "right, then down", 1: "up, then left"}


class TorusTable(Strict):
    """The `[structure]` table of a torus.

    Parameters
    ----------
    layout : list of str
        A row of stops each, from the top: T (tile), M (memory), E (other memory), I (I/O), X (other).
    disabled : list of [row, column]
        Tile positions without working cores, from 0 at the top left, the first to work again first.
    noc : {0, 1}
        Network that data take: 0 goes right, then down, 1 up, then left.
    memories : list of [row, column]
        Stop of each memory; those of one stop share its link.
    hop, to_router : Quantity
        Time from one stop to the next, and between a tile and its stop.
    """

    kind: Literal["torus"] = "torus"
    layout: Annotated[tuple[str, ...], Field(min_length=1, max_length=64), AfterValidator(parsed)]
    disabled: tuple[tuple[StrictInt, StrictInt], ...] = ()
    noc: Literal[0, 1] = 0
    memories: Annotated[tuple[tuple[StrictInt, StrictInt], ...], Field(min_length=1, max_length=4096)]
    hop: Annotated[Quantity, measures("time")]
    to_router: Annotated[Quantity, measures("time")]

    @model_validator(mode="after")
    def _positions_are_stops(self) -> Self:
        if mistakes := Grid(self.layout, self.disabled).mistakes():
            raise ValueError(f"disabled: {'; '.join(mistakes)}")
        memory = {at for letter in "ME" for at in map(tuple, Grid(self.layout).positions(letter).tolist())}
        if wrong := [f"[{r}, {c}]" for r, c in self.memories if (r, c) not in memory]:
            raise ValueError(
                f"memories: {', '.join(wrong[:3])}: expected stops of the layout that are M or E"
            )
        return self


@dataclass(frozen=True)
class Torus(SingleCores):
    """Tiles of one core on a torus, numbered row by row over the positions in use.

    Parameters
    ----------
    grid : Grid
        Layout and disabled positions, as the machine file has them.
    cores : int
        Tiles in use; see `stops`.
    noc : {0, 1}
        Network that data take.
    memories : tuple of (row, column)
        Stop of each memory; they are one memory domain.
    hop_s, to_router_s : float
        Seconds from one stop to the next, and between a tile and its stop.

    References
    ----------
    tenstorrent/tt-isa-documentation, WormholeB0/NoC.

    Examples
    --------
    There and back again is once round the torus:

    >>> from simsched.hwmodels.grid import Grid
    >>> torus = Torus(Grid(("TTT", "TTM")), 5, 0, ((1, 2),), 9e-9, 5e-9)
    >>> torus.hops(0).tolist(), torus.hops(1).tolist()
    ([0, 1, 2, 1, 2], [2, 0, 1, 3, 1])
    """

    kind: ClassVar[str] = "torus"
    schema: ClassVar[type[TorusTable]] = TorusTable
    one_way: ClassVar[bool] = True

    grid: Grid
    cores: int
    noc: int
    memories: tuple[tuple[int, int], ...]
    hop_s: float
    to_router_s: float

    @classmethod
    def of(cls, table: TorusTable, n_cores: int, cores_per_tile: int) -> Torus:
        """Return the torus of a checked table."""
        if cores_per_tile != 1:
            raise MachineError(f"cores.per_tile is {cores_per_tile}; a tile of a torus is one core, give 1")
        grid = Grid(table.layout, table.disabled)
        if n_cores != len(grid.enabled):
            raise MachineError(
                f"layout has {len(grid.enabled)} tile positions in use (T, and not in disabled); the machine has "
                f"{n_cores} cores"
            )
        return cls(grid, n_cores, table.noc, table.memories, si(table.hop), si(table.to_router))

    @cached_property
    def stops(self) -> Grid:
        """The stops with the actual number of tiles: more enable the first disabled ones, then add rows of tiles."""
        more = max(self.cores - len(self.grid.enabled), 0)
        return Grid(self.grid.rows, self.grid.disabled[more:]).with_tiles(self.cores)

    def hops(self, core: int) -> Ints:
        """Return the steps from a core to every core, the way that the network goes."""
        away = self.stops.enabled - self.stops.enabled[core]
        around = np.array([len(self.stops.rows), self.stops.width])
        return np.asarray(((away if self.noc == 0 else -away) % around).sum(1), np.int64)

    def transfer_s(self, core: int) -> npt.NDArray[np.float64]:
        """Return the seconds of a small message from a core to every core."""
        seconds = np.asarray(2 * self.to_router_s + self.hop_s * self.hops(core), np.float64)
        seconds[core] = 0.0
        return seconds

    @cached_property
    def interconnect(self) -> GridLinks:
        """Links of the network between neighbouring stops."""
        number = np.array([self.stops.width, 1])
        stops, memories = self.stops.enabled @ number, np.array(self.memories, np.int64) @ number
        domains = np.zeros(len(memories), np.int32)
        return GridLinks(self.stops, stops.astype(np.int32), memories.astype(np.int32), domains, self.noc)

    def resized(self, n_cores: int) -> Torus:
        """Return the torus with another number of cores."""
        return replace(self, cores=whole_tiles(n_cores, 1))

    def picture(self) -> Picture:
        """Return the grid: tiles, memory and I/O stops, disabled positions; links as far as the edges."""
        boxes = self.stops.boxes(self.stops.enabled, 1, stops=STOPS, outlined=False)
        return Picture(tuple(boxes), tuple(link.line for link in self.interconnect.links))

    def facts(self) -> Mapping[str, str]:
        """Return the facts for readers."""
        return {
            "torus": f"{len(self.stops.rows)} x {self.stops.width} stops, network {self.noc}: {ROUTING[self.noc]}",
            "tile positions": f"{len(self.stops.positions())}, {len(self.stops.disabled)} of them disabled",
            "memories": str(len(self.memories)),
        }
