"""Random assignment: the baseline that a planner has to beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import plan_list


@dataclass(frozen=True, kw_only=True)
class RandomAssignment(PlannedPolicy):
    """Random assignment: a random ready task goes next, on a random executor, whatever it costs.

    Tasks and executors that can run them are sampled from the replay's seed, each equally likely. A task starts after
    all that is planned on its executor.

    Cost: O(tasks + edges).

    References
    ----------
    Beranek, Boehm, Cima: Analysis of Workflow Schedulers in Simulated Distributed Environments. Journal of
    Supercomputing 78, 2022, Sec. 3.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0] * 6)
    >>> [ss.simulate(graph, "generic[cores=2]", "random", seed=seed).executor.tolist() for seed in (0, 1)]
    [[1, 1, 1, 1, 0, 1], [1, 0, 0, 1, 1, 1]]
    """

    name = "random"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        random, n = np.random.default_rng([seed, 1]), platform.successors.n
        executors = random.integers(platform.n_executors, size=n, dtype=np.int32)
        never = np.isinf(platform.kind_seconds[np.arange(n), platform.kind_of[executors]])
        for task in np.flatnonzero(never).tolist():
            executors[task] = random.choice(np.flatnonzero(np.isfinite(platform.seconds(task))))
        position = random.permutation(n).astype(np.int32)
        return plan_list(platform, position, insertion=False, by_finish=False, pinned=executors)
