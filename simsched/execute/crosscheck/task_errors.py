"""Tables of a cross-checked case: a row a task, and a row a kind of task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from simsched.execute.run.execution import Execution
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule import Schedule


def tasks_frame(execution: Execution, simulated: Schedule) -> pd.DataFrame:
    """Return one row a task, measured beside predicted.

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
    """Return one row a kind, those first that are furthest off in sum.

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
