"""Checks that are ignored outside tests say why, on their line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("simsched", "hwmodels", "policies", "traces", "benchmarks", "docs", "notebooks")
_BARE = re.compile(r"#\s*(type: ignore(\[[^]]*\])?|noqa(:\s*[A-Z0-9, ]+)?)\s*$")


@pytest.mark.parametrize("room", ROOMS)
def test_each_says_why(room: str) -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if _BARE.search(line)
    ]
    assert bare == []
