"""Small HTML cards for notebooks. Everything that comes from a file is escaped here, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from simsched.text import printable


def card(title: str, facts: Mapping[str, object], notes: Iterable[str] = (), figure: str = "") -> str:
    """Return a card: a title, a two-column table, a list of notes and, optionally, an SVG.

    Parameters
    ----------
    title, facts, notes
        Plain text; escaped.
    figure : str
        Markup made by simsched itself; inserted as it is.
    """
    rows = "".join(
        f"<tr><th style='text-align:left;font-weight:normal;opacity:.7'>{escape(printable(str(k)))}</th>"
        f"<td style='text-align:right'>{escape(printable(str(v)))}</td></tr>"
        for k, v in facts.items()
    )
    items = "".join(f"<li>{escape(printable(note))}</li>" for note in notes)
    return (
        "<div style='border:1px solid #8886;border-radius:6px;padding:.6em 1em;display:inline-block'>"
        f"<b>{escape(printable(title))}</b><table style='margin:.4em 0'>{rows}</table>"
        + (f"<ul style='margin:.2em 0;padding-left:1.2em'>{items}</ul>" if items else "")
        + figure
        + "</div>"
    )
