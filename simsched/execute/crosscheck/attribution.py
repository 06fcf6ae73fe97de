"""`Sources`: where the error of a prediction comes from, by replays with parts exchanged; tasks that ran alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs import CostModel
from simsched.execute.run.execution import Execution
from simsched.graph import Recording
from simsched.graph.columns import Floats
from simsched.machine import Effects, RuntimeProfile
from simsched.policy import policy as policy_of
from simsched.replay import simulate
from simsched.replay.scenario import effective_runtime
from simsched.schedule import Schedule

#: Largest overlapped share of a task's time for it to count as alone.
ALONE = 0.1
#: Fewest tasks alone that determine an op's seconds.
FEWEST = 3


def overlaps(run: Schedule | Recording) -> Floats:
    """Return the share of each task's time that overlaps other tasks, in [0, 1], shape (n,); 0 where it took no time.

    Examples
    --------
    >>> lanes = np.array([0, 1], np.int32)
    >>> overlaps(Recording(np.array([0.0, 3.0]), np.array([4.0, 5.0]), lanes, ("a", "b"))).tolist()
    [0.25, 0.5]
    """
    start, finish = run.start_s, run.finish_s
    times = np.concatenate([start, finish])
    steps = np.repeat([1, -1], len(start))
    order = np.argsort(times, kind="stable")
    at, running = times[order], np.cumsum(steps[order])
    shared_s = np.append(0.0, np.cumsum(np.diff(at) * (running[:-1] > 1)))
    found = np.zeros(len(start))
    if len(start):
        beside_s = np.interp(finish, at, shared_s) - np.interp(start, at, shared_s)
        np.divide(beside_s, finish - start, out=found, where=finish > start)
    return found.clip(0.0, 1.0)


def alone_s(execution: Execution) -> tuple[Floats, float]:
    """Return the seconds that the tasks of the median run would have taken alone.

    A task is alone if others ran for at most a tenth of its time; its time is then its own. One that overlapped
    others would have taken the median of the tasks of its kind, shape and width that were alone, over all runs that
    count; with fewer than three of these, its actual time.

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
    seen = pd.concat([_observed(schedule) for schedule in execution.counting])
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
    graph = schedule.graph
    return pd.DataFrame(
        {
            "op": graph.kinds.codes.astype(np.int64) * max(len(graph.shapes.labels), 1) + graph.shapes.codes,
            "width": schedule.widths,
            "seconds": schedule.finish_s - schedule.start_s,
            "overlap": overlaps(schedule),
        }
    )


@dataclass(frozen=True)
class Sources:
    """Predicted less measured makespan, by source; the three add up to it.

    Parameters
    ----------
    kernels_s : float
        Effect of the model's seconds of tasks alone in place of those of the real run's tasks alone.
    interference_s : float
        The replay's addition for tasks that overlap others, less that of the real run.
    dispatch_s : float
        The rest when every task takes its time in the real run: decisions, and their order.
    told_apart : float
        Of the core-seconds of tasks that overlapped others in the real run, the share of ops that were also measured
        alone; the interference of the others counts as kernel times. NaN where no tasks overlapped.
    """

    kernels_s: float
    interference_s: float
    dispatch_s: float
    told_apart: float

    @property
    def error_s(self) -> float:
        """Predicted less measured makespan."""
        return self.kernels_s + self.interference_s + self.dispatch_s


def sources(execution: Execution, simulated: Schedule, costs: CostModel, runtime: RuntimeProfile) -> Sources:
    """Return the sources of a prediction's error.

    With P the predicted and M the median measured makespan, and R(x) that of a replay under the same policy, with the
    same estimates to decide by, nothing shared and x the seconds of each task:

        kernels      = R(model alone) - R(real alone)
        interference = (P - R(model alone)) - (R(real) - R(real alone))
        dispatch     = R(real) - M

    "real" are the seconds of the run nearest to the median; "alone" is without overlap: for the model its seconds
    before anything is shared, for the real run as `alone_s` defines it.

    Parameters
    ----------
    execution : Execution
        The measurements.
    simulated : Schedule
        The predicted schedule, with its machine.
    costs, runtime
        Models of the prediction.
    """
    measured = execution.schedule
    again = _Replay(simulated, costs, runtime)
    own_s, told_apart = alone_s(execution)
    predicted_alone_s = again.makespan_s(simulated.alone_s, simulated.widths)
    real_alone_s = again.makespan_s(own_s, measured.widths)
    real_s = again.makespan_s(measured.finish_s - measured.start_s, measured.widths)
    return Sources(
        kernels_s=predicted_alone_s - real_alone_s,
        interference_s=(simulated.makespan_s - predicted_alone_s) - (real_s - real_alone_s),
        dispatch_s=real_s - execution.median_s,
        told_apart=told_apart,
    )


@dataclass(frozen=True, eq=False)
class _Replay:
    """The replay of a prediction, nothing shared, to be repeated with other seconds."""

    simulated: Schedule
    costs: CostModel
    runtime: RuntimeProfile

    def makespan_s(self, seconds: Floats, widths: npt.NDArray[np.int32]) -> float:
        """Return the makespan where each task takes the seconds given for its width.

        On another width its time changes by the model's factor. A task that takes no time in the model
        takes none.
        """
        simulated = self.simulated
        machine = replace(simulated.require_machine(), effects=Effects())
        software = effective_runtime(self.runtime, policy_of(simulated.policy))
        estimates = self.costs.on(simulated.graph, machine, software).seconds(widths)
        factors = np.ones(len(seconds))
        np.divide(seconds, estimates, out=factors, where=estimates > 0)
        return simulate(
            simulated.graph, machine, simulated.policy, simulated.layout or None, self.costs, self.runtime,
            seed=simulated.seed, factors=factors,
        ).makespan_s  # fmt: skip
