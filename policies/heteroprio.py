"""HeteroPrio: each kind of core takes the ready task that it accelerates most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from simsched.policy import Problem, RankPolicy
from simsched.policy.planning import Priorities
from simsched.policy.policy import Discipline


@dataclass(frozen=True, kw_only=True)
class HeteroPrio(RankPolicy):
    """An idle core takes the ready task that its kind accelerates most against the best other kind.

    With two kinds, as in the paper, the tasks that processors slow down least go to these, and those that accelerators
    speed up most go to those. Kinds of equal seconds, speed and link are one (with `kinds=each`, all cores of equal
    columns). Of equal accelerations, the higher upward rank goes first. Data are sent when a core takes a task.

    While no task is ready, an idle core takes over a running one of another kind, the last that is expected to end, if
    it is expected to end it earlier from the start: the run there is aborted, and stays in `Schedule.lost_runs`.

    Cost: O(tasks x (log tasks + cores) + edges), and O(cores x cores) each time cores stay idle.

    Parameters
    ----------
    spoliation : bool
        Whether running tasks are taken over.

    References
    ----------
    Beaumont, Eyraud-Dubois, Kumar: Approximation Proofs of a Fast and Efficient List Scheduling Algorithm for
    Task-Based Runtime Systems on Multicores and GPUs. IPDPS 2017, Algorithm 1. Agullo, Bramas, Coulaud, Darve, Messner,
    Takahashi: Task-Based FMM for Heterogeneous Architectures. Concurrency and Computation 28(9), 2016.

    Examples
    --------
    Core 0 takes the task that core 1 speeds up least; core 1 ends its others at 4, and does not take it over:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[4.0, 2.0], [9.0, 3.0], [8.0, 1.0]])
    >>> schedule = ss.simulate(graph, "generic[cores=2,kinds=each]", "heteroprio")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([0, 1, 1], [0.0, 1.0, 0.0])
    """

    name = "heteroprio"
    family = "runtimes"

    spoliation: bool = True

    @property
    def discipline(self) -> Discipline:
        """Order by acceleration, with or without running tasks that are taken over."""
        return "spoliation" if self.spoliation else "affinity"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the upward ranks, the highest first."""
        return -Priorities.of(self, problem).b_level
