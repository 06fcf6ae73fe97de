"""Work stealing: a deque of tasks on each core, from which idle cores steal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError, SpecError
from simsched.graph.adjacency import Csr
from simsched.machine import Machine
from simsched.policy import Layout, Policy, Problem, Start, View
from simsched.policy.bound import Bound, kinds_of_teams, require_executors
from simsched.policy.placement import executor_cores

#: Whether each worker can run each task, shape (n, workers); None where all can.
Able = npt.NDArray[np.bool_] | None
VICTIMS = ("random", "near", "hierarchical")


@dataclass(frozen=True)
class WorkStealing(Policy):
    """A core runs the newest task of its own deque, and where that is empty, the oldest of another core's.

    A task that becomes ready joins the deque of the core on which the last of its predecessors ran; tasks that are
    ready from the beginning are dealt to the cores in turn. Where that core cannot run a task, the next one has it that
    can. Cores take tasks of their own before others steal them.
    Each task runs on one core; a layout k x w has k workers with a deque each, whose tasks run on w cores. Stealing
    costs no more than starting. Cost: O(cores) per decision.

    Parameters
    ----------
    victims : {"random", "near", "hierarchical"}
        Whose oldest task an idle core takes: that of any core that has one; of the core the fewest hops away, the
        lowest of several; or of a random core of its tile, else of its memory domain, else of any.
    priorities : bool
        Whether levels, the longest estimates to a sink, count: a core runs its own task of the highest level, the
        newest of several, and a thief takes its victim's task of the highest level, the oldest of several.

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
    family = "runtimes"
    takes_layout = True

    victims: str = "random"
    priorities: bool = False

    def __post_init__(self) -> None:
        if self.victims not in VICTIMS:
            raise SpecError(f"{self.name}[victims={self.victims}]: expected one of {', '.join(VICTIMS)}")

    def layouts(self, machine: Machine) -> tuple[Layout, ...]:
        """Return the layout of a worker on each core."""
        return (Layout(machine.n_threads, 1),)

    def team_widths(self, problem: Problem, width: int) -> npt.NDArray[np.int64]:
        """Return the layout's width for every task."""
        return np.full(problem.graph.n_tasks, width)

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with an empty deque for each worker.

        Raises
        ------
        LayoutError
            If the workers have more cores than the machine.
        """
        machine = problem.machine
        layout = problem.layout or Layout(machine.n_threads, 1)
        if layout.cores > machine.n_threads:
            raise LayoutError(
                f"{self}: the layout {layout} needs {layout.cores} cores; {machine} has {machine.n_threads}"
            )
        workers = executor_cores(machine, layout, "compact")
        require_executors(problem.graph, machine, layout, workers)
        teams = workers.indices.reshape(layout.executors, layout.width)
        return self.stealing(problem, teams.tolist(), _able(problem, workers))

    def stealing(self, problem: Problem, teams: list[list[int]], able: Able = None) -> Stealing:
        """Return what decides a replay, for workers on these threads."""
        ranks = -problem.levels if self.priorities else np.zeros(problem.graph.n_tasks)
        return Stealing(self.victims, problem, teams, ranks.tolist(), able)


def _able(problem: Problem, workers: Csr) -> Able:
    """Return whether each worker can run each task; None where all can."""
    if (bound := Bound.on(problem.graph, problem.machine)) is None:
        return None
    kinds = kinds_of_teams(problem.machine, workers)
    return np.stack([bound.runs_on[:, one].all(axis=1) for one in kinds], axis=1)[bound.group_of]


class _Deque:
    """Ready tasks of a worker, from which the newest or the oldest of those of the least rank are taken."""

    def __init__(self, ranks: list[float]) -> None:
        self._ranks, self._came = ranks, 0
        # The least entry of the first is the oldest, that of the second the newest.
        self._heaps: tuple[list[tuple[float, int, int]], ...] = ([], [])
        self.left: set[int] = set()

    def __len__(self) -> int:
        return len(self.left)

    def append(self, task: int) -> None:
        """Add a task."""
        self._came += 1
        for heap, age in zip(self._heaps, (self._came, -self._came), strict=True):
            heappush(heap, (self._ranks[task], age, task))
        self.left.add(task)

    def ordered(self, *, newest: bool) -> Iterator[int]:
        """Yield the tasks in the order in which they would be taken."""
        return (task for _, _, task in sorted(self._heaps[newest]) if task in self.left)

    def remove(self, task: int) -> None:
        """Take a task."""
        self.left.remove(task)

    def taken(self, *, newest: bool) -> int:
        """Take the newest or the oldest."""
        while (task := heappop(self._heaps[newest])[2]) not in self.left:
            pass
        self.left.remove(task)
        return task


@dataclass(frozen=True, eq=False)
class Stealing(Policy):
    """Workers with deques in one replay.

    Parameters
    ----------
    victims : str
        As of `WorkStealing`.
    problem : Problem
    teams : list of list of int
        Hardware threads of each worker.
    ranks : list of float
        Of each task: of a deque, those of the least are taken.
    able : bool array, shape (n, workers), optional
        Whether each worker can run each task; by default all can.
    oldest : bool
        Whether a worker takes the oldest of them, and a thief the newest; else the other way round.
    notes : tuple of str
        Remarks on the schedule.
    """

    name = WorkStealing.name

    victims: str
    problem: Problem
    teams: list[list[int]]
    ranks: list[float]
    able: Able = None
    oldest: bool = False
    notes: tuple[str, ...] = ()
    deques: dict[int, _Deque] = field(default_factory=dict)
    running: dict[int, int] = field(default_factory=dict)  # worker of each task
    ended: dict[int, tuple[int, int]] = field(default_factory=dict)  # when, counted; its worker

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the schedule."""
        return self.notes

    @cached_property
    def generator(self) -> np.random.Generator:
        """The random numbers that choose victims."""
        return self.problem.generator()

    @cached_property
    def worker_of(self) -> dict[int, int]:
        """The worker of each first thread: it is idle where that is."""
        return {team[0]: worker for worker, team in enumerate(self.teams)}

    def decide(self, view: View) -> Iterable[Start]:
        """Return a task for each idle core that finds one."""
        for task in view.newly_finished:
            self.ended[task] = (len(self.ended), self.running.pop(task))
        for dealt, task in enumerate(view.newly_ready):
            self.deques.setdefault(self._owner(task, dealt), _Deque(self.ranks)).append(task)
        found = []
        idle = [self.worker_of[core] for core in view.idle_cores if core in self.worker_of]
        # Who has tasks of its own takes one before others steal.
        for worker in sorted(idle, key=lambda worker: not self.deques.get(worker)):
            if own := self.deques.get(worker):
                task = own.taken(newest=not self.oldest)
            elif loaded := self._loaded(worker):
                task = self._stolen(worker, self.deques[self._victim(worker, loaded)])
            elif any(self.deques.values()):
                continue
            else:
                break
            self.running[task] = worker
            found.append(Start(task, cores=tuple(self.teams[worker])))
        return sorted(found, key=lambda start: start.cores)

    def _owner(self, task: int, dealt: int) -> int:
        """Return the worker on whose deque a task that became ready goes."""
        before = self.problem.graph.predecessors.neighbours(task).tolist()
        first = max(self.ended[other] for other in before)[1] if before else dealt % len(self.teams)
        if self.able is None:
            return first
        return min(np.flatnonzero(self.able[task]).tolist(), key=lambda worker: (worker < first, worker))

    def _core(self, worker: int) -> int:
        """Return the first core of a worker."""
        return self.teams[worker][0] % self.problem.machine.n_cores

    def _loaded(self, thief: int) -> list[int]:
        """Return the workers that have tasks which a thief can run."""
        loaded = sorted(worker for worker, tasks in self.deques.items() if tasks)
        if (able := self.able) is None:
            return loaded
        return [worker for worker in loaded if any(able[list(self.deques[worker].left), thief])]

    def _stolen(self, thief: int, tasks: _Deque) -> int:
        """Take the first of some tasks that a thief can run."""
        if (able := self.able) is None:
            return tasks.taken(newest=self.oldest)
        task = next(task for task in tasks.ordered(newest=self.oldest) if able[task, thief])
        tasks.remove(task)
        return task

    def _victim(self, thief: int, loaded: list[int]) -> int:
        if self.victims == "near":
            hops = self.problem.machine.hops(self._core(thief))
            return min(loaded, key=lambda worker: (int(hops[self._core(worker)]), worker))
        if self.victims == "hierarchical":
            loaded = self._nearest_group(self._core(thief), loaded)
        return loaded[int(self.generator.integers(len(loaded)))]

    def _nearest_group(self, thief: int, loaded: list[int]) -> list[int]:
        """Return those of the given workers that share the tile with a core, else its domain, else all."""
        structure = self.problem.machine.structure
        groups: Sequence[npt.NDArray[np.int32]] = (structure.tile_of, structure.domain_of)
        for group in groups:
            if near := [worker for worker in loaded if group[self._core(worker)] == group[thief]]:
                return near
        return loaded
