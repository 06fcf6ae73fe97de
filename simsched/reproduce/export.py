"""A folder of reproductions: one Markdown file each, and the pictures of its system."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from simsched.files import write_text
from simsched.reproduce.reproduction import Reproduction
from simsched.schedule.export import file_stem, make_folder, write_figures


def write_reproduction(folder: Path, made: Reproduction) -> Iterator[Path]:
    """Write a reproduction to a folder, created if missing; yield each path written.

    Raises
    ------
    SimschedError
        If the folder cannot be made, or a file not written.
    """
    make_folder(folder)
    text = folder / f"{file_stem(str(made.system), set())}.md"
    write_text(text, made.to_markdown())
    yield text
    yield from write_pictures(folder, made)


def write_pictures(folder: Path, made: Reproduction) -> Iterator[Path]:
    """Write the pictures of a system; yield each path written.

    Raises
    ------
    SimschedError
        If a file cannot be written.
    """
    tables = [table for table in made.system.pictures() if table in made.tables]
    pictures = {f"{made.system}-{table}": partial(made.plot, table) for table in tables}
    return write_figures(folder, pictures, (9.0, 4.5))
