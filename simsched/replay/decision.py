"""What an engine carries out: a task, its team and what it takes."""

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
        What really passes from start to finish, when nothing disturbs it.
    delay_s : float
        What the dispatcher spends before the task starts.
    cores : sequence of int
        Hardware threads of its team.
    load : Load
        What it asks of what running tasks share.
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
