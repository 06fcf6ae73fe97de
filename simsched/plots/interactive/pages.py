"""What pages with bokeh in them are made of."""

from __future__ import annotations

from simsched.errors import MissingExtraError


def require_bokeh(purpose: str) -> None:
    """Raise `MissingExtraError` if bokeh, which the purpose needs, is not installed."""
    try:
        import bokeh  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingExtraError("bokeh", "interactive", purpose) from None


def library() -> str:
    """Return bokeh's scripts; a page that has them in it loads nothing."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh", "bokeh-widgets"]).js_raw)


def data(json_text: str) -> str:
    """Return JSON as an element of a page, which nothing in it ends; a browser reads it much faster than a script."""
    escaped = json_text.replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{escaped}</script>'
