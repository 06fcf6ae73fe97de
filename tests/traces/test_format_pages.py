"""The table of docs/formats.md and the page of each format: complete, and true to what is registered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simsched.plugins import named, registered

DOCS = Path(__file__).parents[2] / "docs"
#: `| [`csv`, `parquet`](formats/tables.md) | dependencies | times | options | written as |`
_ROW = re.compile(r"\| \[(?P<names>[^]]+)\]\((?P<page>[^)]+)\) \|.*\|.*\|(?P<options>.*)\|(?P<written>.*)\|")
_CODE = re.compile(r"`([^`]+)`")
ROWS = {
    name: found
    for found in _ROW.finditer((DOCS / "formats.md").read_text())
    for name in _CODE.findall(found["names"])
}


def test_the_table_has_every_format() -> None:
    assert sorted(ROWS) == sorted({*registered("formats"), *registered("writers")})


@pytest.mark.parametrize("name", sorted(ROWS))
def test_options_and_suffixes(name: str) -> None:
    row, page = ROWS[name], (DOCS / ROWS[name]["page"]).read_text()
    options = list(named("formats", name).options) if name in registered("formats") else []
    assert _CODE.findall(row["options"]) == options
    missing = [option for option in options if not re.search(rf"`{option}(?:=[^`]*)?`|\b{option}=", page)]
    assert missing == []
    suffixes = named("writers", name).suffixes if name in registered("writers") else ()
    told = _CODE.findall(row["written"])
    assert set(suffixes) <= set(told)
    assert bool(told) == bool(suffixes)
    assert ("schedules" in row["written"]) == (bool(suffixes) and named("writers", name).writes == "schedule")
