"""Pages with bokeh in them, and frames in which a notebook shows them."""

from __future__ import annotations

from simsched.errors import MissingExtraError
from simsched.html import text


def require_bokeh(purpose: str) -> None:
    """Raise `MissingExtraError` if bokeh, which the purpose needs, is not installed."""
    try:
        import bokeh  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingExtraError("bokeh", "interactive", purpose) from None


def library() -> str:
    """Return bokeh's scripts as elements of a page, which loads nothing then."""
    from bokeh.resources import Resources

    scripts: str = Resources(mode="inline", components=["bokeh", "bokeh-widgets"]).render_js()
    return scripts


def data(json_text: str) -> str:
    """Return JSON as an element of a page, which nothing in it ends; a browser reads it much faster than a script."""
    escaped = json_text.replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{escaped}</script>'


def frame(page: str, title: str, style: str) -> str:
    """Return a page in a frame of its own, with no right to the notebook around it: a trace may come from anywhere.

    Parameters
    ----------
    page : str
        A whole page, or what stands in its body.
    title : str
        What it shows, for those who cannot see it; escaped.
    style : str
        Rules for the frame, beside those of all frames.
    """
    quoted = page.replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe title="{text(title)}" sandbox="allow-scripts allow-downloads" srcdoc="{quoted}" '
        f'style="width:100%;border:0;{style}"></iframe>'
    )
