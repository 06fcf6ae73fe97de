"""Files that appear when they are complete: places where none can be are one clear line."""

import os
import secrets

import pytest

from simsched.errors import SimschedError
from simsched.files import check_place, read_bounded, replacing


@pytest.mark.parametrize("name", ["a" * 300, "a\0b", "loop", "folder", "nowhere/file"])
def test_what_cannot_be_a_file_is_refused_before_anything_is_written(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SimschedError), replacing(tmp_path / name) as file:
        file.write(b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "loop"]


def test_a_link_is_followed_and_a_failure_leaves_what_was_there(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "link").symlink_to("old")
    check_place(tmp_path / "link")
    with pytest.raises(TypeError), replacing(tmp_path / "link") as file:
        file.writelines([b"half", None])
    assert (tmp_path / "old").read_bytes() == b"old"
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "old").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_two_threads_that_write_one_file_do_not_share_what_they_write(tmp_path):
    with replacing(tmp_path / "file") as first, replacing(tmp_path / "file") as second:
        first.write(b"first")
        second.write(b"the second")
    assert (tmp_path / "file").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_planted_link_is_not_written(tmp_path, monkeypatch):
    (tmp_path / "victim").write_bytes(b"mine")
    (tmp_path / f".file.{os.getpid()}.part").symlink_to("victim")
    monkeypatch.setattr(secrets, "token_hex", lambda n: str(os.getpid()))
    with (
        pytest.raises(SimschedError, match="cannot be written: File exists"),
        replacing(tmp_path / "file") as file,
    ):
        file.write(b"x")
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_bounded_reads(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bounded(tmp_path / "file", 5) == b"12345"
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("file", "longer than 4 bytes"),
        ("pipe", "a pipe"),
        (".", "directory"),
        ("none", "No such"),
    ):
        with pytest.raises(SimschedError, match=why):
            read_bounded(tmp_path / name, 4)
