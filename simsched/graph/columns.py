"""Text columns that hold a million strings without a million Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Distinct strings, one a task: UTF-8 bytes end to end, and where each one starts.

    Parameters
    ----------
    data : uint8 array
        The bytes of all strings.
    offsets : int64 array, shape (n + 1,)
        String i is `data[offsets[i]:offsets[i + 1]]`.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> TextColumn:
        """Store `strings`; a character that UTF-8 cannot hold is kept as its escape."""
        encoded = [str(s).encode("utf-8", "backslashreplace") for s in strings]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> str:
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes().decode("utf-8", "replace")

    def to_list(self) -> list[str]:
        """Return all strings."""
        raw, ends = self.data.tobytes(), self.offsets.tolist()
        return [raw[a:b].decode("utf-8", "replace") for a, b in zip(ends, ends[1:], strict=False)]


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """Repeating strings, one a task: a code a task and the table of labels.

    Parameters
    ----------
    codes : int32 array, shape (n,)
        Index into `labels`.
    labels : tuple of str
        The distinct strings, in order of first appearance.
    """

    codes: npt.NDArray[np.int32]
    labels: tuple[str, ...]

    @classmethod
    def constant(cls, label: str, n: int) -> LabelColumn:
        """Return a column of `n` times the same label."""
        return cls(np.zeros(n, np.int32), (label,))

    @classmethod
    def from_strings(cls, strings: Sequence[str]) -> LabelColumn:
        """Store `strings`, each distinct one once."""
        table: dict[str, int] = {}
        codes = np.fromiter((table.setdefault(str(s), len(table)) for s in strings), np.int32, len(strings))
        return cls(codes, tuple(table))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, i: int) -> str:
        return self.labels[self.codes[i]]

    def to_list(self) -> list[str]:
        """Return all strings."""
        return [self.labels[c] for c in self.codes.tolist()]
