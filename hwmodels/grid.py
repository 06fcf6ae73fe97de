"""`Grid`: where a mesh has tiles, memory controllers and I/O, and what happens when it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

TILE = "T"

#: Stops that are not tiles: role in the picture, and label.
STOPS = {"E": ("memory", "EDC"), "M": ("memory", "DDR"), "I": ("io", "IIO"), "X": ("io", "misc")}

LONGEST = 64


def parsed(rows: Sequence[str]) -> tuple[str, ...]:
    """Return the rows of a layout without spaces.

    Raises
    ------
    ValueError
        On a letter that stands for nothing, rows of different lengths, a mesh too large or without a tile.
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
        letters = np.array([list(row) for row in self.rows])
        return np.argwhere(letters == letter).astype(np.int64)

    @cached_property
    def enabled(self) -> Ints:
        """(row, column) of every tile in use, row by row, int64 (n, 2)."""
        off = set(self.disabled)
        return np.array([at for at in self.positions().tolist() if tuple(at) not in off], np.int64).reshape(
            -1, 2
        )

    def mistakes(self) -> list[str]:
        """Return what is wrong with the disabled positions."""
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


def mean_distance(at: Ints, to: Ints) -> npt.NDArray[np.float64]:
    """Return the mean distance of each number in `at` to the numbers in `to`, in O((n + m) log m)."""
    to = np.sort(to)
    sums = np.concatenate([[0], np.cumsum(to)])
    below = np.searchsorted(to, at, side="right")
    total = at * below - sums[below] + (sums[-1] - sums[below]) - at * (len(to) - below)
    return np.asarray(total / len(to), np.float64)
