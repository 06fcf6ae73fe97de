"""The package of docs/howto/own_package.md, made of the pages' own blocks, does what they say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
#: Pages that hold the files, and by what a file's block begins.
PAGES = ("howto/own_policy", "howto/own_machine", "howto/own_format", "howto/own_package")
NAMED = re.compile(
    r"^`(?P<name>[\w/]+\.py)`[^\n]*:\n\n```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def _text(page: str) -> str:
    return (DOCS / f"{page}.md").read_text("utf-8")


def _blocks(page: str, kind: str) -> list[str]:
    return [found["code"] for found in BLOCK.finditer(_text(page)) if found["kind"] == kind]


def _entries() -> dict[str, dict[str, str]]:
    (project,) = _blocks("howto/own_package", "toml")
    return tomllib.loads(project)["project"]["entry-points"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package, its files, and what an installer writes of it."""
    folder = tmp_path_factory.mktemp("own")
    files = {found["name"]: found["code"] for page in PAGES for found in NAMED.finditer(_text(page))}
    files["mypackage/__init__.py"] = ""
    files["mypackage/twelve.toml"] = _between(_text("howto/own_machine"), 'TEXT = """\n', '"""')
    files["mine.txt"] = (
        _between(_text("howto/own_format"), 'write_text("', '")').encode().decode("unicode_escape")
    )
    files["mypackage-0.1.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: mypackage\nVersion: 0.1\n"
    files["mypackage-0.1.dist-info/entry_points.txt"] = "".join(
        f"[{group}]\n" + "".join(f"{name} = {where}\n" for name, where in entries.items())
        for group, entries in _entries().items()
    )
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def _between(text: str, before: str, after: str) -> str:
    return text.partition(before)[2].partition(after)[0]


def _run(package: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=package, env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_page_has_the_line_of_its_own() -> None:
    lines = [tomllib.loads(block) for page in PAGES[:3] for block in _blocks(page, "toml")]
    groups: dict[str, dict[str, str]] = {}
    for line in lines:
        groups |= line["project"]["entry-points"]
    assert groups == _entries()


def test_the_command_line_finds_it(package: Path) -> None:
    (console,) = _blocks("howto/own_package", "console")
    commands = [shlex.split(line.removeprefix("$ simsched ")) for line in console.splitlines()]
    listed, run, compared = (_run(package, "-m", "simsched.cli.app", *command) for command in commands)
    assert "Twelve cores in pairs" in listed
    assert "longest-first" in run
    assert "longest-first[levels=0.5]" in compared


def test_python_finds_it(package: Path) -> None:
    (code, _) = _blocks("howto/own_package", "python")
    assert float(_run(package, "-c", code)) > 3.5, "the critical path, and what starting costs"


def test_it_passes_its_suites(package: Path) -> None:
    told = _run(
        package, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "tests/test_mine.py"
    )
    assert "3 passed" in told
