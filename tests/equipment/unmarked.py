"""Markdown read back as the text that it was made from."""

from __future__ import annotations

import re
from html import unescape


def unmarked(markdown: str) -> str:
    """Return text as it was before `simsched.document.markdown.markdown_text`."""
    return unescape(re.sub(r"\\([\\`*~$|\]_#+=-])", r"\1", markdown.replace("&#8203;", "")))
