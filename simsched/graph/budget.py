"""Budget of one load: what its files may become in memory, in bytes, tasks, edges and columns.

A few bytes of a file can stand for gigabytes: data that repeat shrink a thousand times, and one line can describe
the edges between all pairs of nodes. All readers count what a file becomes, against one budget: `FLOOR_B`, and for each
byte of the files themselves `GROWTH` more. Real traces shrink 10 to 40 times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from simsched.errors import FormatError
from simsched.units import format_bytes, parse_bytes

#: Bytes that any file may become, and further ones for each of its own.
FLOOR_B, GROWTH = 8 * 1024 * 1024, 50
#: Part of the budget that each item takes: some of what readers hold for it in memory.
COST_B = {"tasks": 24, "edges": 8, "columns": 1024, "bytes": 1}


@dataclass
class Budget:
    """What the files of one load may become.

    Parameters
    ----------
    limit_B : float, optional
        Bytes in all; in proportion to the files where not given.
    """

    limit_B: float | None = None
    _sizes_B: dict[Path, int] = field(default_factory=dict)
    _expanded_B: dict[Path, int] = field(default_factory=dict)
    _enough: dict[tuple[Path, str], int] = field(default_factory=dict)

    def expanded(self, path: Path, read_B: int, expanded_B: int) -> None:
        """Count bytes of a file after decompression.

        Parameters
        ----------
        path : Path
            The file.
        read_B, expanded_B : int
            Bytes of it that have been read, and what they have become.

        Raises
        ------
        FormatError
            If they are more than the budget.
        """
        self._sizes_B[path] = max(self._sizes_B.get(path, 0), read_B)
        self._expanded_B[path] = max(self._expanded_B.get(path, 0), expanded_B)
        if sum(self._expanded_B.values()) > self._most_B(path):
            raise self._refusal(
                path, f"becomes more than {format_bytes(self._most_B(path))} when decompressed"
            )

    def check(self, path: Path, count: float, what: str) -> None:
        """Refuse a file that holds too much.

        Parameters
        ----------
        path : Path
            The file.
        count : int
            How many there are at least.
        what : str
            A key of `COST_B`.

        Raises
        ------
        FormatError
            If they are more than the budget.
        """
        # What a file may hold only grows while it is read.
        if count <= self._enough.get((path, what), -1):
            return
        most = self._enough[path, what] = self.most(path, what)
        if count > most:
            raise self._refusal(path, f"more than {most} {what}")

    def most(self, path: Path, what: str) -> int:
        """Return how many tasks, edges, columns or bytes a file may hold."""
        return int(self._most_B(path) // COST_B[what])

    def _most_B(self, path: Path) -> float:
        if self.limit_B is not None:
            return self.limit_B
        # A reader that was called by itself may not have read the file through `open_plain`.
        unread_B = 0 if path in self._sizes_B else path.stat().st_size
        return FLOOR_B + GROWTH * (sum(self._sizes_B.values()) + unread_B)

    def _refusal(self, path: Path, problem: str) -> FormatError:
        most_B = self._most_B(path)
        if self.limit_B is not None:
            return FormatError(f"{path}: {problem}, the most within limit={format_bytes(most_B)}; raise it")
        return FormatError(
            f"{path}: {problem}, the most for files of this size; if you trust it, give a higher limit, as in "
            f"limit={format_bytes(16 * most_B)}"
        )


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


def budget() -> Budget:
    """Return the budget of the load at hand; a new one for a reader that is called by itself."""
    return _CURRENT.get() or Budget()


@contextmanager
def limited(path: Path, limit: float | str | None) -> Iterator[Budget]:
    """Give all readers that are called in a block one budget.

    Parameters
    ----------
    path : Path
        The file, for the message.
    limit : float or str, optional
        Its bytes, as a number or as `8GB`; in proportion to the files when not given.

    Raises
    ------
    FormatError
        If it is no number of bytes.
    """
    try:
        limit_B = None if limit is None else parse_bytes(limit)
    except ValueError as error:
        raise FormatError(f"{path}: limit is {error}") from None
    found = Budget(limit_B)
    token = _CURRENT.set(found)
    try:
        yield found
    finally:
        _CURRENT.reset(token)
