"""Drawings as files: PNG, SVG or PDF, without a trace in pyplot; small ones for notebooks and pages."""

from __future__ import annotations

import re
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from simsched.document.html import document, facts_table, listed
from simsched.drawing import Axes, Figure
from simsched.files import replacing
from simsched.plots.canvas import Size, detached_figure, plain, require_matplotlib
from simsched.plots.gantt import BINS, MAX_RECTANGLES, draw, figure_size, gantt_title, shown_rows
from simsched.schedule import Schedule

# Vector files hold every rectangle as text: more of them make a file that no viewer opens quickly.
MAX_VECTOR_RECTANGLES = 20_000

# Without date and tool, so that the same schedule gives the same bytes.
METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None},
}
#: Module of matplotlib that writes a kind of file.
BACKENDS = {"png": "agg", "svg": "svg", "pdf": "pdf"}


def write_picture(schedule: Schedule, file: IO[bytes], kind: str) -> None:
    """Write the Gantt chart to `file` as `kind`: "png", "svg" or "pdf"."""
    rows = shown_rows(schedule)
    with quiet_canvas(figure_size(rows)) as figure:
        limit = MAX_RECTANGLES if kind == "png" else MAX_VECTOR_RECTANGLES
        draw(schedule, figure.add_subplot(), rows=rows, max_rectangles=limit, bins=BINS)
        save(figure, file, kind)


#: Fonts that have Chinese, Japanese or Korean letters, which matplotlib's own lacks: those that are there stand in.
WITH_CJK = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "SimHei",
    "Yu Gothic",
    "Malgun Gothic",
)


@contextmanager
def quiet_canvas(size: Size) -> Iterator[Figure]:
    """Yield a figure that pyplot does not register; text stays text, same input gives same bytes."""
    require_matplotlib()
    from matplotlib import font_manager, rc_context, rcParams

    there = {*font_manager.get_font_names()}
    families = [*rcParams["font.family"], *(font for font in WITH_CJK if font in there)]
    with (
        rc_context({"svg.fonttype": "none", "svg.hashsalt": "simsched", "font.family": families}),
        warnings.catch_warnings(),
    ):
        # A name in a script that the font lacks is drawn as boxes: no reason to bother the caller.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield detached_figure(size)


def save(figure: Figure, file: IO[bytes], kind: str, dpi: float = 150) -> None:
    """Write a figure; its resolution is `dpi` from then on."""
    # A canvas lays the figure out as it draws it; savefig draws twice, the first time for the layout alone.
    write = getattr(_canvas(figure, kind, dpi), f"print_{kind}")
    write(file, metadata=METADATA[kind])


def _canvas(figure: Figure, kind: str, dpi: float) -> Any:
    """Return a canvas for a figure, whose methods matplotlib gives no types."""
    figure.set_dpi(dpi)
    return import_module(f"matplotlib.backends.backend_{BACKENDS[kind]}").FigureCanvas(figure)


def save_figure(path: Path, draw: Callable[[Axes], object], size: Size = (7.0, 4.0)) -> None:
    """Draw on new axes and write them to `path`, by its suffix: .png, .svg or .pdf."""
    with quiet_canvas(size) as figure:
        draw(figure.add_subplot())
        with replacing(path) as file:
            save(figure, file, path.suffix.lower().removeprefix("."))


# Above this an embedded image is lighter (about 130 kB): a notebook keeps every card it ever showed.
MAX_CARD_RECTANGLES = 1000
# About 60 kB, from where on an image is lighter.
MAX_SHAPES = 300
HATCHED = 50


def gantt_svg(schedule: Schedule, width: int = 640) -> str:
    """Return the Gantt chart as one `<svg>` element to embed in a page.

    Every name in it is escaped. Charts of more than 1,000 rectangles hold an image instead.

    Parameters
    ----------
    schedule : Schedule
    width : int
        Width in CSS pixels; narrower screens scale it down.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    rows = shown_rows(schedule)

    def chart(figure: Figure) -> None:
        draw(schedule, figure.add_subplot(), rows=rows, max_rectangles=MAX_CARD_RECTANGLES, bins=width)

    height = min(max(90 + 5 * rows, 150), width * 0.6)
    return inline_svg(chart, width, height, f"Gantt chart, {gantt_title(schedule)}")


def inline_picture(chart: Callable[[Figure], object], width: float, height: float, description: str) -> str:
    """Return the drawing of `chart` as one `<svg>` element, or, where that is large, as one `<img>` element.

    An image has two pixels a CSS pixel.

    Parameters
    ----------
    chart, width, height, description
        As for `inline_svg`.
    """
    with quiet_canvas((width / 72, height / 72)) as figure:
        chart(figure)
        if _shapes(figure) <= MAX_SHAPES:
            return _svg(figure, width, height, description)
        return (
            f'<img alt="{escape(plain(description, 300))}" width="{width:g}" height="{height:g}" '
            f'src="data:image/png;base64,{b64encode(_png(figure)).decode()}">'
        )


def _png(figure: Figure) -> bytes:
    file = BytesIO()
    write_png(figure, file)
    return file.getvalue()


def write_png(figure: Figure, file: IO[bytes]) -> None:
    """Write a figure as a small PNG."""
    from PIL import Image

    canvas = _canvas(figure, "png", dpi=144)
    canvas.draw()
    drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    # 256 colours take a third of the bytes, without a visible difference.
    drawn.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, "png", optimize=True)


def _shapes(figure: Figure) -> int:
    """Return the approximate number of shapes in an SVG of a figure; hatching is many of them."""
    shapes = [HATCHED if one.get_hatch() else 1 for ax in figure.axes for one in ax.patches]
    for one in (one for ax in figure.axes for one in ax.collections):
        shapes += [len(one.get_paths()), len(np.atleast_2d(one.get_offsets()))]
    return sum(shapes)


def inline_svg(chart: Callable[[Figure], object], width: float, height: float, description: str) -> str:
    """Return the drawing of `chart` as one `<svg>` element to embed in a page.

    Parameters
    ----------
    chart : callable
        Given the figure.
    width, height : float
        Size in CSS pixels; narrower screens scale it down.
    description : str
        Read out in place of the picture; escaped.
    """
    with quiet_canvas((width / 72, height / 72)) as figure:
        chart(figure)
        return _svg(figure, width, height, description)


def _svg(figure: Figure, width: float, height: float, description: str) -> str:
    file = BytesIO()
    for image in (image for ax in figure.axes for image in ax.images):
        # A few flat colours compress to a third of what smooth transitions do.
        image.set_interpolation("nearest")
    # The SVG canvas counts 72 dots per inch, so that its view box is in CSS pixels.
    save(figure, file, "svg", dpi=144)
    # Without what only a separate file needs: matplotlib's style sheet would apply to the whole page around the
    # element, so it becomes an attribute.
    _, _, body = file.getvalue().decode().partition("<svg")
    _, _, body = body.partition(">")
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
    # Indentation is a tenth of the file.
    body = re.sub(r">\n\s*<", "><", body)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'aria-label="{escape(plain(description, 300))}" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        'style="max-width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt">'
        f"{body.strip()}"
    )


def page(schedule: Schedule) -> str:
    """Return the page as HTML5; text that may come from a file is escaped.

    Raises
    ------
    MissingExtraError
        If matplotlib, which draws the chart, is not installed.
    """
    numbers = {key: f"{value:.6g}" for key, value in schedule.metrics().items()}
    return document(
        f"Schedule of {schedule.graph.name}",
        f"{facts_table('How it was made', schedule.summary())}\n"
        f"<h2>Gantt chart</h2>\n<figure>{gantt_svg(schedule, 900)}</figure>\n{facts_table('Metrics', numbers)}\n"
        + (f"<h2>Notes</h2>\n{listed(schedule.notes)}" if schedule.notes else ""),
    )
