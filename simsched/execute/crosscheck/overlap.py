"""Which tasks of a real run overlapped others, and what their ops take alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.execute.run.execution import Execution
from simsched.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

#: Most of a task's time that may pass beside others for the task to count as alone.
ALONE = 0.1
#: Fewest tasks alone that tell what an op takes.
FEWEST = 3


def overlaps(schedule: Schedule) -> Floats:
    """Return the share of each task's time in which another one ran, shape (n,); 0 where it took no time."""
    start, finish = schedule.start_s, schedule.finish_s
    times = np.concatenate([start, finish])
    steps = np.repeat([1, -1], len(start))
    order = np.argsort(times, kind="stable")
    at, running = times[order], np.cumsum(steps[order])
    shared_s = np.append(0.0, np.cumsum(np.diff(at) * (running[:-1] > 1)))
    found = np.zeros(len(start))
    if len(start):
        beside_s = np.interp(finish, at, shared_s) - np.interp(start, at, shared_s)
        np.divide(beside_s, finish - start, out=found, where=finish > start)
    return found


def alone_s(execution: Execution) -> tuple[Floats, float]:
    """Return the seconds that the tasks of the median run would have taken alone.

    A task is alone if others ran for at most a tenth of its time, and then took what it would have. One that overlapped
    others would have taken the median of the tasks of its kind, shape and width that were alone, over all runs that
    count; where there are fewer than three of these, what it took.

    Parameters
    ----------
    execution : Execution

    Returns
    -------
    seconds : float64 array, shape (n,)
        Of each task.
    told_apart : float
        Of the core-seconds of tasks that overlapped others, the share of ops that were also measured alone; NaN where
        no tasks overlapped.
    """
    import pandas as pd

    runs = [_observed(schedule) for schedule in execution.counting]
    seen = pd.concat(runs)
    alone = seen[seen["overlap"] <= ALONE].groupby(["op", "width"])["seconds"].agg(["median", "size"])
    medians = alone.loc[alone["size"] >= FEWEST, "median"]
    of_median = _observed(execution.schedule)
    overlapping = (of_median["overlap"] > ALONE).to_numpy()
    elsewhere = medians.reindex(pd.MultiIndex.from_frame(of_median[["op", "width"]])).to_numpy(np.float64)
    took = of_median["seconds"].to_numpy()
    area_s = took * of_median["width"].to_numpy()
    known = overlapping & np.isfinite(elsewhere)
    total_s = float(area_s[overlapping].sum())
    return np.where(known, elsewhere, took), float(area_s[known].sum()) / total_s if total_s else float("nan")


def _observed(schedule: Schedule) -> pd.DataFrame:
    """Return op (a number for each kind and shape), width, seconds and share of overlap of each task."""
    import pandas as pd

    graph = schedule.graph
    return pd.DataFrame(
        {
            "op": graph.kinds.codes.astype(np.int64) * max(len(graph.shapes.labels), 1) + graph.shapes.codes,
            "width": schedule.widths,
            "seconds": schedule.finish_s - schedule.start_s,
            "overlap": overlaps(schedule),
        }
    )
