"""A decision for an engine to carry out: a task, its team and its seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simsched.costs.loads import IDLE, Load


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
        Actual seconds from start to finish, when nothing disturbs it.
    delay_s : float
        Seconds that the dispatcher spends before the task starts.
    cores : sequence of int
        Hardware threads of its team.
    load : Load
        Its demand on shared resources.
    held : bool
        Whether it goes into its executor's buffer instead of starting.
    """

    task: int
    team: int
    executor: int
    seconds: float
    delay_s: float
    cores: Sequence[int]
    load: Load = IDLE
    held: bool = False
