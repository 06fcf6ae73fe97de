"""Columns that cannot be changed in place, and text in them: a million strings without a million Python objects."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import overload

import numpy as np
import numpy.typing as npt

#: Numbers of any meaning: operations, bytes; `simsched.graph.recording.Seconds` where they are times.
Floats = npt.NDArray[np.float64]

_BLOCK = 1 << 17


class ReadOnly:
    """Base of dataclasses whose arrays cannot be changed in place: they are shared, and handed out as views."""

    def __post_init__(self) -> None:
        for column in vars(self).values():
            if isinstance(column, np.ndarray):
                column.setflags(write=False)


def plain_text(value: object) -> str:
    r"""Return `value` as text that UTF-8 can hold.

    None becomes "", bytes are decoded, and what UTF-8 cannot hold (half of a surrogate pair, a broken byte)
    is kept as its escape.

    Examples
    --------
    >>> plain_text("a\ud800"), plain_text(b"ok"), plain_text(None), plain_text(3)
    ('a\\ud800', 'ok', '', '3')
    """
    return _utf8(value).decode()


def _utf8(value: object) -> bytes:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").encode()
    return b"" if value is None else str(value).encode("utf-8", "backslashreplace")


class Strings(ReadOnly):
    """Base of columns of strings, which are indexed and sliced as lists are."""

    def __len__(self) -> int:
        raise NotImplementedError

    def to_list(self) -> list[str]:
        """Return all strings."""
        raise NotImplementedError

    def _at(self, i: int) -> str:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        chosen = range(len(self))[i]
        return self._at(chosen) if isinstance(chosen, int) else [self._at(one) for one in chosen]


@dataclass(frozen=True, eq=False)
class TextColumn(Strings):
    """Distinct strings, one per task: UTF-8 bytes end to end, and the start of each.

    Parameters
    ----------
    data : uint8 array
        The bytes of all strings.
    offsets : int64 array, shape (n + 1,)
        String i is `data[offsets[i]:offsets[i + 1]]`.

    Examples
    --------
    >>> from simsched.graph import TextColumn
    >>> names = TextColumn.from_strings(["embed", "attend"])
    >>> names[1], names.offsets.tolist()
    ('attend', [0, 5, 11])
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def from_strings(cls, strings: Iterable[object]) -> TextColumn:
        """Store `strings`, each as returned by `plain_text`."""
        data, ends = bytearray(), array("q", [0])
        for encoded in map(_utf8, strings):
            data += encoded
            ends.append(len(data))
        return cls(np.frombuffer(bytes(data), np.uint8), np.array(ends, np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _at(self, i: int) -> str:
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes().decode("utf-8", "replace")

    def to_list(self) -> list[str]:
        """Return all strings."""
        raw, ends = self.data.tobytes(), self.offsets.tolist()
        return [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class LabelColumn(Strings):
    """Repeating strings, one per task: a code per task and the table of labels.

    Parameters
    ----------
    codes : int32 array, shape (n,)
        Index into `labels`.
    labels : tuple of str
        The distinct strings, in order of first appearance.

    Examples
    --------
    >>> from simsched.graph import LabelColumn
    >>> kinds = LabelColumn.from_strings(["MatMul", "Add", "MatMul"])
    >>> kinds.labels, kinds.codes.tolist(), kinds[2], kinds.counts.tolist()
    (('MatMul', 'Add'), [0, 1, 0], 'MatMul', [2, 1])
    """

    codes: npt.NDArray[np.int32]
    labels: tuple[str, ...]

    @classmethod
    def constant(cls, label: str, n: int) -> LabelColumn:
        """Return a column of `n` times the same label, whose codes are one in memory."""
        return cls(np.broadcast_to(np.int32(0), n), (plain_text(label),) if n else ())

    @classmethod
    def from_strings(cls, strings: Iterable[object]) -> LabelColumn:
        """Store `strings`, each as returned by `plain_text` and each distinct one once."""
        texts = [s if type(s) is str else plain_text(s) for s in strings]
        table = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(table.__getitem__, texts), np.int32, len(texts))
        plain = [plain_text(label) for label in table]
        if plain == list(table):
            return cls(codes, tuple(table))
        return cls.from_strings([plain[code] for code in codes.tolist()])

    @classmethod
    def from_codes(cls, codes: npt.NDArray[np.int32], strings: Sequence[str]) -> LabelColumn:
        """Store `strings[code]` for each code, as `from_strings` does.

        Examples
        --------
        >>> LabelColumn.from_codes(np.array([2, 0, 2], np.int32), ["Add", "Relu", "MatMul"])
        LabelColumn(codes=array([0, 1, 0], dtype=int32), labels=('MatMul', 'Add'))
        """
        n = len(codes)
        first = np.full(len(strings), n, np.int32)
        for begin in reversed(range(0, n, _BLOCK)):
            part = codes[begin : begin + _BLOCK][::-1]
            # Of equal codes, the last assignment stays.
            first[part] = np.arange(begin + len(part) - 1, begin - 1, -1, dtype=np.int32)
        order = np.argsort(first, kind="stable")[: np.count_nonzero(first < n)]
        labels = tuple(plain_text(strings[code]) for code in order.tolist())
        if len(labels) == 1:
            return cls.constant(labels[0], n)
        if len({*labels}) < len(labels):
            return cls.from_strings(strings[code] for code in codes.tolist())
        number, found = np.zeros(len(strings), np.int32), np.empty(n, np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        for begin in range(0, n, _BLOCK):
            found[begin : begin + _BLOCK] = number[codes[begin : begin + _BLOCK]]
        return cls(found, labels)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of occurrences of each label, shape (labels,)."""
        counts = np.bincount(self.codes, minlength=len(self.labels))
        counts.setflags(write=False)
        return counts

    def __len__(self) -> int:
        return len(self.codes)

    def _at(self, i: int) -> str:
        return self.labels[int(self.codes[i])]

    def to_list(self) -> list[str]:
        """Return all strings."""
        return [self.labels[c] for c in self.codes.tolist()]
