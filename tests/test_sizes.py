"""Files and functions that fit in one sitting, docstrings included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
FOLDERS = ("simsched", "hwmodels", "policies", "traces", "tests", "benchmarks", "docs", "notebooks")
CODE = {".py", ".cpp", ".hpp", ".inl", ".js", ".css"}


def _files() -> list[Path]:
    """Return all code; the links in simsched/ lead to folders that are visited themselves."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in CODE]
    return sorted({path.resolve() for path in [*found, ROOT / "conftest.py"]})


def _functions(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of each function of a Python file, and where it stands."""
    todo: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while todo:
        node = todo.pop()
        # No expression holds a function with lines of its own.
        todo.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            yield node.end_lineno - node.lineno + 1, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def _check(sizes: list[tuple[int, str]], most: int, middle: int) -> None:
    assert len(sizes) > 500, "the code was not found"
    long = [f"{place}: {lines} lines" for lines, place in sorted(sizes, reverse=True) if lines > most]
    assert not long, f"longer than {most} lines:\n" + "\n".join(long)
    assert median(lines for lines, _ in sizes) <= middle


def test_files_are_short():
    sizes = [(len(path.read_text("utf-8").splitlines()), str(path.relative_to(ROOT))) for path in _files()]
    _check(sizes, most=500, middle=150)


def test_functions_are_short():
    sizes = [size for path in _files() if path.suffix == ".py" for size in _functions(path)]
    _check(sizes, most=60, middle=10)
