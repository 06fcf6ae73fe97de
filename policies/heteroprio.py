"""HeteroPrio: each kind of core takes the ready task that it accelerates most."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from simsched.native import find
from simsched.policy.affinity import slower
from simsched.policy.planned_policy import PlannedPolicy
from simsched.policy.planning import Online, Priorities
from simsched.policy.planning.compiled import assignment, bound

if TYPE_CHECKING:
    import numpy.typing as npt

    from simsched.policy import Problem
    from simsched.policy.planned_policy import Assignment
    from simsched.policy.platform import Platform
    from simsched.policy.policy import Discipline


@dataclass(frozen=True, kw_only=True)
class HeteroPrio(PlannedPolicy):
    """An idle core takes the ready task that its kind accelerates most against the best other kind.

    With two kinds, as in the paper, the tasks that processors slow down least go to these, and those that accelerators
    speed up most go to those. Of equal accelerations, the higher upward rank goes first.

    A core without a ready task takes over a running one of another kind, the last to end first, if it ends it earlier
    from the start. That is planned before the replay, as if estimates were true. A plan has no runs that were taken
    over: their core is idle, and where it takes a task over itself, that starts earlier than it would. With
    `spoliation=false`, nothing is taken over, and all is decided in the replay: data are sent when a core takes a task.

    Cost: O(tasks x (log tasks + cores) + edges x executors).

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
    Core 0 takes the task that core 1 speeds up least:

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
        """Order by acceleration, or of the plan, which alone has tasks that are taken over."""
        return "planned" if self.spoliation else "affinity"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the upward ranks, the highest first."""
        return -Priorities.of(self, problem).b_level

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order, where running tasks are taken over."""
        native, level = find(), Priorities(platform).b_level
        if native is not None:
            return assignment(native.plan_affinity(bound(native, platform), level))
        run = Online(platform)
        return run.run(_Affinity(run, level.tolist()))


class _Affinity:
    """Ready tasks, for each kind of core in the order in which its cores take them."""

    def __init__(self, run: Online, level: list[float]) -> None:
        platform = run.platform
        self.run, self.level = run, level
        self.kind_of = platform.kind_of.tolist()
        self.seconds = platform.kind_seconds.tolist()
        self.slower = slower(self.seconds, set(self.kind_of))
        self.heaps: dict[int, list[tuple[float, float, int]]] = {kind: [] for kind in set(self.kind_of)}
        self.ready: set[int] = set()

    def push(self, task: int, now_s: float) -> None:
        """Note a ready task."""
        self.ready.add(task)
        for kind, heap in self.heaps.items():
            heappush(heap, (self.slower(task, kind), -self.level[task], task))

    def pop(self, executor: int, now_s: float) -> int:
        """Return the task that a core takes."""
        heap = self.heaps[self.kind_of[executor]]
        while heap:
            task = heappop(heap)[2]
            if task in self.ready:
                self.ready.remove(task)
                return task
        return self._taken_over(executor, now_s)

    def _taken_over(self, executor: int, now_s: float) -> int:
        """Stop a task of another kind that the core ends earlier, and return it; -1 for none."""
        running = [
            (-self.run.finish_s[task], task, other)
            for other, task in enumerate(self.run.holds)
            if task >= 0 and self.kind_of[other] != self.kind_of[executor]
        ]
        heapify(running)
        while running:
            ends_s, task, other = heappop(running)
            begin_s = max(now_s, float(self.run.arrivals(task)[executor]))
            if begin_s + self.seconds[task][self.kind_of[executor]] < -ends_s:
                return self.run.stop(other)
        return -1
