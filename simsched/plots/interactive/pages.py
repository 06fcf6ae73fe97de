"""Parts of pages with bokeh in them."""

from __future__ import annotations

from pathlib import Path


def script(name: str) -> str:
    """Return the text of a script of this folder."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def library() -> str:
    """Return bokeh's scripts, and the one that leaves the wheel to the page; a page with them in it loads nothing.

    They are below an element whose id is "chart".
    """
    from bokeh.resources import Resources

    scripts = Resources(mode="inline", components=["bokeh", "bokeh-widgets"]).js_raw
    return "\n".join([*scripts, script("wheel.js")])


def data(json_text: str) -> str:
    """Return JSON as an element of a page, safely escaped; browsers read it much faster than a script."""
    escaped = json_text.replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{escaped}</script>'
