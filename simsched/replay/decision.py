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
        What really passes from start to finish, when nothing disturbs it.
    delay_s : float
        What the dispatcher spends before the task starts.
    memory_share : float
        Share of its seconds in which the memory limits it; 0 where nothing is shared.
    demand_Bps : int
        Bytes a second that it asks of the memory; 0 where nothing is shared.
    """

    task: int
    team: int
    executor: int
    seconds: float
    delay_s: float
    memory_share: float = 0.0
    demand_Bps: int = 0
