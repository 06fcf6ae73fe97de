"""What an engine carries out: a task, its team and what it takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Decision:
    """A task to start.

    Parameters
    ----------
    task : int
        Index of the task.
    team : int
        Row of the table of teams.
    executor : int
        Executor that runs it; for dynamic policies the lowest free lane.
    seconds : float
        What really passes from start to finish.
    delay_s : float
        What the dispatcher spends before the task starts.
    """

    task: int
    team: int
    executor: int
    seconds: float
    delay_s: float
