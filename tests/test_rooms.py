"""Imports run one way through the rooms: what a file imports, in functions too, is in its room or an earlier one.

A method that opens a later room when it is called (`Schedule.gantt`, `TaskGraph.draw`) asks `simsched.later` for it.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import simsched as ss

ROOT = Path(__file__).parents[1]
#: Each room may import those that stand before it; small things that every room may use come first, by their names.
SMALL = (
    "version", "rooms", "later", "drawing", "renamed", "text", "errors", "defaults", "notes", "units", "intervals",
    "spec", "parameters", "mistakes", "multimap", "plugins", "files", "frames", "system", "progress", "document",
)  # fmt: skip
ROOMS = (
    "native", "graph", "machine", "costs", "policy", "schedule", "replay", "explain", "exact", "workloads", "plots",
    "execute", "study", "learning", "sweep", "reproduce", "report", "panel", "testing", "cli",
)  # fmt: skip
ORDER = {name: place for place, name in enumerate([*SMALL, *ROOMS])}
#: What users may add too: found by entry point, each free to use all of simsched's rooms.
ADDED = ("hwmodels", "policies", "traces")
#: The published systems are added, too, by entry point, and one of them is a policy and how it cuts its graphs.
REPRODUCED = {("reproduce", "policies")}


@cache
def _imported(path: Path) -> list[tuple[str, str]]:
    """Return module and name of what a module imports anywhere, in functions, too, but for types alone."""
    todo: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    found = []
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        # No expression holds an import.
        todo.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
    return found


def _imports(folder: str) -> Iterator[tuple[Path, str, str]]:
    """Yield file, room and imported room for what the files of a folder import of other rooms."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] == "simsched" and (parts[1] in ADDED or parts[1] == "__init__"):
            continue  # links to the folders above, and the facade
        room = parts[1] if parts[0] == "simsched" else parts[0]
        for module, name in _imported(path):
            names = [*module.split("."), name] if name else module.split(".")
            if names[0] == "simsched" and names[1:] and names[1] != room:
                yield path.relative_to(ROOT), room, names[1]


def test_rooms_are_those_that_there_are():
    found = {path.name for path in (ROOT / "simsched").iterdir() if (path / "__init__.py").exists()}
    found |= {path.stem for path in (ROOT / "simsched").glob("*.py")}
    assert {name for name in found if not name.startswith("__")} - {*ADDED} == set(ORDER)


def test_imports_run_to_earlier_rooms():
    back = [
        f"{path} ({room}) imports {other}"
        for path, room, other in _imports("simsched")
        if room in ORDER
        and (room, other) not in REPRODUCED
        and not ORDER.get(other, len(ORDER)) < ORDER[room]
    ]
    assert not back, "\n".join(back)


def _modules() -> dict[str, Path]:
    """Return the files of all modules by their names."""
    files = [
        path
        for folder in ("simsched", *ADDED)
        for path in (ROOT / folder).rglob("*.py")
        if not any((ROOT / "simsched" / name) in path.parents for name in ADDED)
    ]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    full = [name if name.startswith("simsched.") else f"simsched.{name}" for name in names]
    return {name.removesuffix(".__init__"): path for name, path in zip(full, files, strict=True)}


def test_no_modules_import_each_other_in_a_circle():
    modules = _modules()
    imports = nx.DiGraph()
    for module, path in modules.items():
        for imported, name in _imported(path):
            found = f"{imported}.{name}" if f"{imported}.{name}" in modules else imported
            if found in modules and found != module:
                imports.add_edge(module, found)
    assert imports.number_of_edges() > 1000
    assert not [sorted(circle) for circle in nx.strongly_connected_components(imports) if len(circle) > 1]


@pytest.mark.parametrize("folder", ADDED)
def test_what_is_added_imports_rooms_alone(folder):
    imports = list(_imports(folder))
    assert imports
    beside = [f"{path} imports {other}" for path, _, other in imports if other not in ORDER]
    assert not beside, "\n".join(beside)


@pytest.mark.parametrize("name", ["machine", "policy", "execute", "explain", "report", "reproduce", "panel"])
def test_a_room_is_called_as_the_function_of_its_name(name):
    room = getattr(ss, name)
    assert inspect.ismodule(room)
    assert inspect.signature(room) == inspect.signature(getattr(room, name))
    assert room.__call__ is getattr(room, name)


@pytest.mark.parametrize("name", ["errors.SimschedError", "plots.gantt", "sweep.Range"])
def test_rooms_that_pages_name_are_there_without_an_import_of_their_own(name):
    run = f"import simsched as ss; assert {name.split('.')[0]!r} in dir(ss); ss.{name}"
    subprocess.run([sys.executable, "-c", run], check=True, timeout=60)
