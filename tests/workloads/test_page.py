"""The page of workloads says what they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from simsched.cli.list import lines
from simsched.plugins import registered

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "workloads.md"


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make", DOCS / "workloads" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_counts_are_those_of_the_graphs(make) -> None:
    text = PAGE.read_text("utf-8")
    assert text == make.refreshed(text), "out of date: python docs/workloads/make.py"


def test_every_workload_has_its_row_its_sizes_and_its_picture(make) -> None:
    text = PAGE.read_text("utf-8")
    for name in registered("workloads"):
        assert f"| `{name}` |" in text
        assert any(spec.partition("[")[0] == name for spec in make.DRAWN.values())
        assert any(spec.partition("[")[0] == name for spec in make.COUNTED)
    for name in make.DRAWN:
        assert f"](workloads/{name}.png)" in text
        assert (DOCS / "workloads" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("line", [line for line in lines("workloads") if not line.startswith(" ")])
def test_parameters_stand_on_the_page(line) -> None:
    text = PAGE.read_text("utf-8")
    for parameter in line.partition("[")[2].rstrip("]").split(","):
        assert f"`{parameter.partition('=')[0]}=" in text
