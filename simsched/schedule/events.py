"""Starts and finishes of a schedule, and the number of running tasks at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.schedule.runs import Runs, by_start

if TYPE_CHECKING:
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Events:
    """Every start and every finish of a run, in order of time; at one instant finishes come before starts.

    Runs of no length have none. That one is aborted counts as a finish.

    Parameters
    ----------
    time_s : float64 array, shape (events,)
    task : int64 array, shape (events,)
    starts : bool array, shape (events,)
        Whether the task starts; else it finishes.
    running : int64 array, shape (events,)
        Tasks that run then, the one that starts or finishes included.
    """

    time_s: Seconds
    task: npt.NDArray[np.int64]
    starts: npt.NDArray[np.bool_]
    running: npt.NDArray[np.int64]

    @classmethod
    def of(cls, schedule: Schedule) -> Events:
        """Return the events of a schedule."""
        runs = Runs.of(schedule)
        lasting, begun = runs.end_s > runs.start_s, by_start(schedule, runs.start_s)
        begun, ended = begun[lasting[begun]], np.flatnonzero(lasting)
        time_s = np.concatenate([runs.end_s[ended], runs.start_s[begun]])
        # A stable sort keeps finishes first, by index, and starts in the order in which they were decided.
        order = np.argsort(time_s, kind="stable")
        starts = order >= len(ended)
        after = np.cumsum(np.where(starts, 1, -1))
        return cls(
            time_s[order],
            runs.task.astype(np.int64)[np.concatenate([ended, begun])[order]],
            starts,
            after + ~starts,
        )
