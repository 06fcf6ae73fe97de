"""Finding a file and its format, and opening what may be compressed, cut off or a bomb."""

from __future__ import annotations

import bz2
import errno
import gc
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from simsched import plugins
from simsched.errors import FormatError, SpecError
from simsched.graph import TaskGraph, loading
from simsched.graph.budget import FLOOR_B, Budget
from simsched.graph.loading import find_file, load, open_plain, read_bounded


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A file of one task."""
    TaskGraph.from_edges([1]).save(tmp_path / "g.simsched")
    return tmp_path / "g.simsched"


@pytest.mark.parametrize("collects", [True, False])
def test_cycles_are_not_searched_for_while_a_file_is_read(
    saved: Path, monkeypatch: pytest.MonkeyPatch, collects: bool
) -> None:
    """Nor is what the caller chose changed, also not by an error."""
    seen: list[bool] = []
    monkeypatch.setattr(loading, "find_file", lambda path: (seen.append(gc.isenabled()), path)[1])
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        load(saved)
        with pytest.raises(FormatError):
            load(saved, limit="1B")
        assert (seen, gc.isenabled()) == ([False, False], collects)
    finally:
        (gc.enable if before else gc.disable)()


def test_the_suffix_gz_is_optional(tmp_path: Path) -> None:
    (tmp_path / "a.json").touch()
    (tmp_path / "b.json.gz").touch()
    assert find_file(tmp_path / "a.json.gz") == tmp_path / "a.json"
    assert find_file(str(tmp_path / "b.json")) == tmp_path / "b.json.gz"


@pytest.mark.parametrize(
    ("path", "problem"), [("none", "no such file"), ("", "this is a folder"), ("a\0b", "no such")]
)
def test_no_file(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        find_file(tmp_path / path)


@pytest.mark.parametrize("path", ["", ".", "x" * 5000])
def test_odd_paths(path: str) -> None:
    with pytest.raises(FormatError):
        load(path)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(FormatError, match="empty: the file is empty, as a recorder that dies"):
        load(tmp_path / "empty")


def test_an_unknown_format(tmp_path: Path, saved: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(
        FormatError, match=r"text: not a format that simsched reads; it starts with b'he.*taskgraph"
    ):
        load(tmp_path / "text")
    with pytest.raises(SpecError, match="no format is called 'none'; there are: "):
        load(saved, format="none")


def test_a_reader_that_cannot_be_imported_does_not_keep_others(
    tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = {
        "absent": (EntryPoint("absent", "no_such_module_at_all:READER", "simsched.formats"),),
        "taskgraph": plugins.registered("formats")["taskgraph"],
    }
    monkeypatch.setattr(loading, "registered", lambda _: entries)
    monkeypatch.setattr(plugins, "registered", lambda _: entries)
    assert load(saved).n_tasks == 1
    (tmp_path / "text").write_text("hello")
    with pytest.raises(
        FormatError, match=r"'absent' of .* cannot be loaded: .*No module named 'no_such_module_at_all'"
    ):
        load(tmp_path / "text")


def test_compressed_or_not_is_told_by_content(tmp_path: Path) -> None:
    (tmp_path / "plain.gz").write_bytes(b"hello")
    (tmp_path / "packed").write_bytes(gzip.compress(b"hel") + gzip.compress(b"lo"))
    for name in ("plain.gz", "packed"):
        with open_plain(tmp_path / name) as stream:
            assert stream.read() == b"hello"


@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path, packed: bool) -> None:
    text = b"\xef\xbb\xbf" + b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 0, "dur": 1}]}'
    (tmp_path / "marked").write_bytes(gzip.compress(text) if packed else text)
    assert load(tmp_path / "marked").kinds.to_list() == ["a"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (bytes(99), "nothing but blanks or zero bytes"),
        (b" \n\n", "nothing but blanks or zero bytes"),
        (b'{"metadata": "' + b"x" * 99, r"it starts with .*; if it is one of .*, say which by format="),
    ],
    ids=["zeros", "blank", "other"],
)
def test_what_no_reader_takes(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "odd").write_bytes(data)
    with pytest.raises(FormatError, match=said):
        load(tmp_path / "odd")


def test_bombs_are_refused(tmp_path: Path) -> None:
    """A megabyte of zeros shrinks about a thousand times, and is refused before what follows is decompressed."""
    (tmp_path / "bomb").write_bytes(b"".join([gzip.compress(bytes(1 << 20))] * 99))
    pieces: list[int] = []
    with pytest.raises(
        FormatError, match=r"bomb: becomes more than \d+\.\d+ MB when decompressed, .* limit=\d+ MB"
    ):
        _read_into(pieces, tmp_path / "bomb")
    assert FLOOR_B / 2 < sum(pieces) < 2 * FLOOR_B


def _read_into(pieces: list[int], path: Path) -> None:
    with open_plain(path) as stream:
        while part := stream.read(1 << 16):
            pieces.append(len(part))


def test_a_limit_is_one_for_all_files(tmp_path: Path) -> None:
    text = "duration_s\n" + "1\n" * 1000
    (tmp_path / "a.tasks.csv").write_text(text)
    (tmp_path / "a.edges.csv").write_text("before,after\n" + "1,2\n" * 1000)
    assert load(tmp_path / "a.tasks.csv", limit="24 kB").n_tasks == 1000
    with pytest.raises(
        FormatError, match=r"a\.tasks\.csv: more than 999 tasks, the most within limit=24 kB; raise"
    ):
        load(tmp_path / "a.tasks.csv", limit=23_999.0)
    (tmp_path / "b.csv").write_text(text + " " * 20_000)
    with pytest.raises(FormatError, match=r"a\.edges\.csv: becomes more than 25 kB when decompressed"):
        load(tmp_path / "b.csv", format="csv", edges=tmp_path / "a.edges.csv", limit="25kB")
    with pytest.raises(
        FormatError, match=r"a\.tasks\.csv: limit is '8 apples'; expected a number of bytes above zero"
    ):
        load(tmp_path / "a.tasks.csv", limit="8 apples")


def test_what_grows_with_the_file_is_read(tmp_path: Path) -> None:
    """Real traces shrink 10 to 40 times; what a file may hold grows with the part of it that was read."""
    found, path = Budget(), tmp_path / "g.gz"
    for read_B in range(0, 10**7, 10**5):
        found.expanded(path, read_B, 40 * read_B)
        found.check(path, FLOOR_B // 24 + read_B, "tasks")
    with pytest.raises(FormatError, match=r"g\.gz: more than \d+ edges"):
        found.check(path, 10**9, "edges")


def test_memory_that_runs_out_is_said(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("simsched.graph.stored.labels", fail)
    with pytest.raises(
        FormatError, match=r"g\.simsched: reading it takes more memory than there is; record or"
    ):
        load(saved)


def test_a_cut_off_file(tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(gzip.compress(b"hello")[:-9])
    with (
        pytest.raises(FormatError, match=r"cut: the compressed data is cut off; was it copied completely\?"),
        open_plain(tmp_path / "cut") as stream,
    ):
        stream.read()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damaged_gzip(data: st.DataObject, tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"hello, hello, hello"))
    packed[data.draw(st.integers(2, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    (tmp_path / "damaged").write_bytes(packed)
    try:
        with open_plain(tmp_path / "damaged") as stream:
            found = stream.read()
    except FormatError:
        return
    assert found == b"hello, hello, hello"


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_mark_of_utf_8_is_passed_over(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    for name, content, kept in (
        ("marked", b"\xef\xbb\xbf1\n0 0 0", b"1\n0 0 0"),
        ("short", b"\xef\xbb", None),
    ):
        (tmp_path / name).write_bytes(packed(content))
        with open_plain(tmp_path / name) as stream:
            assert stream.read() == (kept or content)


def test_tables_of_others_are_told_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("id,name,runtime,deps\n1,a,2.5,\n")
    with pytest.raises(
        FormatError, match=r"b'id,name,.*; a CSV table of tasks has a column duration_s, in seconds"
    ):
        load(tmp_path / "jobs.csv")


def test_reading_stops_at_the_bound(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(bytes(100_000))
    with open_plain(tmp_path / "long") as stream:
        assert len(read_bounded(stream, 70_000)) == 70_000
        assert len(read_bounded(stream, 70_000)) == 30_000


@pytest.mark.parametrize(
    ("suffix", "packed", "advice"),
    [
        (".bz2", bz2.compress, r"this is bzip2 data, .* \(bunzip2 --keep g\.bz2\)"),
        (".gz", lambda data: gzip.compress(gzip.compress(data)), r"this is gzip data inside gzip data, .*"),
        (
            ".txt",
            lambda data: "2\n0 0 0".encode("utf-16"),
            r"text in UTF-16, expected UTF-8; iconv .* g\.txt converts",
        ),
        (".xz", lzma.compress, r"this is xz data, .* \(unxz --keep g\.xz\)"),
        (".zst", lambda data: b"\x28\xb5\x2f\xfd" + data, r"this is zstd data, .* \(unzstd g\.zst\)"),
        (".zip", lambda data: _archive(zipfile.ZipFile, data), r"this is a zip archive, .* \(unzip g\.zip\)"),
        (".tar", lambda data: _archive(tarfile.open, data), r"this is a tar archive, .* \(tar xf g\.tar\)"),
        (
            ".tgz",
            lambda data: gzip.compress(_archive(tarfile.open, data)),
            r"a tar archive, .* \(tar xf g\.tgz\)",
        ),
    ],
)
def test_other_packers_are_named_with_the_command(
    tmp_path: Path, saved: Path, suffix: str, packed: Callable[[bytes], bytes], advice: str
) -> None:
    (tmp_path / f"g{suffix}").write_bytes(packed(saved.read_bytes()))
    with pytest.raises(FormatError, match=advice):
        load(tmp_path / f"g{suffix}")


def _archive(opened: Any, content: bytes) -> bytes:
    buffer = io.BytesIO()
    if opened is zipfile.ZipFile:
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("trace.json", content)
    else:
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            member = tarfile.TarInfo("trace.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(FormatError, match="this is a pipe or a device, not a file; save what it gives"):
            load(path)


def test_links(tmp_path: Path, saved: Path) -> None:
    (tmp_path / "good").symlink_to(saved)
    (tmp_path / "bad").symlink_to(tmp_path / "gone")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert load(tmp_path / "good").n_tasks == 1
    for name in ("bad", "round"):
        with pytest.raises(FormatError, match=f"{name}: (this link leads nowhere|Too many levels)"):
            load(tmp_path / name)


def test_permission_denied(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("simsched.files.os.open", refuse)
    with pytest.raises(FormatError, match=r"g\.simsched: Permission denied"):
        load(saved)


def test_a_file_that_goes_or_shrinks_between_looking_and_reading(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved.read_bytes()
    for left in (None, b"", content[:40]):
        saved.write_bytes(content)
        monkeypatch.setattr(loading, "_recognised", lambda file, left=left: _changed(file, left))
        with pytest.raises(FormatError, match=r"g\.simsched: "):
            load(saved)


def _changed(file: Path, left: bytes | None) -> str:
    file.unlink()
    if left is not None:
        file.write_bytes(left)
    return "taskgraph"


def test_control_characters_in_names_are_shown_as_escapes(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J\u202eb"
    for content in (b"", b"hello"):
        path.write_bytes(content)
        with pytest.raises(FormatError) as caught:
            load(path)
        assert "a\\x1b[2J\\u202eb" in str(caught.value)
        assert str(caught.value).isprintable()
