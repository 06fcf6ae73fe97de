"""WBA: a random pair among those that lengthen the plan least (Blythe et al.)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.errors import SpecError
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import plan_allocation


@dataclass(frozen=True, kw_only=True)
class Wba(PlannedPolicy):
    """Workflow-Based Allocation: a random pair of a ready task and an executor, of those that lengthen the plan least.

    Tasks that become ready wait until all that were ready before are planned. A task starts after all that is
    planned on its executor. Pairs count by how much later the plan ends with them than without. One of those is
    sampled from the replay's seed that are at most a share `alpha` of the way from the least of all pairs to the
    greatest. The paper repeats this and takes the best plan: replay several seeds. SAGA plans once, too, and
    samples from Python's generator.

    Cost: O(tasks x ready tasks + edges x executors) where many pairs are good enough.

    Parameters
    ----------
    alpha : float
        From 0, the least alone, to 1, any.

    References
    ----------
    Blythe et al.: Task Scheduling Strategies for Workflow-Based Applications in Grids. CCGrid 2005.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "wba")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "wba"
    family = "list"

    alpha: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.alpha <= 1:
            raise SpecError(f"{self.name}[alpha={self.alpha}]: expected a share from 0 to 1")

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_allocation(platform, self.alpha, np.random.default_rng([seed, 1]))
