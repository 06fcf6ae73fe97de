"""`CrossCheck`: measured and simulated schedules side by side, and their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from simsched.costs import CostModel
from simsched.costs.fitting import Calibration
from simsched.document.markdown import markdown
from simsched.document.parts import Document
from simsched.document.result import Result
from simsched.execute.crosscheck.attribution import Sources, sources
from simsched.execute.crosscheck.frames import kinds_frame, over, rankings_frame, tasks_frame
from simsched.execute.crosscheck.report import document, page
from simsched.execute.crosscheck.verdict import median_error, percent, summary
from simsched.execute.run.execution import Execution
from simsched.files import write_text
from simsched.frames import FrameProperty
from simsched.machine import RuntimeProfile
from simsched.notes import weighed
from simsched.plots.accuracy import accuracy
from simsched.renamed import warn_renamed
from simsched.schedule import Schedule
from simsched.schedule.caveats import notes_of
from simsched.text import counted


@dataclass(frozen=True, eq=False)
class Checked:
    """One case: measured and simulated.

    Parameters
    ----------
    graph : str
        Name of the graph.
    execution : Execution
        The measurements.
    simulated : Schedule
        The predicted schedule.
    costs : CostModel
        Models of the prediction.
    runtime : RuntimeProfile
        The runtime profile of the prediction.
    doubt : str
        Why the two cannot be compared here, as others disturbed the runs; empty where they can.
    """

    graph: str
    execution: Execution
    simulated: Schedule
    costs: CostModel
    runtime: RuntimeProfile
    doubt: str = ""

    @property
    def name(self) -> str:
        """Policy and layout."""
        return f"{self.simulated.policy} {self.simulated.layout}".strip()

    @property
    def error(self) -> float:
        """Predicted over measured makespan, less 1; NaN where nothing took time."""
        return over(self.simulated.makespan_s, self.execution.median_s) - 1

    @property
    def spread(self) -> float:
        """Interquartile range of the measured makespans over their median; NaN of one run or no time."""
        if self.execution.kept.sum() < 2:
            return float("nan")
        return over(self.execution.spread_s, self.execution.median_s)

    @FrameProperty
    def tasks(self) -> pd.DataFrame:
        """One row per task; see `simsched.execute.crosscheck.frames.tasks_frame`."""
        return tasks_frame(self.execution, self.simulated)

    @FrameProperty
    def kinds(self) -> pd.DataFrame:
        """One row per kind of task; see `simsched.execute.crosscheck.frames.kinds_frame`."""
        return kinds_frame(self.tasks)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers on its graph, its runs and its replay, each note once, the weightiest first."""
        of_runs = (f"{self.graph}, {self.name}: {doubt}" for doubt in self.execution.doubts)
        return weighed(notes_of([self.simulated]), self.execution.schedule.notes, of_runs)

    @cached_property
    def sources(self) -> Sources:
        """Sources of the error; see `simsched.execute.crosscheck.attribution.sources`."""
        return sources(self.execution, self.simulated, self.costs, self.runtime)


@dataclass(frozen=True, eq=False)
class CrossCheck:
    """Measured against simulated, case by case.

    Parameters
    ----------
    cases : tuple of Checked
    calibration : Calibration
        The basis of the predictions.
    drift : float
        Seconds that ops of the basis took beside the cases, over those they took when it was measured, in the median of
        the width on which it is furthest from 1; NaN where the basis was measured beside the cases.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.fitting import MeasuredOp, Op, Point
    >>> from simsched.execute import CrossCheck
    >>> from simsched.execute.crosscheck.checked import Checked
    >>> from simsched.execute.run.execution import MeasuredRun
    >>> simulated = ss.simulate(ss.TaskGraph.from_edges([2.0]), "generic[cores=1]", "fifo")
    >>> measured = ss.Execution((MeasuredRun(simulated, 0.0, 0, 1e-7, (2.0,), (2.0,)),))
    >>> case = Checked("one task", measured, simulated, ss.CostModel(), ss.RuntimeProfile())
    >>> points = ss.Calibration.of([MeasuredOp(Op("Add"), (Point(1, 2.0),))], "by hand")
    >>> check = CrossCheck((case,), points)
    >>> check.table[["graph", "measured_s", "error"]].values.tolist(), check.notes == check.table.notes
    ([['one task', 2.0, 0.0]], True)
    """

    cases: tuple[Checked, ...]
    calibration: Calibration
    drift: float = math.nan

    def __repr__(self) -> str:
        declined = len(self.cases) - len(self.conclusive)
        cases = counted(len(self.cases), "case") + (f" ({declined} declined)" if declined else "")
        return f"<CrossCheck: {cases}, median error {percent(median_error(self))}; table has them>"

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """The notes of all runs and replays, each once, the weightiest first."""
        return weighed(*(case.notes for case in self.cases))

    @cached_property
    def table(self) -> Result:
        """One row per case, with the notes of all.

        graph, policy, layout, measured_s (median), spread (interquartile range over it), runs, dropped, predicted_s,
        error; kernels_s, interference_s and dispatch_s, which add up to predicted less measured seconds (see
        `Sources`), told_apart, and cannot_tell: why the case is declined, empty where it is not.
        """
        return Result.of([_row(case) for case in self.cases], self.notes, accuracy)

    @FrameProperty
    def rankings(self) -> pd.DataFrame:
        """One row per pair of conclusive cases; see `simsched.execute.crosscheck.frames.rankings_frame`."""
        return rankings_frame(self.conclusive)

    @property
    def conclusive(self) -> tuple[Checked, ...]:
        """The cases that are not declined."""
        return tuple(case for case in self.cases if not case.doubt)

    @property
    def told(self) -> tuple[Checked, ...]:
        """`conclusive`, under its old name."""
        warn_renamed("CrossCheck.told", "CrossCheck.conclusive")
        return self.conclusive

    def summary(self) -> dict[str, float]:
        """Return the check in numbers; see `simsched.execute.crosscheck.verdict.summary`."""
        return summary(self)

    @property
    def document(self) -> Document:
        """The report without pictures: the conclusions of the check, and its tables."""
        return document(self)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return the report as Markdown, and write it to a file if one is named.

        Raises
        ------
        SimschedError
            If the file cannot be written.
        """
        text = markdown(self.document)
        if path is not None:
            write_text(Path(path), text)
        return text

    def to_html(self, path: str | Path) -> None:
        """Write the report as one page that needs nothing else.

        Raises
        ------
        SimschedError
            If the file cannot be written.
        MissingExtraError
            If matplotlib, which draws the charts, is not installed.
        """
        write_text(Path(path), page(self))


def _row(case: Checked) -> dict[str, object]:
    found = case.sources
    return {
        "graph": case.graph,
        "policy": case.simulated.policy,
        "layout": case.simulated.layout,
        "measured_s": case.execution.median_s,
        "spread": case.spread,
        "runs": len(case.execution),
        "dropped": case.execution.n_dropped,
        "predicted_s": case.simulated.makespan_s,
        "error": case.error,
        "kernels_s": found.kernels_s,
        "interference_s": found.interference_s,
        "dispatch_s": found.dispatch_s,
        "told_apart": found.told_apart,
        "cannot_tell": case.doubt,
    }
