"""OTF2 archives for tests: by hand, byte for byte, or written by the library of OTF2."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .archives import Sketch, written

CHUNK_B = 256 * 1024
END = bytes([2, 1])


class Bytes:
    """An archive by hand, of one region and one thread unless more is written.

    Parameters
    ----------
    folder : Path
    big : bool
        Whether numbers begin with their most significant byte.
    """

    def __init__(self, folder: Path, big: bool = False) -> None:
        self.folder, self.big = folder, big
        self.order = ">" if big else "<"
        self.anchor = self._anchor()
        self.definitions = [
            self.record(5, self.whole(10**9) + self.whole(100) + self.whole(1000)),
            self.record(10, self.whole(0) + b"work\0"),
            self.record(10, self.whole(1) + b"thread\0"),
            self.record(13, self.whole(0) + self.whole(1) + b"\1" + self.whole(-1)),
            self.location(3),
            self.region(0, 0),
        ]
        self.events: dict[int, list[bytes]] = {3: [self.at(100), self.enter(0), self.at(1100), self.leave(0)]}
        self.local: dict[int, list[bytes]] = {}

    def whole(self, number: int) -> bytes:
        if number < 0:
            return b"\xff"
        size = (number.bit_length() + 7) // 8
        return bytes([size]) + number.to_bytes(size, "big" if self.big else "little")

    def full(self, number: int) -> bytes:
        return struct.pack(f"{self.order}Q", number)

    def record(self, kind: int, fields: bytes) -> bytes:
        if len(fields) < 255:
            return bytes([kind, len(fields)]) + fields
        return bytes([kind, 255]) + self.full(len(fields)) + fields

    def location(self, number: int, process: int = 0, kind: int = 1) -> bytes:
        fields = self.whole(number) + self.whole(1) + bytes([kind]) + self.whole(9) + self.whole(process)
        return self.record(14, fields)

    def region(self, number: int, name: int, role: int = 1, paradigm: int = 1) -> bytes:
        fields = [self.whole(number), self.whole(name), self.whole(name), b"\0", self.whole(-1), b"\0", b"\0"]
        return self.record(15, b"".join([*fields, self.whole(name), bytes([role, paradigm]), b"\0"]))

    def at(self, ticks: int) -> bytes:
        return b"\5" + self.full(ticks)

    def enter(self, region: int) -> bytes:
        return b"\x0c" + self.whole(region)

    def leave(self, region: int) -> bytes:
        return b"\x0d" + self.whole(region)

    def write(self) -> Path:
        """Write the files, and return the anchor's path."""
        (self.folder / "run").mkdir(parents=True, exist_ok=True)
        (self.folder / "run.otf2").write_bytes(self.anchor)
        (self.folder / "run.def").write_bytes(self.chunk(b"".join(self.definitions) + END))
        for location, events in self.events.items():
            (self.folder / "run" / f"{location}.evt").write_bytes(self.chunk(b"".join(events) + END))
        for location, definitions in self.local.items():
            (self.folder / "run" / f"{location}.def").write_bytes(self.chunk(b"".join(definitions) + END))
        return self.folder / "run.otf2"

    def chunk(self, content: bytes) -> bytes:
        return bytes([3, 0x23 if self.big else 0x42]) + self.full(1) + self.full(0) + content

    def _anchor(self, substrate: int = 1, chunk_B: int = CHUNK_B, definitions_B: int = CHUNK_B) -> bytes:
        head = bytes([3, 0x23 if self.big else 0x42]) + b"OTF2\0" + bytes([3, 2, 3, 2, 0])
        return (
            head
            + self.full(chunk_B)
            + self.full(definitions_B)
            + bytes([substrate, 1])
            + bytes(16)
            + b"Linux\0hand\0\0"
        )


@pytest.fixture
def by_hand(tmp_path: Path) -> Bytes:
    return Bytes(tmp_path / "archive")


@pytest.fixture
def sketched(tmp_path: Path) -> Callable[[Callable[[Sketch], Any]], Path]:
    """Return a function that writes an archive by the library, and returns its folder."""
    pytest.importorskip("otf2")

    def write(what: Callable[[Sketch], Any]) -> Path:
        written(what, tmp_path / "sketched")
        return tmp_path / "sketched"

    return write
