"""Rules of docs/semantics.md and the tests marked with them, read from the page and from the tests themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADING = re.compile(r"^(?P<level>#{3,4}) (?:\d+\. )?(?P<rule>.+)$", re.MULTILINE)
#: Fixtures that run a test on each engine.
ON_BOTH = {"engine", "replay"}


@dataclass(frozen=True)
class RuleTest:
    """A test marked with a rule: where it is, and whether it runs on each engine."""

    rule: str
    path: str
    name: str
    on_both: bool


def rules(page: str) -> list[str]:
    """Return the rules of a page: its headings of the third level, or those of the fourth below them."""
    found = [(len(match["level"]), match["rule"]) for match in HEADING.finditer(page)]
    below = [level for level, _ in found[1:]] + [0]
    return [rule for (level, rule), following in zip(found, below, strict=True) if following <= level]


def rules_of_semantics() -> list[str]:
    """Return the rules of replay."""
    return rules((ROOT / "docs/semantics.md").read_text("utf-8"))


def marked() -> Iterator[RuleTest]:
    """Yield every test marked with a rule, in the order of files and lines."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        yield from marked_in(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())


def marked_in(source: str, path: str) -> Iterator[RuleTest]:
    """Yield the tests of a file that are marked with a rule."""
    if "mark.rule(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            takes = {argument.arg for argument in node.args.args}
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.rule":
                    for given in decorator.args:
                        yield RuleTest(ast.literal_eval(given), path, node.name, bool(takes & ON_BOTH))
