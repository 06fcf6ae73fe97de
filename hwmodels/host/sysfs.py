"""Files of a running Linux system, read without surprises: what is missing or garbled is None."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

#: Numbers of CPUs and memories are below this.
MOST_CPUS = 2**17
_MOST_B = 1 << 24
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class Files:
    """Files below a root: `/`, or a copy of another system's `/sys` and `/proc`.

    Parameters
    ----------
    root : Path
        Where `sys` and `proc` lie.
    """

    root: Path

    def text(self, path: str) -> str | None:
        """Return what a file says, without surrounding space."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(_MOST_B).decode("utf-8", "replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Return a whole number, which may be negative."""
        text = self.text(path)
        return int(text) if text and re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def size_B(self, path: str) -> int:
        """Return a size as `32K`, in bytes; 0 where it is not told."""
        match = re.fullmatch(r"([0-9]{1,9})([KMG]?)", self.text(path) or "")
        return int(match[1]) * _UNITS[match[2]] if match else 0

    def numbers(self, path: str) -> frozenset[int] | None:
        """Return a list of numbers as `0-3,8,10-11`."""
        text = self.text(path)
        return None if text is None else _listed(text)

    def numbered(self, folder: str, name: str) -> list[int]:
        """Return the numbers of the files of a folder that are called `name` and a number, ascending."""
        try:
            names = [path.name for path in (self.root / folder).iterdir()]
        except OSError:
            return []
        found = (re.fullmatch(rf"{name}([0-9]{{1,6}})", each) for each in names)
        return sorted(int(match[1]) for match in found if match and int(match[1]) < MOST_CPUS)


def _listed(text: str) -> frozenset[int] | None:
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*([0-9]{1,6})(?:-([0-9]{1,6}))?\s*", part)
        if match is None or int(match[2] or match[1]) >= MOST_CPUS:
            return None
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(numbers)
