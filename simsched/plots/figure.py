"""Any drawing that takes `ax=` as a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.files import replacing
from simsched.plots.canvas import Size
from simsched.plots.picture import quiet_canvas, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def save_figure(path: Path, draw: Callable[[Axes], object], size: Size = (7.0, 4.0)) -> None:
    """Draw on new axes and write them to `path`, by its suffix: .png, .svg or .pdf."""
    with quiet_canvas(size) as figure:
        draw(figure.add_subplot())
        with replacing(path) as file:
            save(figure, file, path.suffix.lower().removeprefix("."))
