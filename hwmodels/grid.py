"""Stops on a grid, and the links between them: a mesh, or a torus whose networks run one way each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simsched.graph.adjacency import Csr, Index, Ints, steps
from simsched.hwmodels.tiles import filled
from simsched.machine.interconnect import Interconnect, Link, joined
from simsched.machine.structure import Box

TILE = "T"

#: Stops that are not tiles: role in the picture, and label.
STOPS = {"E": ("memory", "EDC"), "M": ("memory", "DDR"), "I": ("io", "IIO"), "X": ("io", "misc")}

LONGEST = 64


def parsed(rows: Sequence[str]) -> tuple[str, ...]:
    """Return the rows of a layout without spaces.

    Raises
    ------
    ValueError
        On an unknown letter, rows of different lengths, a mesh too large or without a tile.
    """
    letters = tuple(row.replace(" ", "") for row in rows)
    known = {TILE, *STOPS}
    for number, row in enumerate(letters):
        if unknown := sorted(set(row) - known):
            raise ValueError(
                f"row {number} has {', '.join(map(repr, unknown))}; a stop is one of {', '.join(sorted(known))}"
            )
        if len(row) != len(letters[0]):
            raise ValueError(
                f"row {number} has {len(row)} stops, row 0 has {len(letters[0])}; expected as many"
            )
        if not 0 < len(row) <= LONGEST:
            raise ValueError(f"row {number} has {len(row)} stops; expected 1 to {LONGEST}")
    if not any(TILE in row for row in letters):
        raise ValueError(f"no stop is a tile, {TILE!r}")
    return letters


@dataclass(frozen=True)
class Grid:
    """Mesh stops in rows, from the top.

    Parameters
    ----------
    rows : tuple of str
        A letter a stop: T (tile), E (MCDRAM controller), M (DDR controller), I (I/O), X (other).
    disabled : tuple of (row, column)
        Tile positions without working cores.
    """

    rows: tuple[str, ...]
    disabled: tuple[tuple[int, int], ...] = ()

    @property
    def width(self) -> int:
        """Stops of a row."""
        return len(self.rows[0])

    def positions(self, letter: str = TILE) -> Ints:
        """Return (row, column) of every stop with a letter, row by row, int64 (n, 2)."""
        return np.argwhere(np.array([list(row) for row in self.rows]) == letter).astype(np.int64)

    @cached_property
    def enabled(self) -> Ints:
        """(row, column) of every tile in use, row by row, int64 (n, 2)."""
        off = set(self.disabled)
        return np.array([at for at in self.positions().tolist() if tuple(at) not in off], np.int64).reshape(
            -1, 2
        )

    def boxes(
        self, tiles: Ints, per_tile: int, *, stops: Mapping[str, tuple[str, str]] = STOPS, outlined: bool
    ) -> Iterator[Box]:
        """Yield the boxes of all stops, of disabled tiles, and of cores.

        Parameters
        ----------
        tiles : int array, shape (n, 2)
            (row, column) of the tiles in use, in the order of their cores.
        per_tile : int
            Cores of a tile.
        stops : mapping of str to (str, str), optional
            Role and label of the other stops, by letter.
        outlined : bool
            Whether tiles have a box around their cores.
        """
        number = {(r, c): tile for tile, (r, c) in enumerate(tiles.tolist())}
        for r, row in enumerate(self.rows):
            for c, letter in enumerate(row):
                x, y = c + 0.08, len(self.rows) - 1 - r + 0.08
                if (r, c) in number:
                    tile = Box(x, y, 0.84, 0.84, "tile")
                    yield from [tile] if outlined else []
                    yield from filled(tile, number[r, c] * per_tile, per_tile)
                elif letter == TILE:
                    yield Box(x, y, 0.84, 0.84, "disabled", "off")
                else:
                    yield Box(x, y, 0.84, 0.84, *stops[letter])

    def mistakes(self) -> list[str]:
        """Return the mistakes of the disabled positions."""
        tiles = {(r, c) for r, c in self.positions().tolist()}
        found = [f"[{r}, {c}] is not a tile of the layout" for r, c in self.disabled if (r, c) not in tiles]
        twice = sorted({at for at in self.disabled if self.disabled.count(at) > 1})
        return found + [f"[{r}, {c}] is listed more than once" for r, c in twice]

    def with_tiles(self, count: int) -> Grid:
        """Return the grid with another number of tiles in use.

        Fewer: the later positions are disabled. More: whole rows of tiles are put in below the last row that has
        one, so that memory and I/O keep their rows above and below; positions left over are disabled.
        """
        missing = count - len(self.enabled)
        if missing == 0:
            return self
        grid = self
        if missing > 0:
            last = max(r for r, row in enumerate(self.rows) if TILE in row)
            new = (TILE * self.width,) * -(-missing // self.width)
            grid = Grid(self.rows[: last + 1] + new + self.rows[last + 1 :], self.disabled)
        left_over = [(r, c) for r, c in grid.enabled[count:].tolist()]
        return Grid(grid.rows, grid.disabled + tuple(left_over))


@dataclass(frozen=True, eq=False)
class GridLinks(Interconnect):
    """Links between neighbouring stops of a grid.

    On a mesh data go along the column first, then along the row, and each pair of neighbours has a link in either
    direction. On a torus, network 0 goes right, then down, and network 1 up, then left, round the edges if need be.

    Parameters
    ----------
    grid : Grid
    stop_of : int32 array, shape (n_cores,)
        Stop of each core, `row * width + column`.
    memories, domains : int32 arrays, shape (k,)
        Stop and domain of each memory.
    noc : int, optional
        Network of a torus, 0 or 1; None for a mesh.

    Examples
    --------
    From the top left to the bottom right of two by two stops:

    >>> import numpy as np
    >>> corner, none = (np.array([0]), np.array([3])), np.empty(0, np.int32)
    >>> mesh = GridLinks(Grid(("TT", "TT")), none, none, none)
    >>> [mesh.links[link].name for link in mesh.ways(*corner).indices]
    ['0,0 down', '1,0 right']
    >>> torus = GridLinks(Grid(("TT", "TT")), none, none, none, noc=1)
    >>> [torus.links[link].name for link in torus.ways(*corner).indices]
    ['0,0 up', '1,0 left']
    """

    grid: Grid
    stop_of: Index
    memories: Index
    domains: Index
    noc: int | None = None

    @cached_property
    def links(self) -> Sequence[Link]:
        """Links, by direction and row by row: right, left, down, up, as far as there are any."""
        rows, columns = len(self.grid.rows), self.grid.width
        if self.noc is not None:
            across, along = ("right", "down") if self.noc == 0 else ("left", "up")
            return tuple(
                self._link(r, c, way) for way in (across, along) for r in range(rows) for c in range(columns)
            )
        found = [self._link(r, c, "right") for r in range(rows) for c in range(columns - 1)]
        found += [self._link(r, c, "left") for r in range(rows) for c in range(1, columns)]
        found += [self._link(r, c, "down") for r in range(rows - 1) for c in range(columns)]
        return tuple(found + [self._link(r, c, "up") for r in range(1, rows) for c in range(columns)])

    def _link(self, row: int, column: int, way: str) -> Link:
        x, y = column + 0.5, len(self.grid.rows) - row - 0.5
        dx, dy = DIRECTIONS[way]
        # Links that leave over an edge are drawn up to it.
        inside = 0 <= column + dx < self.grid.width and 0 <= row - dy < len(self.grid.rows)
        length = 1.0 if inside else 0.5
        return Link(f"{row},{column} {way}", ((x, y), (x + dx * length, y + dy * length)))

    def ways(self, sources: Ints, targets: Ints) -> Csr:
        """Return the links from each source stop to its target stop, in order."""
        r0, c0 = np.divmod(np.asarray(sources, np.int64), self.grid.width)
        r1, c1 = np.divmod(np.asarray(targets, np.int64), self.grid.width)
        if self.noc == 0:
            parts = [self._round(r0, c0, c1 - c0, 1), self._round(c1, r0, r1 - r0, 1, down=True)]
        elif self.noc == 1:
            parts = [self._round(c0, r0, r0 - r1, -1, down=True), self._round(r1, c0, c0 - c1, -1)]
        else:
            parts = [self._straight(c0, r0, r1, down=True), self._straight(r1, c0, c1)]
        return joined(parts, len(r0))

    def _round(
        self, line: Ints, start: Ints, away: Ints, sign: int, *, down: bool = False
    ) -> tuple[Ints, Ints]:
        """Return links along a row or, `down`, a column of a torus, from each start, so many stops in one direction."""
        rows, columns = len(self.grid.rows), self.grid.width
        around = rows if down else columns
        row, step = steps(away % around)
        stop = (start[row] + sign * step) % around
        return row, rows * columns + stop * columns + line[row] if down else line[row] * columns + stop

    def _straight(self, line: Ints, start: Ints, end: Ints, *, down: bool = False) -> tuple[Ints, Ints]:
        """Return links along a row or, `down`, a column of a mesh, from each start to its end."""
        rows, columns = len(self.grid.rows), self.grid.width
        horizontal, vertical = rows * (columns - 1), (rows - 1) * columns
        row, step = steps(np.abs(end - start))
        ahead = (end > start)[row]
        edge = np.where(ahead, start[row] + step, start[row] - step - 1)
        if down:
            return row, 2 * horizontal + np.where(ahead, 0, vertical) + edge * columns + line[row]
        return row, np.where(ahead, 0, horizontal) + line[row] * (columns - 1) + edge


#: Steps of the picture, right and up, in each direction.
DIRECTIONS = {"right": (1, 0), "left": (-1, 0), "down": (0, -1), "up": (0, 1)}
