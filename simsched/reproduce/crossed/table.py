"""`Crossed`: the policies of published systems on each other's workloads, as table, text and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simsched.document.html import card
from simsched.document.markdown import markdown, markdown_table
from simsched.document.parts import Document, Paragraph, Section, Table, notes_section
from simsched.document.result import Result
from simsched.drawing import Axes
from simsched.errors import SpecError
from simsched.files import write_text
from simsched.notes import weighed
from simsched.reproduce.crossed.jobs import Column
from simsched.reproduce.crossed.rules import RULES, Choice
from simsched.schedule import Schedule
from simsched.schedule.caveats import notes_of
from simsched.schedule.export import make_folder, write_figures
from simsched.units import format_time

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


#: Of `machines`: each job on the machine of its own system.
OWN = "own"
_VALUES = ("over_best", "over_own", "makespan_s")
_COLUMNS = ("workload_of", "workload")


@dataclass(frozen=True, eq=False)
class CrossedCell:
    """The best way found for a system to run a job.

    Parameters
    ----------
    on : str
        `OWN`, or the machine that was asked for.
    system : str
        Whose policy it is.
    column : Column
    choice : Choice
    schedule : Schedule

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.reproduce import Job
    >>> mine = Job("graphi", "lstm[layers=1,steps=2,batch=4,hidden=8]", "knl-7250[cores=4]")
    >>> run = ss.crossed(["own"], [mine], ["graphi"]).run("graphi", mine.workload)
    >>> run.system, run.record()["makespan_s"] == run.schedule.makespan_s
    ('graphi', True)
    """

    on: str
    system: str
    column: Column
    choice: Choice
    schedule: Schedule

    def record(self) -> dict[str, Any]:
        """Return the run's columns of `Crossed.table`, without ratios."""
        schedule, job = self.schedule, self.column.job
        metrics = schedule.metrics()
        return {
            "on": self.on,
            "machine": str(self.column.machine),
            "workload_of": job.system,
            "workload": job.workload,
            "samples": job.samples,
            "policy_of": self.system,
            "policy": self.choice.policy,
            "parts": self.choice.parts,
            "ways": self.choice.ways,
            "layout": schedule.layout,
            "tasks": schedule.graph.n_tasks,
            "makespan_s": schedule.makespan_s,
            "utilization": schedule.utilization,
            "work_core_s": metrics["work_core_s"],
            "mean_corunning": metrics["mean_corunning"],
        }


@dataclass(frozen=True, eq=False)
class Crossed:
    """Every policy on every job, each run in the best way open to its system.

    Parameters
    ----------
    runs : sequence of CrossedCell

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.reproduce import Job
    >>> mine = Job("graphi", "lstm[layers=1,steps=2,batch=4,hidden=8]", "knl-7250[cores=4]")
    >>> found = ss.crossed(["own"], [mine], ["graphi"])
    >>> found.machines, found.matrix().values.tolist()
    (('own',), [[1.0]])
    """

    runs: Sequence[CrossedCell]

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """The notes of all replays, each once, the weightiest first."""
        return weighed(notes_of(run.schedule for run in self.runs))

    @cached_property
    def table(self) -> Result:
        """One row per run, with the notes of all.

        on (`own`, or the requested machine), machine; workload_of, workload, samples; policy_of, policy, parts (of the
        batch), ways (hardware threads of a core in use), layout, tasks; makespan_s; utilization, work_core_s and
        mean_corunning as in `Schedule.metrics`; over_best, makespan over the shortest of that workload and machine;
        over_own, makespan over that of the policy of the workload's own system, NaN where it did not run.
        """
        frame = pd.DataFrame([run.record() for run in self.runs])
        cell = ["on", "workload_of", "workload"]
        best = frame.groupby(cell)["makespan_s"].transform("min")
        own = frame[frame["policy_of"] == frame["workload_of"]].set_index(cell)["makespan_s"]
        own_s = own.reindex(pd.MultiIndex.from_frame(frame[cell])).to_numpy()
        ratios = {"over_best": frame["makespan_s"] / best, "over_own": frame["makespan_s"] / own_s}
        return Result.of(frame.assign(**ratios), self.notes)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the table as JSON values: null where there is no number."""
        frame = self.table.astype(object)
        rows = frame.where(frame.notna(), None).to_dict("records")
        return [{str(key): value for key, value in row.items()} for row in rows]

    def __repr__(self) -> str:
        return f"<Crossed: {len(self.runs)} runs; {', '.join(self.machines)}>"

    def _repr_html_(self) -> str:
        tables = (self.matrix(on).to_html(float_format="{:.3g}".format) for on in self.machines)
        note = "policies of, down; workloads of, across; time over the best policy's, geometric means, by machine"
        return card(
            "Every policy on every other system's workloads",
            {"runs": len(self.runs)},
            [note, *self.notes],
            below="".join(tables),
        )

    @property
    def machines(self) -> tuple[str, ...]:
        """Possible values of `on`."""
        return tuple(dict.fromkeys(run.on for run in self.runs))

    def matrix(self, on: str = OWN, value: str = "over_best", *, by: str = "workload_of") -> pd.DataFrame:
        """Return systems by systems: policies down, workloads across, geometric means over the workloads.

        Parameters
        ----------
        on : str
            `own`, or a requested machine.
        value : {"over_best", "over_own", "makespan_s"}
        by : {"workload_of", "workload"}
            A column a system, or a workload.

        Raises
        ------
        SpecError
            If nothing ran there, or there is no such value or column.
        """
        for given, known in ((on, self.machines), (value, _VALUES), (by, _COLUMNS)):
            if given not in known:
                raise SpecError(f"{given!r:.60} is not one of {', '.join(known)}")
        rows = self.table[self.table["on"] == on]
        logarithms = rows.assign(logarithm=np.log(rows[value]))
        means = logarithms.pivot_table("logarithm", "policy_of", by, dropna=False)
        systems, columns = (list(dict.fromkeys(rows[key])) for key in ("policy_of", by))
        return means.reindex(index=systems, columns=columns).apply(np.exp)

    def run(self, policy_of: str, workload: str, on: str = OWN) -> CrossedCell:
        """Return a run, whose `schedule` has all further data.

        Raises
        ------
        SpecError
            If there is none.
        """
        for run in self.runs:
            if (run.system, run.column.job.workload, run.on) == (policy_of, workload, on):
                return run
        raise SpecError(f"no run of {policy_of!r:.60} on {workload!r:.60} ({on!r:.60}); see table")

    @property
    def document(self) -> Document:
        """The matrices, and every run."""
        return document(self)

    def to_markdown(self) -> str:
        """Return the matrices, and every run, as Markdown."""
        return markdown(self.document)

    def plot(self, on: str = OWN, ax: Axes | None = None, *, by: str = "workload_of") -> Axes:
        """Draw the matrix of `over_best` as a heat map."""
        from simsched.plots.published import relative_times

        return relative_times(self.matrix(on, by=by), f"time over the best policy's, {on}", ax)
