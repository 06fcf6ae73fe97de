"""A folder of results: the table, and a Gantt chart and a Chrome trace of each schedule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.errors import SimschedError
from simsched.files import replacing
from simsched.later import later

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.schedule.schedule import Schedule


#: Most characters of a file name without its ending: file systems take 255 bytes, too many to read.
MOST_CHARACTERS = 80
#: Endings of files that who gives a folder such a name expects.
FILES = {".png", ".svg", ".pdf", ".html", ".md", ".csv", ".parquet", ".json"}


def write_gallery(folder: Path, schedules: Sequence[Schedule], frame: pd.DataFrame) -> Iterator[Path]:
    """Write the comparison of some schedules to a folder, created if missing; yield each path written.

    Parameters
    ----------
    folder : Path
    schedules : sequence of Schedule
    frame : DataFrame
        Their table, as `simsched.compare` returns it.

    Raises
    ------
    SimschedError
        If the folder cannot be made.
    """
    make_folder(folder)
    table = folder / "comparison.csv"
    with replacing(table) as file:
        frame.to_csv(file, index=False)
    yield table
    yield from write_figures(folder, {"comparison": partial(later("plots").comparison, frame)}, (7.0, 4.0))
    taken: set[str] = set()
    for schedule in schedules:
        stem = file_stem(schedule.policy, taken)
        for path in (folder / f"{stem}.png", folder / f"{stem}.trace.json.gz"):
            schedule.save(path)
            yield path


def file_stem(policy: str, taken: set[str]) -> str:
    """Return a file name that no other policy has."""
    plain = re.sub(r"[^A-Za-z0-9=.,-]+", "_", policy).strip("_")[:MOST_CHARACTERS] or "policy"
    stem = plain
    number = 2
    while stem in taken:
        stem, number = f"{plain}-{number}", number + 1
    taken.add(stem)
    return stem


def write_figures(
    folder: Path, drawings: Mapping[str, Callable[[Axes], object]], size: tuple[float, float]
) -> Iterator[Path]:
    """Write drawings to a folder as PNG, by their names, in inches; yield each path written."""
    taken: set[str] = set()
    for name, draw in drawings.items():
        path = folder / f"{file_stem(name, taken)}.png"
        later("plots").save_figure(path, draw, size)
        yield path


def make_folder(folder: Path) -> None:
    """Create a folder if it is missing.

    Raises
    ------
    SimschedError
        If it cannot be made, or has the name of a file.
    """
    if folder.suffix.lower() in FILES and not folder.is_dir():
        raise SimschedError(
            f"{folder}: what is written is a folder of files; give its name, as in {folder.stem}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimschedError(f"{folder}: {error.strerror or error}") from None
