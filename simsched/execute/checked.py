"""`CrossCheck`: measured schedules beside simulated ones, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simsched.costs.fitting import Calibration
from simsched.execute.execution import Execution
from simsched.text import printable

if TYPE_CHECKING:
    import pandas as pd

    from simsched.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Checked:
    """One case: measured and simulated.

    Parameters
    ----------
    graph : str
        Name of the graph.
    execution : Execution
        What was measured.
    simulated : Schedule
        What was predicted.
    """

    graph: str
    execution: Execution
    simulated: Schedule

    @property
    def error(self) -> float:
        """Predicted over measured makespan, less 1."""
        return self.simulated.makespan_s / self.execution.median_s - 1


@dataclass(frozen=True, eq=False)
class CrossCheck:
    """Measured beside simulated, case by case.

    Parameters
    ----------
    cases : tuple of Checked
    calibration : Calibration
        What the predictions rest on.
    """

    cases: tuple[Checked, ...]
    calibration: Calibration

    @property
    def table(self) -> pd.DataFrame:
        """One row a case: graph, policy, layout, measured_s (median), spread (interquartile range over it), runs,
        dropped, predicted_s, error.
        """  # noqa: D205 - the columns are the summary
        import pandas as pd

        return pd.DataFrame([
            {
                "graph": case.graph,
                "policy": case.simulated.policy,
                "layout": case.simulated.layout,
                "measured_s": case.execution.median_s,
                "spread": case.execution.spread_s / case.execution.median_s,
                "runs": len(case.execution),
                "dropped": case.execution.n_dropped,
                "predicted_s": case.simulated.makespan_s,
                "error": case.error,
            }
            for case in self.cases
        ])  # fmt: skip

    def summary(self) -> dict[str, float]:
        """Return cases, median, 90th percentile and largest absolute error, and the share of rankings that agree.

        A ranking is of two cases of one graph whose measured makespans differ by more than both spreads; NaN where
        there is none.
        """
        errors = np.abs([case.error for case in self.cases])
        agree = list(self._rankings())
        return {
            "cases": float(len(errors)),
            "median_error": float(np.median(errors)),
            "p90_error": float(np.percentile(errors, 90)),
            "largest_error": float(errors.max()),
            "rankings": float(len(agree)),
            "rankings_agree": float(np.mean(agree)) if agree else float("nan"),
        }

    def _rankings(self) -> list[bool]:
        agree = []
        for one, other in combinations(self.cases, 2):
            if one.graph != other.graph:
                continue
            measured_s = other.execution.median_s - one.execution.median_s
            if abs(measured_s) > one.execution.spread_s + other.execution.spread_s:
                predicted_s = other.simulated.makespan_s - one.simulated.makespan_s
                agree.append(predicted_s * measured_s > 0)
        return agree

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return the table and the summary as Markdown, and write it to a file if one is named."""
        rows = [
            f"| {printable(case.graph).replace('|', '/')} | {case.simulated.policy} | {case.simulated.layout} "
            f"| {case.execution.median_s * 1e3:.3f} | {case.execution.spread_s / case.execution.median_s:.1%} "
            f"| {len(case.execution)} | {case.execution.n_dropped} | {case.simulated.makespan_s * 1e3:.3f} "
            f"| {case.error:+.1%} |"
            for case in self.cases
        ]
        numbers = self.summary()
        text = "\n".join([
            f"# Measured and simulated on {self.calibration.host}", "",
            "| graph | policy | layout | measured, ms | spread | runs | dropped | predicted, ms | error |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |", *rows, "",
            f"{numbers['cases']:.0f} cases: absolute error median {numbers['median_error']:.1%}, 90th percentile "
            f"{numbers['p90_error']:.1%}, largest {numbers['largest_error']:.1%}; {numbers['rankings_agree']:.0%} of "
            f"{numbers['rankings']:.0f} rankings agree.", "",
        ])  # fmt: skip
        if path is not None:
            Path(path).write_text(text, "utf-8")
        return text
