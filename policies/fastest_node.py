"""Fastest node: all tasks on the executor that would have done them first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.notes import Note, Weight
from simsched.policies.met import Met
from simsched.policy import Assignment, Platform
from simsched.policy.planning import plan_list
from simsched.policy.planning.draft import fastest_for


@dataclass(frozen=True, kw_only=True)
class FastestNode(Met):
    """Fastest node: one executor runs all tasks, that on which they take least together.

    Tasks that cannot run there go where they start first. Of several executors the lowest-numbered, and of the ready
    tasks the one of the lowest index first. Nothing is
    sent: it shows what all others gain. SAGA has a speed for each executor, and takes the highest.

    Cost: O(edges + tasks x executors).

    References
    ----------
    Coleman, Krishnamachari: PISA: An Adversarial Approach to Comparing Task Graph Scheduling Algorithms. 2024,
    arXiv:2403.07120; SAGA, src/saga/schedulers/fastest_node.py.

    Examples
    --------
    Two cores of different kinds, on which the tasks take 9 and 6 s; 5 and 1 s of data between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "fastest-node", "2x1")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([1, 1, 1], [0.0, 3.0, 4.0])
    """

    name = "fastest-node"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of its schedules: it leaves executors idle."""
        return (Note("fastest-node runs all tasks on one executor", Weight.DOUBT),)

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        n = platform.successors.n
        fastest = fastest_for(platform, list(range(n)))
        position = np.arange(n, dtype=np.int32)
        return plan_list(
            platform, position, insertion=False, by_finish=False, pinned=np.full(n, fastest, np.int32)
        )
