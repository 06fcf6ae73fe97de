"""Drawings as files: PNG, SVG or PDF, without a trace in pyplot."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from simsched.drawing import Axes, Figure
from simsched.files import replacing
from simsched.plots.canvas import Size, detached_figure, require_matplotlib
from simsched.plots.gantt import BINS, MAX_RECTANGLES, draw, figure_size, shown_rows
from simsched.schedule import Schedule

# Vector files hold every rectangle as text: more of them make a file that no viewer opens quickly.
MAX_VECTOR_RECTANGLES = 20_000

# Without date and tool, so that the same schedule gives the same bytes.
METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None},
}


def write_picture(schedule: Schedule, file: IO[bytes], kind: str) -> None:
    """Write the Gantt chart to `file` as `kind`: "png", "svg" or "pdf"."""
    rows = shown_rows(schedule)
    with quiet_canvas(figure_size(rows)) as figure:
        limit = MAX_RECTANGLES if kind == "png" else MAX_VECTOR_RECTANGLES
        draw(schedule, figure.add_subplot(), rows=rows, max_rectangles=limit, bins=BINS)
        save(figure, file, kind)


@contextmanager
def quiet_canvas(size: Size) -> Iterator[Figure]:
    """Yield a figure that pyplot does not register; text stays text, same input gives same bytes."""
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "simsched"}), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes: no reason to bother the caller.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield detached_figure(size)


def save(figure: Figure, file: IO[bytes], kind: str, dpi: float = 150) -> None:
    """Write a figure."""
    figure.savefig(file, format=kind, dpi=dpi, metadata=METADATA[kind])


def save_figure(path: Path, draw: Callable[[Axes], object], size: Size = (7.0, 4.0)) -> None:
    """Draw on new axes and write them to `path`, by its suffix: .png, .svg or .pdf."""
    with quiet_canvas(size) as figure:
        draw(figure.add_subplot())
        with replacing(path) as file:
            save(figure, file, path.suffix.lower().removeprefix("."))
