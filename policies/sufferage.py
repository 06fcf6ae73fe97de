"""Sufferage: the ready task that loses most without its best executor."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import plan_pairs


@dataclass(frozen=True, kw_only=True)
class Sufferage(PlannedPolicy):
    """Sufferage: of the ready tasks, the one that would lose most on its second-best executor.

    Tasks that become ready wait until all that were ready before are planned. A task starts after all that is planned
    on its executor.

    The paper differs: a pass over the tasks that are ready gives each executor at most one, that which loses most of
    those for which it is best, and what executors are expected to do counts for the losses only after the pass. Here,
    as in SAGA, one task is placed, and all others are rated again.

    Cost: O(tasks x ready tasks + edges x executors).

    References
    ----------
    Maheswaran et al.: Dynamic Mapping of a Class of Independent Tasks onto Heterogeneous Computing Systems. JPDC 59(2),
    1999; for graphs Yu, Buyya, Ramamohanarao: Workflow Scheduling Algorithms for Grid Computing. In: Metaheuristics for
    Scheduling in Distributed Computing Environments, 2008.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "sufferage")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "sufferage"
    family = "list"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_pairs(platform, "sufferage", extra=platform.kind_seconds, batched=True)
