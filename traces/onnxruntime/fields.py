"""Checked access to the fields of one event of an ONNX Runtime profile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.graph.shapes import MAX_RANK
from simsched.traces.onnx.tensors import Tensor
from simsched.traces.shared.json_stream import shown

#: Beyond this many microseconds (52 days) nanoseconds no longer survive as float64 seconds.
MAX_US = 2**52 // 1000
LONGEST_ID = 80


@dataclass(frozen=True)
class Fields:
    """An object of the file, and where it stands, for messages.

    Parameters
    ----------
    file : Path
        The profile.
    place : int
        Index of the event in the file's list.
    values : mapping
        The object: the event, or one inside it.
    """

    file: Path
    place: int
    values: Mapping[str, Any]

    def wrong(self, key: str, value: object, expected: str) -> FormatError:
        """Return the error of a field that is not what it should be."""
        return FormatError(
            f"{self.file}: event {self.place} has {shown(key)[1:-1]} {shown(value)}; expected {expected}"
        )

    def inside(self, key: str) -> Fields:
        """Return the object in a field; an empty one where the field is missing."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, value, "an object")
        return Fields(self.file, self.place, value)

    def text(self, key: str) -> str:
        """Return a string; "" where it is missing."""
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(key, value, "a string")
        return plain_text(value)

    def count(self, key: str) -> int:
        """Return a count that must be there."""
        value = self.values.get(key)
        if type(value) is not int or not 0 <= value < 2**63:
            raise self.wrong(key, value, "a whole number of 0 or more")
        return value

    def times_us(self) -> tuple[int, int]:
        """Return start and finish, in microseconds since the session was made."""
        for key in ("ts", "dur"):
            if not 0 <= self.count(key) <= MAX_US // 2:
                raise self.wrong(key, self.values[key], f"at most {MAX_US // 2} microseconds")
        return self.values["ts"], self.values["ts"] + self.values["dur"]

    def thread(self) -> str:
        """Return process and thread."""
        return f"process {self._id('pid')} thread {self._id('tid')}"

    def _id(self, key: str) -> str:
        value = self.values.get(key)
        short = (
            len(value) <= LONGEST_ID if isinstance(value, str) else type(value) is int and abs(value) < 2**64
        )
        if not short:
            raise self.wrong(key, value, "a process or thread id")
        return plain_text(value)

    def digits(self, key: str) -> int:
        """Return a number that the profile writes as a string; 0 where it is missing."""
        value = self.values.get(key, "0")
        if not isinstance(value, str) or not (value.isascii() and value.isdigit()) or len(value) > 18:
            raise self.wrong(key, value, "a whole number as a string")
        return int(value)

    def tensors(self, key: str) -> tuple[Tensor, ...] | None:
        """Return the tensors of a list like `[{"float": [16, 3, 32, 32]}]`; None where it is missing."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(t, dict) and len(t) == 1 for t in value):
            raise self.wrong(key, value, 'a list like [{"float": [2, 3]}]')
        return tuple(self._tensor(key, *next(iter(t.items()))) for t in value)

    def _tensor(self, key: str, dtype: str, dims: object) -> Tensor:
        expected = f"a shape: at most {MAX_RANK} whole numbers of 0 or more, and at most 2**62 elements"
        if not isinstance(dims, list) or len(dims) > MAX_RANK:
            raise self.wrong(key, dims, expected)
        if not all(type(d) is int and d >= 0 for d in dims) or math.prod(dims) > 2**62:
            raise self.wrong(key, dims, expected)
        return Tensor(plain_text(dtype), tuple(dims))
