"""The pages of docs/machines say what the machine files say."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import simsched as ss
from simsched.machine.schema import Caches, Cores, EffectsTable, MemoryTable, Mode, Runtime
from simsched.plugins import registered

DOCS = Path(__file__).parents[2] / "docs"
MACHINES = [name for name in registered("machines") if name != "host"]


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make", DOCS / "machines" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", MACHINES)
def test_a_page_has_every_number_as_its_file_has_it(make, name):
    page = DOCS / "machines" / f"{name}.md"
    text = page.read_text("utf-8")
    assert text == make.refreshed(page), "out of date: python docs/machines/make.py"
    for fact in ss.machine(name).facts:
        row = next(line for line in text.splitlines() if line.startswith(f"| `{fact.key}` |"))
        assert row.endswith(f"| {fact.unit} | {fact.source} | {fact.confidence} |")
    assert "## Not modelled" in text
    assert page.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_every_machine_has_a_page_and_stands_in_the_index(make):
    assert [page.stem for page in make.pages()] == sorted(MACHINES)
    index = (DOCS / "machines.md").read_text("utf-8")
    for name in MACHINES:
        assert f"[{name}](machines/{name}.md)" in index


def test_what_was_measured_of_the_machines_of_today_stands_in_the_page_of_validity():
    """Every machine has a row, with its label; one without a measured value says so."""
    page = (DOCS / "validity.md").read_text("utf-8")
    listed = tomllib.loads((DOCS.parent / "benchmarks/measured/chips.toml").read_text("utf-8"))["machine"]
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for one in listed:
        assert one["name"] in MACHINES
        assert one["label"] in ("fit", "endpoints given", "predicted")
        assert rows[one["name"]].startswith(f"| `{one['name']}` | {one['label']} | {one['has']} | ")
    assert "no measured bandwidth was found" in rows["epyc-9965"]


def test_the_index_has_every_key_of_machine_files_and_whether_it_may_be_left_out():
    rows = [line.split("|") for line in (DOCS / "machines.md").read_text("utf-8").splitlines() if "|" in line]
    told = {key: bool(star) for row in rows for key, star in re.findall(r"`([a-z0-9_.]+)`(\*?)", row[1])}
    tables = {
        "cores": Cores,
        "memory": MemoryTable,
        "caches": Caches,
        "runtime": Runtime,
        "effects": EffectsTable,
    }
    for table, model in tables.items():
        for key, field in model.model_fields.items():
            if (table, key) != ("memory", "modes"):
                assert told[f"{table}.{key}"] is not field.is_required(), f"{table}.{key}"
    for key, field in Mode.model_fields.items():
        if key != "title":
            assert told[f"{key}.any" if "latency" in key else key] is not field.is_required(), key


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_recalled_or_assumed_is_marked(name):
    for fact in ss.machine(name).facts:
        if re.search(r"\b(recalled|assumed)\b", fact.source):
            assert fact.confidence == "unverified", fact
