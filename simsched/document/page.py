"""Parts of a document as HTML; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable

from simsched.document.html import columns_table, facts_table, listed, text
from simsched.document.parts import Bullets, Facts, Folded, Markup, Paragraph, Part, Picture, Section, Table
from simsched.later import later


def page_parts(parts: Iterable[Part]) -> str:
    r"""Return parts as HTML.

    Raises
    ------
    MissingExtraError
        If a library that draws one of them is not installed.

    Examples
    --------
    >>> page_parts([Section("Ops", [Paragraph("a < b")])])
    '<h2>Ops</h2>\n<p>a &lt; b</p>\n'
    """
    return "".join(f"{_part(part)}\n" for part in parts)


def _part(part: Part) -> str:
    match part:
        case Paragraph():
            kind = ' class="verdict"' if part.strong else ""
            made = f"<p{kind}>{text(part.text)}</p>"
        case Bullets():
            made = listed(part.items)
        case Facts():
            made = facts_table(part.caption, part.facts)
        case Table():
            made = columns_table(part.caption, part.columns, part.rows)
        case Folded():
            made = f"<details>\n<summary>{text(part.title)}</summary>\n{page_parts(part.parts)}</details>"
        case Picture():
            drawn = later("plots").picture.inline_picture(part.draw, part.width, part.height, part.alt)
            made = f"<figure>{drawn}</figure>"
        case Markup():
            made = part.make()
        case Section():
            made = _section(part)
    return made


def _section(section: Section) -> str:
    title, parts, anchor = text(section.title), page_parts(section.parts), section.anchor
    if not anchor:
        return f"<h2>{title}</h2>\n{parts}".removesuffix("\n")
    heading = f'<h2 id="{anchor}-title">{title}</h2>'
    return f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n{heading}\n{parts}</section>'
