"""Tables of cross-checked cases: pairs of them (which is faster, by how much), their tasks, kinds of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from simsched.execute.crosscheck.checked import Checked
    from simsched.execute.run.execution import Execution
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule import Schedule

COLUMNS = {
    **dict.fromkeys(("graph", "case_a", "case_b"), "object"),
    **dict.fromkeys(("measured_ratio", "spread_a", "spread_b", "predicted_ratio", "ratio_error"), "float64"),
    **dict.fromkeys(("differ", "agree", "policies"), "bool"),
}


def rankings_frame(cases: Sequence[Checked]) -> pd.DataFrame:
    """Return one row per pair of cases of one graph.

    Returns
    -------
    DataFrame
        graph, case_a, case_b (policy and layout); measured_ratio, predicted_ratio (makespan of b over that of a),
        spread_a, spread_b (interquartile range over the median), ratio_error (predicted over measured ratio, less 1);
        differ (whether the measured makespans differ by more than both spreads together), agree (whether the same one
        is predicted to be faster); policies (whether two policies are compared: both on one layout, or one of them
        chooses its widths itself).
    """
    pairs = [_pair(a, b) for a, b in combinations(cases, 2) if a.graph == b.graph]
    return pd.DataFrame(pairs, columns=list(COLUMNS)).astype(COLUMNS)


def over(a: float, b: float) -> float:
    """Return a / b; NaN where b is zero."""
    return a / b if b else float("nan")


def _pair(a: Checked, b: Checked) -> dict[str, object]:
    measured_s = b.execution.median_s - a.execution.median_s
    predicted_s = b.simulated.makespan_s - a.simulated.makespan_s
    measured = over(b.execution.median_s, a.execution.median_s)
    predicted = over(b.simulated.makespan_s, a.simulated.makespan_s)
    layouts = {case.simulated.layout for case in (a, b)}
    return {
        "graph": a.graph,
        "case_a": a.name,
        "case_b": b.name,
        "measured_ratio": measured,
        "spread_a": a.spread,
        "spread_b": b.spread,
        "predicted_ratio": predicted,
        "ratio_error": over(predicted, measured) - 1,
        "differ": abs(measured_s) > a.execution.spread_s + b.execution.spread_s,
        "agree": predicted_s * measured_s > 0,
        "policies": a.simulated.policy != b.simulated.policy and (len(layouts) == 1 or "" in layouts),
    }


def tasks_frame(execution: Execution, simulated: Schedule) -> pd.DataFrame:
    """Return one row per task, measured against predicted.

    Returns
    -------
    DataFrame
        task, name, kind, shape; width (cores in the run nearest to the median), predicted_width; measured_s (median
        over the runs that count), spread (interquartile range over it), predicted_s, error (predicted over measured
        seconds, less 1; NaN where none were measured); start_error_s (predicted less median measured start, each from
        the first start of its run).
    """
    graph, runs = simulated.graph, execution.counting
    low, measured, high = np.percentile([run.finish_s - run.start_s for run in runs], [25, 50, 75], axis=0)
    start = np.median([_from_first(run) for run in runs], axis=0)
    predicted = simulated.finish_s - simulated.start_s
    above_zero = pd.Series(measured).where(measured > 0)
    shown = simulated.tasks
    return pd.DataFrame(
        {
            "task": shown["task"],
            "name": shown["name"],
            "kind": shown["kind"],
            "shape": pd.Categorical.from_codes(
                graph.shapes.codes, pd.Index(graph.shapes.labels, dtype=object)
            ),
            "width": execution.schedule.widths,
            "predicted_width": simulated.widths,
            "measured_s": measured,
            "spread": (high - low) / above_zero,
            "predicted_s": predicted,
            "error": predicted / above_zero - 1,
            "start_error_s": _from_first(simulated) - start,
        }
    )


def kinds_frame(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per kind, those with the largest summed error first.

    Parameters
    ----------
    tasks : DataFrame
        Of `tasks_frame`.

    Returns
    -------
    DataFrame
        kind, tasks, share (of the measured core-seconds), median_error, error_s (sum of predicted less measured
        seconds).
    """
    work = tasks.assign(
        area_s=tasks["measured_s"] * tasks["width"], error_s=tasks["predicted_s"] - tasks["measured_s"]
    )
    kinds = work.groupby("kind", observed=True, sort=False).agg(
        tasks=("task", "size"), area_s=("area_s", "sum"), median_error=("error", "median"), error_s=("error_s", "sum")
    )  # fmt: skip
    kinds.insert(1, "share", kinds["area_s"] / max(float(kinds["area_s"].sum()), np.finfo(float).tiny))
    order = kinds["error_s"].abs().sort_values(ascending=False, kind="stable").index
    return kinds.loc[order].drop(columns="area_s").reset_index()


def _from_first(schedule: Schedule) -> Seconds:
    return np.asarray(schedule.start_s - schedule.start_s.min(initial=np.inf))
