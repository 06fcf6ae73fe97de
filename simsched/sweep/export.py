"""Writing tables and pictures of predictions, by suffix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simsched.errors import MissingExtraError, SimschedError
from simsched.files import replacing

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet", ".png", ".svg")


def export_prediction(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame of `predict` as a table (.csv, .parquet) or a picture (.png, .svg).

    Raises
    ------
    SimschedError
        If the suffix is none of these, or the file cannot be written.
    """
    suffix = check_prediction_suffix(path)
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
        from simsched.plots.figure import save_figure
        from simsched.plots.scaling import scaling

        save_figure(path, lambda ax: scaling(frame, ax=ax))


def check_prediction_suffix(path: Path) -> str:
    """Return the suffix of `path` that says what to write.

    Raises
    ------
    SimschedError
        If there is none.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SimschedError(f"{path}: a prediction is written as one of {', '.join(SUFFIXES)}")
    return suffix
