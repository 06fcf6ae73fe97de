"""Graphs from bytes and open files: as from the file, with messages that name the object."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.testing import seeds_in

STG = b"1\n0 0 0\n1 7 1 0\n2 0 1 1\n"
SEEDS = [
    seed for seeds in seeds_in(Path(__file__).parents[1] / "traces" / "seeds").values() for seed in seeds
]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.format}-{seed.name}")
def test_every_format(seed: Any) -> None:
    companions = {name: io.BytesIO(data) for name, data in seed.companions.items()}
    graph = ss.load(seed.main, format=seed.format, **seed.options, **companions)
    assert graph.n_tasks > 0
    if graph.report.format:
        assert graph.report.source == "<bytes>"


def test_compressed_bytes() -> None:
    assert ss.load(io.BytesIO(gzip.compress(STG))).durations_s.tolist() == [0.0, 7.0, 0.0]


def test_an_open_file_has_its_name_and_its_place(tmp_path: Path) -> None:
    path = tmp_path / "one.stg"
    path.write_bytes(b"x" + STG)
    with path.open("rb") as file:
        file.read(1)
        graph = ss.load(file)
        assert not file.closed
    assert (graph.n_tasks, graph.report.source) == (3, "one.stg")


class _Pipe(io.RawIOBase):
    """A file that can be read once, with a number as its name, as a process' output has."""

    name = 3

    def __init__(self, data: bytes) -> None:
        self._left = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part, self._left = self._left[:7], self._left[7:]
        buffer[: len(part)] = part
        return len(part)


def test_what_cannot_be_read_again() -> None:
    assert ss.load(_Pipe(STG)).n_tasks == 3


@pytest.mark.parametrize("content", [bytearray(STG), memoryview(STG)])
def test_other_bytes(content: Any) -> None:
    assert ss.load(content).n_tasks == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"what", "<bytes>: not a format that simsched reads"),
        (b"", "<bytes>: the file is empty"),
        (gzip.compress(STG, mtime=0)[:-9], "<bytes>: the compressed data is cut off"),
        (io.StringIO("1"), "<bytes>: not a binary file; open it with mode 'rb'"),
        (b'{"traceEvents": [', "<bytes>: the JSON is cut off at byte 17"),
    ],
)
def test_errors_name_the_object(content: Any, message: str) -> None:
    with pytest.raises(FormatError, match=f"^{re.escape(message)}"):
        ss.load(content)


def test_errors_name_the_file_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("{}")
    with path.open("rb") as file, pytest.raises(FormatError, match=f"^{re.escape(str(path))}: not a format"):
        ss.load(file)
    with path.open("rb") as file:
        file.close()
        with pytest.raises(FormatError, match=r"run\.json: reading it failed: .*closed file"):
            ss.load(file)


def test_notes_name_the_object() -> None:
    graph = ss.load(
        b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 0, "dur": 4, "pid": 1, "tid": 1}, {"ph"',
        tolerant=True,
    )
    assert any(note.startswith("<bytes>: the JSON is cut off") for note in graph.report.notes)
