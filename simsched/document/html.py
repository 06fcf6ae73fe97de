"""Small HTML cards for notebooks, and pages without external files. Text from files is escaped here, once."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

from simsched.document.parts import Bullets, Facts, Folded, Markup, Paragraph, Part, Picture, Section, Table
from simsched.errors import MissingExtraError
from simsched.later import later
from simsched.text import printable

STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; color: #222; background: #fff }
main { max-width: 60rem; margin: 0 auto; padding: .5rem }
h1 { font-size: 1.4rem; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin-top: 1.6rem }
table { border-collapse: collapse }
caption { text-align: left; font-weight: 600; padding: .4rem 0 }
th, td { text-align: left; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #ddd }
th, td, li { overflow-wrap: anywhere }
th { font-weight: 400; color: #555 }
td { font-variant-numeric: tabular-nums }
figure { margin: 1rem 0; overflow-x: auto }
figure svg { min-width: 40rem }
.wide { overflow-x: auto }
@media print {
  details::details-content { content-visibility: visible; display: block; block-size: auto }
  figure, tr { break-inside: avoid }
  figure svg { min-width: 0 }
}
"""
#: The replacement of a frame is hidden next to the frame, and visible where an untrusted notebook removes
#: frames and styles.
STILL = "<style>.simsched-frame + .simsched-still { display: none }</style>"
#: Letters of a cell that stays on one line, where a style requires it.
LONGEST_ON_A_LINE = 40


def card(
    title: str, facts: Mapping[str, object], notes: Iterable[str] = (), figure: str = "", below: str = ""
) -> str:
    """Return a card: a title, a two-column table, a list of notes and, optionally, an SVG and other markup.

    Parameters
    ----------
    title, facts, notes
        Plain text; escaped.
    figure : str
        An `<svg>` element made by simsched itself; shown as an image.
    below : str
        Markup whose texts are escaped already, such as a table.
    """
    rows = "".join(
        f"<tr><th style='text-align:left;font-weight:normal;opacity:.7'>{text(k)}</th>"
        f"<td style='text-align:right'>{text(v)}</td></tr>"
        for k, v in facts.items()
    )
    items = "".join(f"<li>{text(note)}</li>" for note in notes)
    # A notebook treats text between dollars as a formula, unless this is disabled.
    return (
        "<div class='tex2jax_ignore mathjax_ignore' "
        "style='border:1px solid #8886;border-radius:6px;padding:.6em 1em;display:inline-block'>"
        f"<b>{text(title)}</b><table style='margin:.4em 0'>{rows}</table>"
        + (f"<ul style='margin:.2em 0;padding-left:1.2em'>{items}</ul>" if items else "")
        + (image(figure) if figure else "")
        + f"{below}</div>"
    )


def pictured_card(
    title: str, facts: Mapping[str, object], notes: Sequence[str], picture: Callable[[], str]
) -> str:
    """Return a card with the SVG that `picture` makes, or with a note on the library that it lacks."""
    try:
        figure = picture()
    except MissingExtraError as error:
        return card(title, facts, [*notes, str(error)])
    return card(title, facts, notes, figure)


def results_table(table: Table, notes: Iterable[str] = ()) -> str:
    """Return a table of results for a notebook, its notes below; everything in it is escaped.

    Sentences are whole, on several lines where they are long.

    Examples
    --------
    >>> from simsched.document.parts import Table
    >>> page = results_table(Table("", ["makespan"], [["4.2 ms"]]), ["tasks <b> have no edges"])
    >>> "4.2 ms" in page, "tasks &lt;b&gt; have no edges" in page
    (True, True)
    """
    sides = [f"text-align:{'right' if is_number else 'left'}" for is_number in table.are_numbers]
    words = "overflow-wrap:anywhere;max-width:36em;vertical-align:top"
    heads = zip(sides, table.columns, strict=True)
    head = "".join(f"<th style='{side}'>{text(title)}</th>" for side, title in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td style='{side};{words}'>{text(cell)}</td>" for side, cell in zip(sides, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    items = "".join(f"<li>{text(note)}</li>" for note in notes)
    return (
        "<div class='tex2jax_ignore mathjax_ignore' style='overflow-x:auto'>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + (f"<ul style='margin:.4em 0;padding-left:1.2em'>{items}</ul>" if items else "")
        + "</div>"
    )


def image(svg: str) -> str:
    """Return an `<svg>` element as an `<img>` element, which a notebook shows even where it is not trusted.

    Parameters
    ----------
    svg : str
        An element made by simsched itself; its `aria-label` becomes the image's text.

    Examples
    --------
    >>> image('<svg xmlns="http://www.w3.org/2000/svg" aria-label="a &lt; b"></svg>').partition(" src=")[0]
    '<img alt="a &lt; b" style="max-width:100%;height:auto"'
    """
    label = re.search(r'aria-label="([^"]*)"', svg)
    content = b64encode(svg.encode("utf-8", "backslashreplace")).decode()
    return (
        f'<img alt="{label[1] if label else ""}" style="max-width:100%;height:auto" '
        f'src="data:image/svg+xml;base64,{content}">'
    )


def document(title: str, body: str, style: str = "", before: str = "") -> str:
    """Return a page as HTML5.

    Parameters
    ----------
    title : str
        Plain text; escaped.
    body : str
        Markup made by simsched itself, below the title.
    style : str
        Rules in addition to those of all pages.
    before : str
        Markup made by simsched itself, above the title and outside of the main part, whose id is "main".
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n{before}"
        f'<main id="main">\n<h1>{text(title)}</h1>\n{body}</main>\n</body>\n</html>\n'
    )


def facts_table(caption: str, facts: Mapping[str, object]) -> str:
    """Return a table of two columns; everything in it is escaped."""
    rows = "".join(f'<tr><th scope="row">{text(k)}</th><td>{text(v)}</td></tr>\n' for k, v in facts.items())
    return f"<table>\n<caption>{text(caption)}</caption>\n<tbody>\n{rows}</tbody>\n</table>"


def _columns_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a header, which scrolls where the screen is narrow; everything in it is escaped."""
    head = "".join(f'<th scope="col">{text(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
    return (
        # A box that scrolls is reached with the tab key, and so needs a name.
        f'<div class="wide" role="region" tabindex="0" aria-label="{text(caption)}">\n<table>\n'
        f"<caption>{text(caption)}</caption>\n<thead>\n<tr>{head}</tr>\n"
        f"</thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )


def _cell(value: object) -> str:
    # A sentence on one line would move all cells after it out of sight.
    kind = ' class="long"' if len(str(value)) > LONGEST_ON_A_LINE else ""
    return f"<td{kind}>{text(value)}</td>"


def listed(items: Iterable[str]) -> str:
    """Return a list; everything in it is escaped."""
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>\n"


def framed(page: str, title: str, style: str, instead: str = "") -> str:
    """Return a page as a frame inside a notebook's page, with no access to its surroundings.

    Parameters
    ----------
    page : str
        A result of `document`, or the content of its body; the text may come from anywhere.
    title : str
        Description of its content; escaped.
    style : str
        Rules for the frame, its height above all.
    instead : str
        Markup made by simsched itself, for where there are no frames: in a notebook that is not trusted.
    """
    quoted = page.replace("&", "&amp;").replace('"', "&quot;")
    frame = (
        f'<iframe class="simsched-frame" title="{text(title)}" sandbox="allow-scripts allow-downloads" '
        f'srcdoc="{quoted}" style="display:block;width:100%;border:0;{style}"></iframe>'
    )
    return f'{STILL}{frame}<div class="simsched-still">{instead}</div>' if instead else frame


def text(value: object) -> str:
    """Return a value as text of a page: without control characters, which HTML has no place for, and escaped."""
    return escape(printable(str(value)))


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
            made = _columns_table(part.caption, part.columns, part.rows)
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
