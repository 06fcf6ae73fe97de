"""A report as Markdown: its sentences and tables, for a pull request."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from simsched.document.tables import Table, markdown_table, markdown_text
from simsched.report.parts import Bullets, Chart, Facts, Folded, Paragraph, Part, Picture
from simsched.text import printable

if TYPE_CHECKING:
    from simsched.report.report import Report


def markdown(report: Report) -> str:
    """Return the report as Markdown, as forges show it; nothing in it that comes from a file is markup."""
    told = _list(report.sentences)
    sections = "".join(
        f"\n## {markdown_text(section.title)}\n\n{_parts(section.parts)}"
        for section in report.sections
        if any(_part(part) for part in section.parts)
    )
    return f"# {markdown_text(report.title)}\n\n**{markdown_text(report.headline)}**\n\n{told}{sections}"


def _parts(parts: Iterable[Part]) -> str:
    return "\n".join(filter(None, map(_part, parts)))


def _part(part: Part) -> str:
    """Return a part with a line end; nothing of pictures, whose numbers stand in the tables."""
    match part:
        case Paragraph():
            return f"{markdown_text(part.text)}\n"
        case Bullets():
            return _list(part.items)
        case Facts():
            return _table(
                Table(part.caption, ("", ""), [(key, str(value)) for key, value in part.facts.items()])
            )
        case Table():
            return _table(part)
        case Folded():
            # The title stands in HTML, where no backslash escapes.
            title = escape(printable(part.title))
            return f"<details><summary>{title}</summary>\n\n{_parts(part.parts)}\n</details>\n"
        case Picture() | Chart():
            return ""


def _list(items: Iterable[str]) -> str:
    return "".join(f"- {markdown_text(item)}\n" for item in items)


def _table(table: Table) -> str:
    return f"**{markdown_text(table.caption)}**\n\n{markdown_table(table.columns, table.rows)}"
