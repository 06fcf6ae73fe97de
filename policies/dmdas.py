"""dmdas: StarPU's data-aware deque model whose queues are sorted by priority."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy.typing as npt

from simsched.policies.dmda import Dmda
from simsched.policy import Problem
from simsched.policy.planning import Priorities, priorities_note, recorded_priorities
from simsched.policy.pushing import Pushing


@dataclass(frozen=True, kw_only=True)
class Dmdas(Dmda):
    """Deque Model, Data Aware, Sorted, of StarPU: as `dmda`, but a worker runs its queued task of the highest priority.

    Priorities are those of a recording, as applications gave them; without any, the upward ranks of HEFT, which they
    may give. Of equal priorities, the task goes
    first that misses the fewest bytes at the worker, then the one of whose bytes most are on their way. Workers are
    chosen as by `dmda`, by all that is in their queues.

    Cost: O(tasks x executors + edges x executors).

    References
    ----------
    StarPU 1.4, deque_modeling_policy_data_aware.c and fifo_queues.c (`pop_first_ready_task`), but
    for memory that is allocated already. Agullo, Beaumont, Eyraud-Dubois, Kumar: Are Static Schedules so Bad?
    A Case Study on Cholesky Factorization. IPDPS 2016, Sec. IV.

    Examples
    --------
    On one core, 3 is ready with the others, but has a chain after it:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0, 1.0, 5.0], [(0, 1), (0, 2), (0, 3), (3, 4)])
    >>> [ss.simulate(graph, "generic[cores=1]", policy).start_order.tolist() for policy in ("dmda", "dmdas")]
    [[0, 1, 2, 3, 4], [0, 3, 4, 1, 2]]
    """

    name = "dmdas"

    @property
    def pushing(self) -> Pushing:
        """Choice of a worker as by `dmda`, whose queue is sorted."""
        return replace(super().pushing, sorts=True, ready=True)

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the recorded priorities, or without any the upward ranks, the highest first."""
        given = recorded_priorities(problem)
        return -(Priorities.of(self, problem).b_level if given is None else given)

    def rank_notes(self, problem: Problem) -> tuple[str, ...]:
        """Return a note on whose priorities these are."""
        return (priorities_note(problem, "upward ranks"),)
