"""CONTRIBUTING's map is true: what it names exists, and it names every room."""

import re
from pathlib import Path

import pytest

import simsched as ss

ROOT = Path(__file__).parents[1]
#: What users and `make` write.
MADE = ("SPEC.toml", "out/browser/")
FILES = re.compile(r"[a-z_/*]+(\.(py|toml|js|css|\*))?")


def rows():
    """Return the rows of the map: the paths of each, and what it names of them."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## The map")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ", 1) for line in text.splitlines() if line.startswith("| `")]
    return [(_paths(re.findall("`([^`]+)`", room)), re.findall("`([^`]+)`", says)) for room, says in cells]


def _paths(named):
    """Return paths from the root; the names behind the first of a folder stand in that folder."""
    folder = named[0].rpartition("/")[0] if not named[0].endswith("/") else ""
    return [name if "/" in name else f"{folder}/{name}" for name in named]


def _is_there(name, room):
    if hasattr(ss, name) or hasattr(ss.TaskGraph, name) or any(ROOT.glob(name)):
        return True
    folder = ROOT / room if room.endswith("/") else (ROOT / room).parent
    return any(folder.rglob(name.rstrip("/"))) or any(folder.rglob(f"{name}.*"))


@pytest.mark.parametrize(("paths", "named"), rows())
def test_what_a_row_names_exists(paths, named):
    assert all(any(ROOT.glob(path)) for path in paths)
    files = [name for name in named if FILES.fullmatch(name) and name not in (*MADE, "list")]
    assert [name for name in files if not any(_is_there(name, path) for path in paths)] == []


def test_every_room_and_every_small_file_has_a_row():
    paths = {path for row, _ in rows() for path in row}
    packages = {f"simsched/{one.parent.name}/" for one in ROOT.glob("simsched/*/__init__.py")}
    links = {f"simsched/{name}/" for name in ("hwmodels", "policies", "traces")}
    assert packages - links <= paths
    assert {"hwmodels/", "policies/", "traces/"} <= paths
    files = {one for one in ROOT.glob("simsched/*.py") if one.name != "__init__.py"}
    assert files <= {one for path in paths for one in ROOT.glob(path)}
