"""`OnlineList`: list scheduling that can also place tasks when they become ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simsched.errors import PolicyError
from simsched.policy.planned_policy import PlannedPolicy
from simsched.policy.planning.priorities import Priorities

if TYPE_CHECKING:
    import numpy.typing as npt

    from simsched.graph.columns import Floats
    from simsched.policy.policy import Discipline
    from simsched.policy.problem import Problem


@dataclass(frozen=True, kw_only=True)
class OnlineList(PlannedPolicy):
    """A list scheduler that can also place tasks when they become ready: subclass it and write `order` and `plan`.

    Parameters
    ----------
    online : bool
        Whether tasks are placed when they become ready (docs/semantics.md, rule 13), by `pushing`.

    Examples
    --------
    At 1 both readers go to the core that has their data, and that runs nothing:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=1.0)
    >>> machine = "generic[cores=2,link_Bps=1.0,data=sent]"
    >>> [ss.simulate(graph, machine, policy, "2x1").makespan_s for policy in ("mcp", "mcp[online=true]")]
    [4.0, 5.0]
    """

    online: bool = False

    @property
    def discipline(self) -> Discipline:
        """Order of the plan, or of queues that tasks join when they become ready."""
        return "pushed" if self.online else "planned"

    def order(self, priorities: Priorities) -> Floats:
        """Return a number for each task: the lowest goes first."""
        raise PolicyError(f"policy {self} has no order(); write one that returns a number for each task")

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the order of tasks that become ready together."""
        return self.order(Priorities.of(self, problem))
