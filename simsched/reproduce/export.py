"""A folder of reproductions: one Markdown file each, and the pictures of its system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.files import replacing
from simsched.schedule.gallery import file_stem, make_folder

if TYPE_CHECKING:
    from simsched.reproduce.reproduction import Reproduction


def write_reproduction(folder: Path, made: Reproduction) -> Iterator[Path]:
    """Write a reproduction to a folder, created if missing; yield each path written.

    Raises
    ------
    SimschedError
        If the folder cannot be made, or a file not written.
    """
    make_folder(folder)
    text = folder / f"{file_stem(str(made.system), set())}.md"
    with replacing(text) as file:
        file.write(made.to_markdown().encode())
    yield text
    yield from write_pictures(folder, made)


def write_pictures(folder: Path, made: Reproduction) -> Iterator[Path]:
    """Write the pictures of a system; yield each path written.

    Raises
    ------
    SimschedError
        If a file cannot be written.
    """
    from simsched.plots.picture import save_figure

    taken: set[str] = set()
    for table in made.system.pictures():
        if table in made.tables:
            path = folder / f"{file_stem(f'{made.system}-{table}', taken)}.png"
            save_figure(path, lambda ax, table=table: made.plot(table, ax), (9.0, 4.5))  # type: ignore[misc]
            yield path
