"""The shortest plan that CP-SAT finds, as a policy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simsched.errors import SpecError
from simsched.exact.assigning import assigned
from simsched.policies.heft import Heft
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning.draft import planned_end


@dataclass(frozen=True, kw_only=True)
class Optimal(PlannedPolicy):
    """The shortest plan on the executors: an exact search, for graphs of some tens of tasks.

    It begins with HEFT's plan and is never longer. The search ends with a proof, or when its effort is spent, which a
    note on the schedule then says; the plan is the same on any machine. Only of graphs of at most some hundred tasks
    anything better than HEFT can be expected.
    `ss.optimum` proves bounds, and chooses widths, but knows neither messages nor kinds of cores.

    Cost: exponential.

    Parameters
    ----------
    effort : float
        Deterministic time of the solver, about as many seconds.

    References
    ----------
    CP-SAT of OR-Tools. Kwok, Ahmad: On Multiprocessor Task Scheduling Using Efficient State Space Search Approaches.
    Journal of Parallel and Distributed Computing 65(12), 2005, defines the problem.

    Examples
    --------
    Longest first ends at 7 s; two of 3 s on one core, three of 2 s on the other end at 6 s:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([3.0, 3.0, 2.0, 2.0, 2.0])
    >>> [ss.simulate(graph, "generic[cores=2]", policy, layout="2x1").makespan_s for policy in ("heft", "optimal")]
    [7.0, 6.0]
    """

    name = "optimal"
    family = "exact"

    effort: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.effort < float("inf"):
            raise SpecError(f"optimal[effort={self.effort}]: expected seconds to search, more than 0")

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        first = Heft().plan(platform, seed)
        found = assigned(platform, first, planned_end(platform, first), effort=self.effort, seed=seed)
        best = min(first, found, key=lambda plan: planned_end(platform, plan))
        return replace(best, notes=found.notes)
