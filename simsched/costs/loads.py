"""Demand of tasks on shared resources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.costs.task_costs import TaskCosts, Width
from simsched.graph.taskgraph import Seconds
from simsched.machine import Effects


@dataclass(frozen=True, slots=True)
class Load:
    """Demand of one task on one team.

    Parameters
    ----------
    memory_share : float
        Share of its seconds in which the memory limits it, in [0, 1].
    overhead_share : float
        Share of its seconds that its threads' overhead makes up; with the memory share at most 1.
    demand_Bps : int
        Bytes per second that it demands of the memory.
    core_share : float
        Share of the seconds in which the memory limits it that its cores, too, would take for it, in [0, 1].
    """

    memory_share: float = 0.0
    overhead_share: float = 0.0
    demand_Bps: int = 0
    core_share: float = 1.0


IDLE = Load()


@dataclass(frozen=True, eq=False)
class Loads:
    """Demand of every task: `Load` as columns, each of shape (n,) or (n, candidates)."""

    memory_share: Seconds
    overhead_share: Seconds
    demand_Bps: npt.NDArray[np.int64]
    core_share: Seconds

    def rows(self) -> list[Load]:
        """Return one `Load` per task."""
        return [Load(*row) for row in zip(*(column.tolist() for column in vars(self).values()), strict=True)]


def loads(costs: TaskCosts, width: Width, effects: Effects) -> Loads:
    """Return the demand of each task on `width` cores."""
    (memory, demand_Bps, core), overhead = costs.memory(width), costs.overhead(width)
    # A thread that waits for another one does not wait for the memory, whether or not anything lengthens the former.
    memory = np.minimum(memory, 1.0 - overhead)
    through_net = overhead if effects.share_interconnect else np.zeros(len(memory))
    return Loads(memory, through_net, demand_Bps, core)


def load_of(costs: TaskCosts, task: int, width: int, effects: Effects) -> Load:
    """Return the demand of one task on `width` cores; the same bits as `loads`."""
    (memory, demand_Bps, core), overhead = costs.memory_of(task, width), costs.overhead_of(task, width)
    through_net = overhead if effects.share_interconnect else 0.0
    return Load(min(memory, 1.0 - overhead), through_net, demand_Bps, core)
