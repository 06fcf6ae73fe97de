"""MCPA: CPA whose tasks of a level never have more cores together than there are (Bansal, Kumar and Singh)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simsched.policies.cpa import Cpa


@dataclass(frozen=True)
class Mcpa(Cpa):
    """Modified CPA: as `cpa`, but a task grows only while its level has fewer cores than the machine.

    The level of a task is the greatest number of edges on a path to it. Tasks of a level, which may run beside each
    other, are thus not made so wide that they have to wait for each other.

    Cost: that of `cpa`.

    References
    ----------
    Bansal, Kumar, Singh: An Improved Two-Step Algorithm for Task and Data Parallel Scheduling in Distributed Memory
    Machines. Parallel Computing 32(10), 2006.

    Examples
    --------
    Two tasks of 6 and 4 s that divide evenly, on three cores: CPA gives both two, and the shorter waits.

    >>> import simsched as ss
    >>> graph, even = ss.TaskGraph.from_edges([6.0, 4.0], kinds=["a", "a"]), ss.CostModel(curves={"a": ss.Curve(0.0)})
    >>> for policy in ("cpa", "mcpa"):
    ...     schedule = ss.simulate(graph, "generic[cores=3]", policy, costs=even)
    ...     print(schedule.tasks["width"].tolist(), schedule.makespan_s)
    [2, 2] 5.0
    [2, 1] 4.0
    """

    name = "mcpa"
    by_level: ClassVar[bool] = True
