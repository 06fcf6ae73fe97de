"""Every rule of docs/semantics.md has tests on both engines, and the page shows them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SITE = runpy.run_path(str(Path(__file__).parents[2] / "docs/site_rules.py"))
MARKED = list(SITE["marked"]())


@pytest.mark.parametrize("rule", SITE["rules_of_semantics"]())
def test_a_rule_has_a_test(rule: str) -> None:
    assert [test.name for test in MARKED if test.rule == rule]


@pytest.mark.parametrize("test", MARKED, ids=lambda test: test.name)
def test_a_marked_test_has_a_rule_and_runs_on_both_engines(test: object) -> None:
    assert test.rule in SITE["rules_of_semantics"]()
    assert test.on_both


def test_rules_are_the_lowest_headings() -> None:
    page = "# Page\n\n### 1. First\n\n### 2. Second\n\n#### Part\n\n#### Other\n\n## Next\n\n### Third\n"
    assert SITE["rules"](page) == ["First", "Part", "Other", "Third"]


def test_a_test_on_one_engine_is_told_from_one_on_both() -> None:
    source = """
import pytest

@pytest.mark.rule("First", "Second")
def test_one(): ...

@pytest.mark.rule("First")
def test_both(engine): ...
"""
    found = [(test.rule, test.name, test.on_both) for test in SITE["marked_in"](source, "tests/test_x.py")]
    assert found == [
        ("First", "test_one", False),
        ("Second", "test_one", False),
        ("First", "test_both", True),
    ]
