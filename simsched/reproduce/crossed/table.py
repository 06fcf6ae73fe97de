"""`Crossed`: the policies of published systems on each other's workloads, as table, text and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from simsched.document.html import card
from simsched.document.markdown import markdown
from simsched.document.parts import Document
from simsched.document.result import Result
from simsched.drawing import Axes
from simsched.errors import SpecError
from simsched.notes import weighed
from simsched.reproduce.crossed.jobs import Column
from simsched.reproduce.crossed.rules import Choice
from simsched.schedule import Schedule
from simsched.schedule.caveats import notes_of

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
        from simsched.document.result import Result

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
        from simsched.reproduce.crossed.text import document

        return document(self)

    def to_markdown(self) -> str:
        """Return the matrices, and every run, as Markdown."""
        return markdown(self.document)

    def plot(self, on: str = OWN, ax: Axes | None = None, *, by: str = "workload_of") -> Axes:
        """Draw the matrix of `over_best` as a heat map."""
        from simsched.plots.relative import relative_times

        return relative_times(self.matrix(on, by=by), f"time over the best policy's, {on}", ax)
