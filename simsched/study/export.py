"""Writing tables of sweeps and their pictures, by suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from simsched.drawing import Axes
from simsched.errors import MissingExtraError, SimschedError
from simsched.files import replacing
from simsched.plots.canvas import Size

SUFFIXES = (".csv", ".parquet", ".png", ".svg")


def export_table(
    frame: pd.DataFrame, path: Path, draw: Callable[[Axes], object], size: Size = (7.0, 4.0)
) -> None:
    """Write a frame as a table (.csv, .parquet) or its picture (.png, .svg).

    Parameters
    ----------
    frame : DataFrame
    path : Path
    draw : callable
        Draws the frame on axes.
    size : pair of float
        Width and height of the picture, in inches.

    Raises
    ------
    SimschedError
        If the suffix is none of these, or the file cannot be written.
    """
    suffix = check_table_suffix(path)
    if suffix == ".csv":
        with replacing(path) as file:
            frame.to_csv(file, index=False)
    elif suffix == ".parquet":
        try:
            with replacing(path) as file:
                frame.to_parquet(file, index=False)
        except ImportError:
            raise MissingExtraError("pyarrow", "formats", "writing Parquet") from None
    else:
        from simsched.plots.picture import save_figure

        save_figure(path, draw, size)


def check_table_suffix(path: Path) -> str:
    """Return the suffix of `path`, which selects the format.

    Raises
    ------
    SimschedError
        If there is none.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SimschedError(f"{path}: a table is written as one of {', '.join(SUFFIXES)}")
    return suffix
