"""Files that appear when they are complete: places where none can be are one clear line."""

import os
import secrets
from pathlib import Path

import pytest

import simsched as ss
from simsched.costs.fitting import calibration_file
from simsched.errors import FormatError, SimschedError
from simsched.files import MOST_PARTS, check_place, parse_toml, read_small, replacing
from simsched.learning import file as learned_file
from simsched.sweep.sweep_file import read_sweep
from simsched.text import MOST_LINE

READERS = {
    ".dot": ss.load,
    ".toml": lambda path: ss.machine(str(path)),
    ".xml": lambda path: ss.machine(str(path)),
    ".spec.toml": read_sweep,
    ".learned.toml": learned_file._content,
    ".json": calibration_file._object,
}


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


@pytest.mark.parametrize("ending", READERS)
def test_no_reader_waits_for_a_pipe_or_reads_a_device(tmp_path, ending):
    """The pipe has no writer, so that opening it would not end; `/dev/zero` would not either."""
    os.mkfifo(tmp_path / f"pipe{ending}")
    (tmp_path / f"zero{ending}").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(
            SimschedError, match=f"{name}{ending}: this is a pipe or a device, not a file; save what"
        ):
            READERS[ending](tmp_path / f"{name}{ending}")


@pytest.mark.parametrize("ending", READERS)
def test_files_that_the_kernel_makes_up_are_not_read(tmp_path, ending):
    """Reading `/proc/kmsg` waits for a message and takes it away from its reader; `/proc/kcore` has 128 TB."""
    (tmp_path / f"kernel{ending}").symlink_to("/proc/version")
    with pytest.raises(
        SimschedError, match=f"kernel{ending}: this is made by the kernel or a device, not a file; copy"
    ):
        READERS[ending](tmp_path / f"kernel{ending}")


@pytest.mark.parametrize("ending", [ending for ending in READERS if ending.endswith("toml")])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "1" * 5000, "not a TOML file: Exceeds the limit"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a = \xb2", "not a TOML file"),
        ("a." * 100_000 + "b = 1", "a key of more than 256 parts"),
        ("a = { " + "b . " * 100_000 + "c = 1 }", "a key of more than 256 parts"),
    ],
    ids=["digits", "nested", "no UTF-8", "key", "key in a table"],
)
def test_toml_that_tomllib_does_not_survive(tmp_path, ending, text, said):
    path = tmp_path / f"odd{ending}"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(SimschedError, match=said) as raised:
        READERS[ending](path)
    assert len(str(raised.value)) < 600


def test_toml_keeps_its_points():
    numbers = ", ".join(["0.5"] * 1000)
    assert (
        parse_toml("m.toml", f"a = [{numbers}]\n{'.'.join('x' * MOST_PARTS)} = 1".encode())["a"]
        == [0.5] * 1000
    )


def test_messages_are_short_whatever_a_file_holds(tmp_path):
    (tmp_path / "a.tasks.csv").write_text("task,duration_s\na,1\n")
    (tmp_path / "a.edges.csv").write_text("before,after\na," + "x" * 100_000 + "\n")
    with pytest.raises(
        SimschedError, match=r"edge 0 .'a' -> 'xxx.* names a task that is not there$"
    ) as raised:
        ss.load(tmp_path / "a.tasks.csv")
    assert len(str(raised.value)) <= MOST_LINE
    escaped = FormatError("\0" * 100_000 + ": what to do")
    assert len(str(escaped)) <= MOST_LINE
    assert str(escaped).endswith(": what to do")
    many = FormatError("m.toml: 1000 mistakes:", ["x" * 10**6] * 1000)
    assert len(str(many)) < 102 * 600
    assert str(many).endswith("and 900 more")


def test_a_machine_file_is_bounded(tmp_path):
    path = Path(tmp_path, "large.toml")
    path.write_bytes(b"#" * (1 << 23))
    with pytest.raises(SimschedError, match="larger than 4194304 bytes, which no machine file is"):
        ss.machine(str(path))


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
    assert read_small(tmp_path / "file", 5, "note") == b"12345"
    for name, why in (
        ("file", "larger than 4 bytes, which no note is"),
        (".", "folder"),
        ("none", "no such"),
    ):
        with pytest.raises(SimschedError, match=why):
            read_small(tmp_path / name, 4, "note")
