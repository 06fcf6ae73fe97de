"""Results of `crossed`, as Markdown and as a folder of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.document.markdown import markdown_table
from simsched.document.parts import Document, Paragraph, Section, Table, notes_section
from simsched.files import write_text
from simsched.reproduce.crossed.rules import RULES
from simsched.schedule.gallery import make_folder, write_figures
from simsched.units import format_time

if TYPE_CHECKING:
    from simsched.reproduce.crossed.table import Crossed, CrossedCell

CELLS = "Time over the best (layout; parts of the batch and hardware threads a core, where more than one)."


def document(crossed: Crossed) -> Document:
    """Return a matrix per machine, each system's choices, and every run; see `Crossed.to_markdown`."""
    systems = dict.fromkeys(run.system for run in crossed.runs)
    rules = [(system, (RULES[system].__doc__ or "").strip()) for system in systems]
    matrices = [
        Section(f"{place(on)}: time over the best policy's, geometric means", [_matrix(crossed, on)])
        for on in crossed.machines
    ]
    runs = [
        Section(f"{place(on)}: every run", [Paragraph(CELLS), _runs([r for r in crossed.runs if r.on == on])])
        for on in crossed.machines
    ]
    choices = Section("What each system may choose", [Table("", ("policy of", "choice"), rules)])
    title = "Every policy on every other system's workloads"
    return Document(title, [*matrices, choices, *runs, *notes_section(crossed.notes)])


def place(on: str) -> str:
    """Return the title of a machine's tables."""
    return "Own machines" if on == "own" else on


def matrix_text(crossed: Crossed, on: str) -> str:
    """Return a matrix of times over the best policy's as a Markdown table."""
    return markdown_table(_matrix(crossed, on))


def _matrix(crossed: Crossed, on: str) -> Table:
    matrix = crossed.matrix(on)
    values = zip(matrix.index, matrix.to_numpy(), strict=True)
    rows = [(name, *(f"{value:.3g}" for value in row)) for name, row in values]
    return Table("", ("policy of, workloads of", *matrix.columns), rows)


def _runs(runs: Sequence[CrossedCell]) -> Table:
    """Return a table with a line per workload and a column per system."""
    systems = list(dict.fromkeys(run.system for run in runs))
    lines: dict[tuple[str, str], dict[str, CrossedCell]] = {}
    for run in runs:
        lines.setdefault((run.column.job.system, run.column.job.workload), {})[run.system] = run
    rows = []
    for (_, workload), line in lines.items():
        best_s = min(run.schedule.makespan_s for run in line.values())
        rows.append((workload, format_time(best_s), *(_cell(line[system], best_s) for system in systems)))
    return Table("", ("workload", "best", *systems), rows)


def _cell(run: CrossedCell, best_s: float) -> str:
    choice = run.choice
    said = [run.schedule.layout or "its own widths"]
    said += [f"{choice.parts} parts"] * (choice.parts > 1) + [f"{choice.ways} ways"] * (choice.ways > 1)
    return f"{run.schedule.makespan_s / best_s:.3g} ({', '.join(said)})"


def write_crossed(folder: Path, crossed: Crossed) -> Iterator[Path]:
    """Write a Markdown file, the table as CSV and the heat maps to a folder; yield each path written.

    Raises
    ------
    SimschedError
        If the folder cannot be made, or a file not written.
    """
    make_folder(folder)
    for name, text in (
        ("crossed.md", crossed.to_markdown()),
        ("crossed.csv", crossed.table.to_csv(index=False)),
    ):
        write_text(folder / name, text)
        yield folder / name
    yield from write_heat_maps(folder, crossed)


def write_heat_maps(folder: Path, crossed: Crossed) -> Iterator[Path]:
    """Write a heat map per machine to a folder; yield each path written.

    Raises
    ------
    SimschedError
        If a file cannot be written.
    """
    pictures = {f"crossed-{on}": partial(crossed.plot, on) for on in crossed.machines}
    return write_figures(folder, pictures, (8.0, 4.0))
