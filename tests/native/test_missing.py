"""Without the compiled module everything works, and one warning says how to get it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simsched import native
from simsched.errors import NativeMissingWarning
from simsched.graph import TaskGraph
from simsched.native.building import how_to_get


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As after an install without a compiler."""
    _hide(monkeypatch, None)
    yield
    native.core.cache_clear()


def _hide(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    monkeypatch.delattr(native, "_core", raising=False)
    monkeypatch.setitem(sys.modules, "simsched.native._core", module)
    native.core.cache_clear()


@pytest.mark.usefixtures("missing")
def test_one_warning_says_how_to_get_it() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert native.core() is None
    assert [w.category for w in caught] == [NativeMissingWarning]
    message = str(caught[0].message)
    assert message.startswith("the compiled module is missing, so everything runs in Python, more slowly; ")
    assert message.endswith(how_to_get())


@pytest.mark.parametrize(
    ("compiler", "header", "message"),
    [
        (False, True, "install a C++ compiler (Debian: apt install g++) and then simsched again"),
        (True, False, "install Python's headers (Debian: apt install python3-dev) and then simsched again"),
        (False, False, "a C++ compiler and Python's headers (Debian: apt install g++ python3-dev) and then"),
        (True, True, "pip -v shows why it was not built"),
    ],
)
def test_what_to_install_is_what_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compiler: bool, header: bool, message: str
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    if compiler:
        (tmp_path / "clang++").touch(mode=0o755)
    if header:
        (tmp_path / "Python.h").touch()
    assert message in how_to_get()
    assert "pip install --force-reinstall --no-deps ." in how_to_get()


@pytest.mark.usefixtures("missing")
def test_find_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert native.find() is None


@pytest.mark.usefixtures("missing")
def test_everything_works_in_python() -> None:
    """0 (1 s) -> 1 (2 s) -> 2 (4 s): levels 7, 6, 4."""
    graph = TaskGraph.from_edges([1, 2, 4], [(0, 1), (1, 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NativeMissingWarning)
        assert graph.levels().tolist() == [7, 6, 4]
        assert graph.depths.tolist() == [0, 1, 2]
        assert graph.critical_path() == [0, 1, 2]
        assert TaskGraph.from_edges([], []).levels().tolist() == []


def test_a_module_that_does_not_load_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ImportError("undefined symbol: x")

    monkeypatch.setattr(native, "_imported", broken)
    native.core.cache_clear()
    with pytest.warns(
        NativeMissingWarning, match="does not load \\(undefined symbol: x\\), so everything runs"
    ):
        assert native.core() is None
    native.core.cache_clear()
