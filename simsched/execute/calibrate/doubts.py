"""Inconclusive measurements: too few undisturbed runs, or figures that do not stay the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simsched.costs.fitting import Calibration
from simsched.execute.calibrate.calibrating import tasks_by_op
from simsched.execute.run.execution import FEWEST, Execution, too_few
from simsched.execute.run.run import Case
from simsched.graph import TaskGraph
from simsched.schedule import Schedule
from simsched.text import counted

#: Largest difference of the low quartiles of the earlier and the later half of the runs, as a share of the lower one.
APART = 0.2
#: Largest standard error of predicted over measured makespan that comes from the scatter of runs.
UNCERTAIN = 0.04
#: Share of a prediction's core-seconds on teams of a width for which runs on that width count.
RESTS = 0.5


def doubt(seconds: npt.NDArray[np.float64], undisturbed: npt.NDArray[np.bool_]) -> str:
    """Return why these runs do not determine the true seconds of something; empty where they do.

    Parameters
    ----------
    seconds : float64 array, shape (runs,)
        Its seconds in each run, in the order of the runs.
    undisturbed : bool array, shape (runs,)
        Which runs were undisturbed.

    Examples
    --------
    >>> calm, noisy = np.ones(20, bool), np.arange(20) < 2
    >>> doubt(np.full(20, 1e-3), calm), doubt(np.full(20, 1e-3), noisy)
    ('', '2 of 20 runs were undisturbed')
    >>> doubt(np.repeat([1e-3, 2e-3], 10), calm)
    'its earlier and later runs differ by 100%'
    """
    clean = seconds[undisturbed]
    if too_few(undisturbed):
        return f"{len(clean)} of {len(seconds)} runs were undisturbed"
    if len(clean) >= FEWEST:
        low, high = sorted(float(np.percentile(half, 25)) for half in np.array_split(clean, 2))
        if high > (1 + APART) * low:
            return f"its earlier and later runs differ by {high / max(low, 1e-12) - 1:.0%}"
    return ""


@dataclass(frozen=True)
class OpDoubt:
    """An op whose seconds are unknown on teams of one width.

    Parameters
    ----------
    kind, shape : str
    width : int
        Threads.
    why : str
    """

    kind: str
    shape: str
    width: int
    why: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        op = " ".join(word for word in (self.kind or "no kind", self.shape) if word)
        return f"{op} on {counted(self.width, 'thread')}: {self.why}"


def op_doubts(measured: Sequence[tuple[TaskGraph, Execution]]) -> tuple[OpDoubt, ...]:
    """Return the ops whose seconds these runs do not determine.

    Parameters
    ----------
    measured : sequence of (TaskGraph, Execution)
        Runs that ops are calibrated from. An op of several graphs is determined if one of them determines it.
    """
    found: dict[tuple[str, str, int], list[str]] = {}
    for graph, execution in measured:
        width = int(execution.schedule.widths[0]) if graph.n_tasks else 0
        seconds = np.array([schedule.finish_s - schedule.start_s for schedule in execution])
        for (kind, shape), tasks in tasks_by_op(graph).items():
            why = doubt(seconds[:, tasks].mean(axis=1), execution.undisturbed)
            found.setdefault((kind, shape, width), []).append(why)
    return tuple(OpDoubt(*key, whys[0]) for key, whys in found.items() if all(whys))


def with_doubts(calibration: Calibration, runs: Sequence[tuple[Case, Execution]]) -> Calibration:
    """Return a calibration whose facts include the ops that its runs do not determine.

    Parameters
    ----------
    calibration : Calibration
    runs : sequence of (Case, Execution)
        Each on teams of one width.
    """
    found = op_doubts([(case.graph, run) for case, run in runs])
    facts = {"cannot_tell_here": "; ".join(map(str, found))} if found else {}
    return replace(calibration, facts={**calibration.facts, **facts})


def case_doubt(
    execution: Execution,
    simulated: Schedule,
    basis: Sequence[Execution],
    deciding: Sequence[Execution] = (),
) -> str:
    """Return why measured and predicted makespan of a case cannot be compared here; empty where they can.

    Parameters
    ----------
    execution : Execution
        The measurements.
    simulated : Schedule
        The predicted schedule.
    basis : sequence of Execution
        Runs that the ops' seconds are calibrated from, on one width each.
    deciding : sequence of Execution
        Runs that the seconds of decisions are calibrated from.
    """
    if why := doubt(execution.makespans_s, execution.undisturbed):
        return why
    used = [run for run in basis if _used(simulated, run) >= RESTS]
    for what, runs in (("calibrate ops", used), ("time decisions", deciding)):
        for run in runs:
            if too_few(run.undisturbed):
                return f"of those that {what}, {doubt(run.makespans_s, run.undisturbed)}"
    error = np.hypot(execution.uncertainty, max((run.uncertainty for run in used), default=0.0))
    return f"runs scatter so much that the ratio is uncertain by {error:.0%}" if error > UNCERTAIN else ""


def _used(simulated: Schedule, run: Execution) -> float:
    """Return the share of a prediction's core-seconds spent on teams of the width of a run."""
    area = (simulated.finish_s - simulated.start_s) * simulated.widths
    total, widths = float(area.sum()), run.schedule.widths[:1]
    return float(area[np.isin(simulated.widths, widths)].sum()) / total if total > 0 else 0.0
