"""The site's search: each word is stemmed once for all pages."""

from __future__ import annotations

from functools import cache

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish


class SearchOnce(SearchEnglish):
    """English, as Sphinx has it, which stems each word of each page anew."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._stems = cache(super().stem)

    def stem(self, word: str) -> str:
        """Return the stem of a word."""
        return self._stems(word)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx the language."""
    app.add_search_language(SearchOnce)
    return {"parallel_read_safe": True}
