"""A damaged or forged file is refused with its name, the place and the value, and never otherwise."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.errors import FormatError
from simsched.graph import Recording, TaskGraph
from simsched.graph.storage import HEADER, read

Same = Callable[[TaskGraph, TaskGraph], None]
Edit = Callable[[dict[str, Any]], None]


def graph() -> TaskGraph:
    """Return 0 -> 1 -> 2, with names and a recording."""
    run = Recording(np.arange(3.0), np.arange(1.0, 4.0), np.zeros(3, np.int32), ("lane",))
    names = ["ä", "b", "c"]
    return TaskGraph.from_edges([1, 1, 1], [(0, 1), (1, 2)], names=names, shapes="2x3", recording=run)


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a file of `graph`."""
    path = tmp_path_factory.mktemp("saved") / "g"
    graph().save(path)
    return path.read_bytes()


def npy(array: Any) -> bytes:
    """Return an array in NumPy's format."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=(1, 0))
    return buffer.getvalue()


def forged(saved: bytes, changes: dict[str, bytes | None], **options: Any) -> bytes:
    """Return the archive with members replaced, added or (None) left out."""
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        members: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive:
        for name, data in (members | changes).items():
            if data is not None:
                archive.writestr(name, data)
    return buffer.getvalue()


def refused(path: Path, data: bytes, message: str) -> None:
    """Assert that reading the bytes raises the message, behind the file's name."""
    path.write_bytes(data)
    with pytest.raises(FormatError, match=f"^{re.escape(str(path))}: .*{re.escape(message)}"):
        read(path)


CHANGES = {
    "missing": ("indices.npy", None, "indices.npy: is missing; the file is damaged"),
    "type": ("indices.npy", npy(np.array([1, 2])), "indices.npy: holds <i8, expected <i4"),
    "big-endian": (
        "indices.npy",
        npy(np.array([1, 2], ">i4")),
        "indices.npy: is not a one-dimensional NumPy array",
    ),
    "length": ("indices.npy", npy(np.array([1], np.int32)), "indices.npy: has 1 entries, expected 2"),
    "two dimensions": (
        "indices.npy",
        npy(np.zeros((2, 1), np.int32)),
        "is not a one-dimensional NumPy array",
    ),
    "pickle": ("indices.npy", npy(np.array([None, 1])), "is not a one-dimensional NumPy array"),
    "no array": ("indices.npy", b"", "indices.npy: is not a one-dimensional NumPy array"),
    "cut off": (
        "indices.npy",
        npy(np.array([1, 2], np.int32))[:-1],
        "indices.npy: has 7 bytes for 2 entries",
    ),
    "bomb": (
        "names_data.npy",
        npy(np.array([1], np.uint8)).replace(b"(1,), }       ", b"(9999999,), } "),
        "names_data.npy: has 1 bytes for 9999999 entries",
    ),
    "outside": (
        "indices.npy",
        npy(np.array([1, 3], np.int32)),
        "indices.npy: entry 1 is 3, expected a task, 0 to 2",
    ),
    "negative": ("indices.npy", npy(np.array([-1, 2], np.int32)), "indices.npy: entry 0 is -1"),
    "self-loop": (
        "indices.npy",
        npy(np.array([1, 1], np.int32)),
        "indices.npy: entry 1 is a self-loop on task 1",
    ),
    "cycle": (
        "indices.npy",
        npy(np.array([1, 0], np.int32)),
        "a cycle: task 0 'ä' -> task 1 'b' -> task 0 'ä'",
    ),
    "pointer start": (
        "indptr.npy",
        npy(np.array([1, 1, 2, 2])),
        "indptr.npy: runs from 1 to 2, expected 0 to 2",
    ),
    "pointer end": (
        "indptr.npy",
        npy(np.array([0, 1, 2, 3])),
        "indptr.npy: runs from 0 to 3, expected 0 to 2",
    ),
    "pointer falls": (
        "indptr.npy",
        npy(np.array([0, 9, 2, 2])),
        "indptr.npy: entry 2 is 2, less than the one before",
    ),
    "duration": ("durations_s.npy", npy(np.array([1, -1.0, 1])), "task 1 has duration -1.0 seconds"),
    "width": ("widths.npy", npy(np.array([1, 0, 1], np.int32)), "task 1 was recorded with 0 threads"),
    "label": (
        "kinds.npy",
        npy(np.array([0, 0, 1], np.int32)),
        "kinds.npy: task 2 has label 1, expected 0 to 0",
    ),
    "names": ("names_data.npy", npy(np.frombuffer(b"\xff\xffbc", np.uint8)), "names_data.npy: 'utf-8' codec"),
    "within": (
        "names_offsets.npy",
        npy(np.array([0, 1, 3, 4])),
        "names_offsets.npy: a name starts within a character",
    ),
    "run": ("finish_s.npy", npy(np.array([1, 0, 1.0])), "task 1 was recorded from 1.0 to 0.0 seconds"),
    "lane": ("lanes.npy", npy(np.array([0, 1, 0], np.int32)), "task 1 was recorded on lane 1; there are 1"),
    "unknown": ("more.npy", b"", "more.npy: is not a member of version 2"),
    "no header": (HEADER, None, "simsched-taskgraph.json: is missing"),
    "no JSON": (HEADER, b"{", "simsched-taskgraph.json: is not JSON"),
    "no text": (HEADER, b"\xff", "simsched-taskgraph.json: is not JSON"),
    "no object": (HEADER, b"[]", "simsched-taskgraph.json: holds list, expected an object"),
    "deep": (HEADER, b"[" * 100_000, "simsched-taskgraph.json: is not JSON"),
    "surrogate": (HEADER, b'{"name": "\\ud800"}', "simsched-taskgraph.json: is not JSON"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_members(case: str, saved: bytes, tmp_path: Path) -> None:
    member, data, message = CHANGES[case]
    refused(tmp_path / "g.simsched", forged(saved, {member: data}), message)


def test_rows_ascend(saved: bytes, tmp_path: Path) -> None:
    """Task 0 with successors 2 and 1, or 1 twice."""
    for row in ([2, 1], [1, 1]):
        changes: dict[str, bytes | None] = {
            "indptr.npy": npy(np.array([0, 2, 2, 2])),
            "indices.npy": npy(np.array(row, np.int32)),
        }
        message = "indices.npy: entry 1 does not ascend among the successors of task 0"
        refused(tmp_path / "g", forged(saved, changes), message)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "other", "format is 'other', expected 'simsched-taskgraph'"),
        ("version", "1", "version is '1', expected 1 to 2"),
        ("version", True, "version is True, expected 1 to 2"),
        ("version", 3, "version 3 was written by a newer simsched (0."),
        ("tasks", -1, "tasks: Input should be greater than or equal to 0 (got -1)"),
        ("tasks", 2**40, f"tasks: Input should be less than or equal to 2147483647 (got {2**40})"),
        ("tasks", 3.0, "tasks: Input should be a valid integer (got 3.0)"),
        ("tasks", True, "tasks: Input should be a valid integer (got True)"),
        ("tasks", 4, "names_offsets.npy: has 4 entries, expected 5"),
        ("edges", 3, "indices.npy: has 2 entries, expected 3"),
        ("name", 1, "name: Input should be a valid string (got 1)"),
        ("names", False, "is not a member of version 2, or the header denies it"),
        ("names", None, "names: Input should be a valid boolean (got None)"),
        ("labels", {}, "labels.kinds: missing"),
        (
            "labels",
            {"kinds": [1], "shapes": [""], "scopes": [""]},
            "labels.kinds.0: Input should be a valid string (got 1)",
        ),
        ("labels", {"kinds": ["", ""], "shapes": [""], "scopes": [""]}, "labels.kinds: a label occurs twice"),
        ("labels", {"kinds": [""], "shapes": ["?"], "scopes": [""]}, "shape '?' is not written like"),
        ("lane_names", None, "is not a member of version 2, or the header denies it"),
        ("lane_names", "lane", "lane_names: expected a list (got 'lane')"),
        (
            "recorded_on",
            {"name": "x", "core_flops": "1", "core_bandwidth_Bps": None},
            "recorded_on.core_flops: Input should be a valid number (got '1')",
        ),
        *(
            (
                "recorded_on",
                {"name": "x", "core_flops": 1e9, "core_bandwidth_Bps": wrong},
                f"recorded_on: core_bandwidth_Bps is {shown}, expected a finite number above zero",
            )
            for wrong, shown in ((float("nan"), "nan"), (-1, "-1.0"), (0, "0.0"))
        ),
        (
            "recorded_on",
            {"name": "x", "core_flops": 10**400},
            "recorded_on.core_flops: Input should be a valid number (got 1000",
        ),
        ("report", None, "report: expected a table (got None)"),
        (
            "report",
            {"source": "s", "format": "f", "facts": [], "notes": []},
            "report.facts: expected a table (got [])",
        ),
    ],
)
def test_headers(key: str, value: Any, message: str, saved: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        header = json.loads(archive.read(HEADER)) | {key: value}
    refused(tmp_path / "g.simsched", forged(saved, {HEADER: json.dumps(header).encode()}), message)


def test_compressed_members_are_refused(saved: bytes, tmp_path: Path) -> None:
    data = forged(saved, {"more.npy": bytes(10**7)}, compression=zipfile.ZIP_DEFLATED)
    refused(tmp_path / "g.simsched", data, "is compressed or encrypted; members are stored as they are")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_stand_twice_are_refused(saved: bytes, tmp_path: Path) -> None:
    buffer = io.BytesIO(saved)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("widths.npy", b"")
    refused(tmp_path / "g.simsched", buffer.getvalue(), "widths.npy: occurs twice")


def test_many_members_are_looked_at_once_each(
    saved: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    infolist = zipfile.ZipFile.infolist

    def named(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        members = infolist(archive)
        for member in members:
            member.filename = Name(member.filename)
        return members

    monkeypatch.setattr(zipfile.ZipFile, "infolist", named)
    data = forged(saved, {f"more{i}": b"" for i in range(2000)})
    refused(tmp_path / "g.simsched", data, "is not a member of version 2")
    assert compared < 10 * 2000


def test_members_that_overlap_are_refused(saved: bytes, tmp_path: Path) -> None:
    """All entries of the directory claim the whole file: together more than it has."""
    directory = saved.index(b"PK\x01\x02")
    data = bytearray(saved)
    place = directory
    while (place := data.find(b"PK\x01\x02", place)) >= 0:
        data[place + 20 : place + 28] = (len(saved) - 100).to_bytes(4, "little") * 2
        place += 4
    refused(tmp_path / "g.simsched", bytes(data), f"bytes, the file has {len(saved)}")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(data=st.data())
def test_flipped_bytes(data: st.DataObject, saved: bytes, tmp_path: Path, assert_same: Same) -> None:
    damaged = bytearray(saved)
    for place in data.draw(st.lists(st.integers(0, len(saved) - 1), min_size=1, max_size=4)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    _equal_or_refused(tmp_path / "g", bytes(damaged), assert_same)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.data())
def test_cut_and_inserted(data: st.DataObject, saved: bytes, tmp_path: Path, assert_same: Same) -> None:
    start = data.draw(st.integers(0, len(saved)))
    end = data.draw(st.one_of(st.just(len(saved)), st.integers(start, len(saved))))
    damaged = saved[:start] + data.draw(st.binary(max_size=30)) + saved[end:]
    _equal_or_refused(tmp_path / "g", damaged, assert_same)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_with_right_checksums(data: st.DataObject, saved: bytes, tmp_path: Path) -> None:
    """Members are damaged and zipped again: what is read then is at least a possible graph."""
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        member = data.draw(st.sampled_from(archive.namelist()))
        content = bytearray(archive.read(member))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path / "g"
    path.write_bytes(forged(saved, {member: bytes(content)}))
    found = _read_or_refused(path)
    if found is not None:
        assert len(found.depths) == found.n_tasks


def _equal_or_refused(path: Path, data: bytes, assert_same: Same) -> None:
    path.write_bytes(data)
    found = _read_or_refused(path)
    if found is not None:
        assert_same(found, graph())


def _read_or_refused(path: Path) -> TaskGraph | None:
    try:
        return read(path)
    except FormatError as error:
        message = str(error)
    assert message.startswith(f"{path}: ")
    return None
