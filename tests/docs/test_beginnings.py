"""Pages begin with what the reader can do, or knows, after them."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
#: Pages that only list others, and the first page.
LISTS = {"explanation.md", "howto.md", "index.md", "reference.md", "tutorials.md"}
PAGES = [page for folder in (".", "howto", "formats") for page in sorted((DOCS / folder).glob("*.md"))]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in LISTS], ids=lambda page: str(page.relative_to(DOCS))
)
def test_the_first_sentence(page: Path) -> None:
    title, first, *_ = page.read_text(encoding="utf-8").split("\n\n")
    assert title.startswith("# ")
    assert first.startswith("After this page ")
