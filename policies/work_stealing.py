"""Work stealing: a deque of tasks on each core, from which idle cores steal."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simsched.errors import SpecError
from simsched.policy import Policy, Start

if TYPE_CHECKING:
    from simsched.policy import Problem
    from simsched.policy.view import View

VICTIMS = ("random", "near", "hierarchical")


@dataclass(frozen=True)
class WorkStealing(Policy):
    """A core runs the newest task of its own deque, and where that is empty, the oldest of another core's.

    A task that becomes ready joins the deque of the core on which the last of its predecessors ran; tasks that are
    ready from the beginning are dealt to the cores in turn. Each task runs on one core. Stealing costs no more than
    starting. Cost: O(cores) per decision.

    Parameters
    ----------
    victims : {"random", "near", "hierarchical"}
        Whose oldest task an idle core takes: that of any core that has one; of the core the fewest hops away, the
        lowest of several; or of a random core of its tile, else of its memory domain, else of any.

    References
    ----------
    Blumofe and Leiserson, Scheduling multithreaded computations by work stealing, Journal of the ACM 46(5), 1999.

    Examples
    --------
    0 makes all others ready on core 0, which runs the newest; core 1 steals the oldest:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0, 2.0], [(0, 1), (0, 2), (0, 3)])
    >>> schedule = ss.simulate(graph, "generic[cores=2]", "work-stealing")
    >>> schedule.tasks[["task", "executor", "start_s"]].values.tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 0.0, 3.0], [3.0, 0.0, 1.0]]
    """

    name = "work-stealing"
    classic = True

    victims: str = "random"

    def __post_init__(self) -> None:
        if self.victims not in VICTIMS:
            raise SpecError(f"work-stealing[victims={self.victims}]: expected one of {', '.join(VICTIMS)}")

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with an empty deque on each core."""
        return _Stealing(self.victims, problem, problem.generator())


@dataclass(frozen=True, eq=False)
class _Stealing(Policy):
    name = WorkStealing.name

    victims: str
    problem: Problem
    generator: np.random.Generator
    deques: dict[int, deque[int]] = field(default_factory=dict)
    running: dict[int, int] = field(default_factory=dict)  # core of each task
    ended: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # when, counted; the task; its core

    def decide(self, view: View) -> Iterable[Start]:
        """Return a task for each idle core that finds one."""
        self._note_ends(view)
        for dealt, task in enumerate(view.newly_ready):
            self.deques.setdefault(self._owner(task, dealt), deque()).append(task)
        found = []
        for core in view.idle_cores:
            if own := self.deques.get(core):
                task = own.pop()
            elif any(self.deques.values()):
                task = self.deques[self._victim(core)].popleft()
            else:
                break
            self.running[task] = core
            found.append(Start(task, cores=(core,)))
        return found

    def _note_ends(self, view: View) -> None:
        now = {one.task for one in view.running}
        for task in sorted(self.running.keys() - now):
            self.ended[task] = (len(self.ended), task, self.running.pop(task))

    def _owner(self, task: int, dealt: int) -> int:
        """Return the core on whose deque a task that became ready goes."""
        before = self.problem.graph.predecessors.neighbours(task).tolist()
        if not before:
            return dealt % self.problem.machine.n_threads
        return max(self.ended[other] for other in before)[2]

    def _victim(self, thief: int) -> int:
        loaded = sorted(core for core, tasks in self.deques.items() if tasks)
        n_cores = self.problem.machine.n_cores
        if self.victims == "near":
            hops = self.problem.machine.hops(thief % n_cores)
            return min(loaded, key=lambda core: (int(hops[core % n_cores]), core))
        if self.victims == "hierarchical":
            loaded = self._nearest_group(thief % n_cores, loaded)
        return loaded[int(self.generator.integers(len(loaded)))]

    def _nearest_group(self, thief: int, loaded: list[int]) -> list[int]:
        """Return the cores of those given that share the tile with a core, else its domain, else all."""
        structure, n_cores = self.problem.machine.structure, self.problem.machine.n_cores
        groups: Sequence[np.ndarray[tuple[int], np.dtype[np.int32]]] = (
            structure.tile_of,
            structure.domain_of,
        )
        for group in groups:
            if near := [core for core in loaded if group[core % n_cores] == group[thief]]:
                return near
        return loaded
