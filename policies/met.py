"""MET: each task where it takes least, whatever else runs there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.machine import Machine
from simsched.notes import Note, Weight
from simsched.policy import Assignment, Layout, PlannedPolicy, Platform
from simsched.policy.planning import plan_list


@dataclass(frozen=True, kw_only=True)
class Met(PlannedPolicy):
    """Minimum Execution Time: each task on the executor where it takes least, whatever else runs there.

    Of several executors the lowest-numbered: on cores that are alike, the first runs all. Of the ready tasks the
    one of the lowest index goes first; SAGA takes another order in which each task comes after those that it waits
    for.

    Cost: O(edges + tasks x executors).

    References
    ----------
    Braun et al.: A Comparison of Eleven Static Heuristics for Mapping a Class of Independent Tasks onto Heterogeneous
    Distributed Computing Systems. JPDC 61(6), 2001, Sec. 3; for graphs SAGA, src/saga/schedulers/met.py.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "met", "2x1")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 1, 1], [0.0, 7.0, 8.0])
    """

    name = "met"
    family = "list"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of its schedules: it may leave executors idle."""
        said = "met looks at no other task: of executors on which a task takes as long, the first runs all"
        return (Note(said, Weight.DOUBT),)

    def layouts(self, machine: Machine) -> tuple[Layout, ...]:
        """Return the layouts to choose from: on cores that are alike, of one executor, as no other would run a task."""
        found = super().layouts(machine)
        return found if machine.kinds is not None else tuple(one for one in found if one.executors == 1)

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        fastest = platform.kind_seconds[:, platform.kind_of].argmin(axis=1).astype(np.int32)
        position = np.arange(platform.successors.n, dtype=np.int32)
        return plan_list(platform, position, insertion=False, by_finish=False, pinned=fastest)
