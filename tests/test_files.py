"""Files that appear when they are complete: places where none can be are one clear line."""

import pytest

from simsched.errors import SimschedError
from simsched.files import check_place, replacing


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
