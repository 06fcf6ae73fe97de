"""Each published system has a page that shows all its tables."""

from dataclasses import fields
from pathlib import Path

import pytest

from simsched.plugins import registered
from simsched.reproduce import system_of

PAGES = Path(__file__).parents[2] / "docs/reproduce"


@pytest.mark.parametrize("name", registered("reproductions"))
def test_a_page_shows_every_table(name):
    system = system_of(name)
    text = (PAGES / f"{name}.md").read_text("utf-8")
    for quantity in system.published().quantities:
        assert f"### {quantity.table}: {quantity.name}" in text, "out of date: python docs/reproduce/make.py"
    for statement in system.published().statements:
        assert f"| {statement.words} |" in text, "out of date: python docs/reproduce/make.py"
    assert text.count(".png>)") == len(system.pictures())
    for choice in fields(system):
        assert f"`{choice.name}" in text, f"the choice {choice.name} and its effect are not on the page"
