"""Documents as Markdown, as forges show it; nothing in it that comes from a file is markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from simsched.document.parts import Bullets, Document, Facts, Folded, Marked, Paragraph, Part, Section, Table
from simsched.text import printable


def markdown(document: Document) -> str:
    r"""Return a document as Markdown, without its pictures.

    Examples
    --------
    >>> table = Table("", ["op", "time"], [["a|b", "3 ms"]])
    >>> print(markdown(Document("Report", [Paragraph("Fast."), Section("Ops", [table])])).strip())
    # Report
    <BLANKLINE>
    Fast.
    <BLANKLINE>
    ## Ops
    <BLANKLINE>
    | op | time |
    | --- | --- |
    | a\|b | 3 ms |
    """
    return _blocks([f"# {markdown_text(document.title)}\n", *map(_part, document.parts)])


def _blocks(blocks: Iterable[str]) -> str:
    """Return blocks, each of which ends a line, with an empty line between them."""
    return "\n".join(filter(None, blocks))


def _part(part: Part) -> str:
    """Return a part with a line end; nothing for pictures, whose numbers are in the tables."""
    text = ""
    match part:
        case Paragraph():
            sentences = markdown_text(part.text)
            text = f"**{sentences}**\n" if part.strong else f"{sentences}\n"
        case Bullets():
            text = "".join(f"- {markdown_text(item)}\n" for item in part.items)
        case Facts():
            rows = [(name, str(value)) for name, value in part.facts.items()]
            text = markdown_table(Table(part.caption, ("", ""), rows))
        case Table():
            text = markdown_table(part)
        case Folded():
            # The title is in HTML, where no backslash escapes.
            title = f"<details><summary>{escape(printable(part.title))}</summary>\n"
            text = _blocks([title, *map(_part, part.parts), "</details>\n"])
        case Section() if inside := _blocks(map(_part, part.parts)):
            text = f"## {markdown_text(part.title)}\n\n{inside}"
    return text


def markdown_table(table: Table) -> str:
    """Return a table and its caption, their lines each with a line end; no text in it ends a cell or starts markup."""
    lines = [map(markdown_text, line) for line in (table.columns, *table.rows)]
    head, *rows = (f"| {' | '.join(line)} |\n" for line in lines)
    caption = f"**{markdown_text(table.caption)}**\n" if table.caption else ""
    return _blocks([caption, f"{head}|{' --- |' * len(table.columns)}\n{''.join(rows)}"])


def markdown_text(value: object) -> str:
    r"""Return a value as text of a Markdown page: it starts no HTML, link, picture, formula, mention or list.

    Examples
    --------
    >>> markdown_text("![x](http://a) <b> a|b")
    '![x\\](http://a) &lt;b&gt; a\\|b'
    """
    if isinstance(value, Marked):
        return printable(value)
    # Between spaces, these two compare numbers.
    escaped = escape(printable(str(value)), quote=False).replace(" &lt; ", " < ").replace(" &gt; ", " > ")
    escaped = re.sub(
        r"[\\`*~$|]|\](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])|^[#+=-](?=[\s=-]|$)", r"\\\g<0>", escaped
    )
    # A space of no width: no backslash keeps a forge from mentioning a user, or linking an issue.
    return re.sub(r"[@#](?=\w)", r"\g<0>&#8203;", escaped)
