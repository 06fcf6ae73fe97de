"""List scheduling by t-level: what could start first goes first."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.graph.columns import Floats
from simsched.policies.hlfet import Hlfet
from simsched.policy.planning import Priorities


@dataclass(frozen=True, kw_only=True)
class TLevel(Hlfet):
    """List scheduling by t-level: the lowest static t-level first, where the task starts first.

    The static t-level is the longest path from a source to the task, of mean seconds over the executors, without
    messages. A task starts after all that is planned on its executor.

    Cost: O(edges + tasks x executors).

    Parameters
    ----------
    online : bool
        As of `hlfet`.

    References
    ----------
    Kwok, Ahmad: Static Scheduling Algorithms for Allocating Directed Task Graphs to Multiprocessors. ACM Computing
    Surveys 31(4), 1999, Sec. 4.2; Beranek, Boehm, Cima: Analysis of Workflow Schedulers in Simulated Distributed
    Environments. Journal of Supercomputing 78, 2022.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "t-level")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 0, 1], [0.0, 2.0, 3.0])
    """

    name = "t-level"

    def order(self, priorities: Priorities) -> Floats:
        """Return a number for each task: the lowest goes first."""
        return priorities.static_t_level
