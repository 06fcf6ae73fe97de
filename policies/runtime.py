"""The schedulers of task runtimes, by name: which ready task a worker takes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

import numpy as np

from simsched.errors import SpecError
from simsched.graph import TaskGraph
from simsched.notes import Note, Weight
from simsched.policies.work_stealing import Stealing
from simsched.policy import Policy, Problem, Start, View
from simsched.policy.planning import recorded_priorities


@dataclass(frozen=True)
class System:
    """The queues of a runtime.

    Parameters
    ----------
    title : str
        The runtime, and its scheduler.
    source : str
        Where in its sources this is.
    own : bool
        Whether each worker has a deque of its own, whose newest task it takes, and steals the oldest of another one's
        (with priorities, as `lws`). Else all take the oldest of one queue.
    keeps : {"", "first", "last"}
        Which of the tasks that one made ready its worker runs next, past all queues.
    ranked : {"", "priority", "levels", "index", "plan"}
        What the one queue, or each deque, is ordered by, in place of age: recorded priorities, the highest first; the
        number of tasks on the longest path to a sink; the place in the program; the place in ONNX Runtime's plan.
    reverse : bool
        Whether tasks made ready at once join a deque from the last to the first.
    undeferred : bool
        Whether a single worker runs each task as it is created, past all queues.
    single : bool
        Whether one worker runs all tasks, however many there are.
    inside : bool
        Whether worker 0 itself creates the tasks that are ready from the beginning, in its own deque; else they come
        from outside.
    created : bool
        Whether tasks join the one queue when they are created, in the order of the graph; a worker that takes one which
        is not ready puts it aside, and it joins the queue again when it is.
    default : str
        Where priorities come from that nobody gave, which are not modelled; empty where all tasks are then alike.
    """

    title: str
    source: str
    own: bool = False
    keeps: str = ""
    ranked: str = ""
    reverse: bool = False
    undeferred: bool = False
    single: bool = False
    inside: bool = False
    created: bool = False
    default: str = ""


#: Runtimes by name.
SYSTEMS = {
    "starpu-eager": System("StarPU, eager", "src/sched_policies/eager_central_policy.c: one FIFO list"),
    "starpu-prio": System(
        "StarPU, prio", "src/sched_policies/eager_central_priority_policy.c: one list by priority", ranked="priority"
    ),
    "starpu-lws": System(
        "StarPU, lws", "src/sched_policies/work_stealing_policy.c, prio_deque.c: of the highest priority, a worker "
        "takes its oldest task, a thief the newest; others push to all workers in turn", own=True, ranked="priority",
    ),
    "nanos-bf": System(
        "Nanos++, breadth-first", "src/plugins/sched/bf_sched.cpp: push_back, pop_front; atBeforeExit takes the "
        "immediate successor", keeps="first",
    ),
    "nanos-wf": System(
        "Nanos++, work-first", "src/plugins/sched/wf_sched.cpp: local push_front, pop_front; immediate successor",
        own=True, keeps="first", reverse=True,
    ),
    "nanos-botlev": System(
        "Nanos++, bottom level", "src/plugins/sched/botlev_sched.cpp: priority is the bottom level, in tasks",
        ranked="levels",
    ),
    "llvm-openmp": System(
        "OpenMP tasks of LLVM", "openmp/runtime/src/kmp_tasking.cpp: own tail first, thieves take heads; "
        "kmp_taskdeps: successors are a list with the last one first; serial teams run tasks at once", own=True,
        reverse=True, undeferred=True,
    ),
    "gnu-openmp": System("OpenMP tasks of GNU", "libgomp/task.c: released tasks join the end of the team's queue"),
    "onetbb": System(
        "oneTBB, flow graph", "include/oneapi/tbb/detail/_flow_graph_impl.h: combine_tasks spawns the earlier, returns "
        "the later; try_put within an arena spawns", own=True, keeps="last", inside=True,
    ),
    "taskflow": System(
        "Taskflow", "taskflow/core/executor.hpp: the last task made ready is the worker's cache", own=True, keeps="last"
    ),
    "cilk": System(
        "Cilk-style stealing", "Blumofe and Leiserson 1999: newest of the own deque, oldest of a random victim's",
        own=True,
    ),
    "onnxruntime": System(
        "ONNX Runtime, sequential and (since 1.14, where the nodes of a device are one stream) parallel",
        "onnxruntime/core/framework/sequential_executor.cc: the order of the plan; core/graph/graph.cc, ReverseDFSFrom",
        ranked="plan", single=True,
    ),
    "tensorflow": System(
        "TensorFlow's executor", "core/common_runtime/executor.cc, ScheduleReady: one expensive node stays on the "
        "thread, the last of a node's edges; others go to the front of its queue in Eigen's pool. Graphs of "
        "recordings have the order of starts in place of that of edges: here it is the first",
        own=True, keeps="first", reverse=True,
    ),
    "pytorch-interop": System(
        "Forks of TorchScript on PyTorch's inter-op pool", "c10/core/thread_pool.cpp: one std::queue; "
        "torch/csrc/jit/runtime/interpreter.cpp: a fork is launched at once, and again when what it awaits has ended",
        created=True,
    ),
    "dask": System(
        "Dask's workers", "distributed/worker_state_machine.py: a heap by priority, from dask.order", ranked="priority",
        default="dask.order, depth first",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Runtime(Policy):
    """Each core is a worker, which takes ready tasks as those of a task runtime do.

    Of tasks made ready at once, the order is that of
    the graph; runtimes take the order in which edges were registered, which few recordings have. Stealing costs no
    more than starting, and victims are random (`starpu-lws`: the nearest; it is `lws` with no priorities but recorded
    ones). Cost: O(log n + cores) per start.

    Parameters
    ----------
    system : str
        The runtime: `starpu-eager`, `starpu-prio`, `starpu-lws`, `nanos-bf`, `nanos-wf`, `nanos-botlev`, `llvm-openmp`,
        `gnu-openmp`, `onetbb`, `taskflow`, `cilk`, `onnxruntime`, `tensorflow`, `pytorch-interop`, `dask`.

    References
    ----------
    The sources of each; `simsched.policies.runtime.SYSTEMS` names the files.

    Examples
    --------
    0 makes 1, 2 and 3 ready; breadth-first Nanos++ runs the first of them next, Taskflow the last:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0, 1.0], [(0, 1), (0, 2), (0, 3)])
    >>> for system in ("nanos-bf", "taskflow"):
    ...     print(ss.simulate(graph, "generic[cores=1]", f"runtime[system={system}]").start_order.tolist())
    [0, 1, 2, 3]
    [0, 3, 2, 1]
    """

    name = "runtime"
    any_core = True
    family = "runtimes"
    queue = "shared"

    system: str = "starpu-eager"

    def __post_init__(self) -> None:
        if self.system not in SYSTEMS:
            raise SpecError(f"runtime[system={self.system}]: expected one of {', '.join(SYSTEMS)}")

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with empty queues."""
        system = SYSTEMS[self.system]
        if system.own and system.ranked:
            teams = [[thread] for thread in range(problem.machine.n_threads)]
            ranks, notes = _ranks(system, problem), _unranked(system, problem)
            return _Deques("near", problem, teams, ranks, oldest=True, notes=notes)
        if system.undeferred and problem.machine.n_cores == 1:
            system = replace(system, own=False, ranked="index")
        forks = deque(range(problem.graph.n_tasks if system.created else 0))
        return _Workers(system, problem, _ranks(system, problem), problem.generator(), forks)


def _ranks(system: System, problem: Problem) -> list[float]:
    """Return what the one queue is ordered by, lowest first; all zeros where it is ordered by age."""
    graph = problem.graph
    ranks = np.zeros(graph.n_tasks)
    if system.ranked == "index":
        ranks = np.arange(graph.n_tasks, dtype=np.float64)
    elif system.ranked == "plan":
        ranks[_plan(graph)] = np.arange(graph.n_tasks)
    elif system.ranked == "levels":
        ranks = -graph.levels(np.ones(graph.n_tasks))
    elif system.ranked == "priority" and (priorities := recorded_priorities(problem)) is not None:
        ranks = -priorities
    found: list[float] = ranks.tolist()
    return found


def _plan(graph: TaskGraph) -> list[int]:
    """Return ONNX Runtime's plan: depth first from what nothing depends on, the highest of the session's numbers first.

    Priorities of recordings are these numbers, negated; without any, tasks have the order of the model.
    """
    run = graph.recording
    numbers = np.arange(graph.n_tasks) if run is None or run.priorities is None else -run.priorities
    order, after, before = np.argsort(numbers, kind="stable"), graph.successors, graph.predecessors
    stack = [(task, False) for task in order.tolist() if not len(after.neighbours(task))]
    found, seen = list[int](), set[int]()
    while stack:
        task, left = stack.pop()
        if left:
            found.append(task)
        elif task not in seen:
            seen.add(task)
            stack.append((task, True))
            near = before.neighbours(task)
            stack += [(other, False) for other in near[np.argsort(numbers[near], kind="stable")].tolist()]
    return found


def _unranked(system: System, problem: Problem) -> tuple[str, ...]:
    """Return a note where tasks would be ordered by priorities, and none are recorded."""
    if system.ranked != "priority" or recorded_priorities(problem) is not None:
        return ()
    said = "no priorities recorded: ready tasks are ordered by age alone, breadth first"
    if not system.default:
        return (Note(said, Weight.ASSUMPTION),)
    return (Note(f"{said}; {system.title} have those of {system.default}", Weight.DOUBT),)


class _Deques(Stealing):
    name = Runtime.name
    queue = Runtime.queue


@dataclass(frozen=True, eq=False)
class _Workers(Policy):
    name = Runtime.name
    queue = Runtime.queue

    system: System
    problem: Problem
    ranks: list[float]
    generator: np.random.Generator
    forks: deque[int]  # in the queue since they were created, and taken by no worker yet
    waiting: set[int] = field(default_factory=set)  # those of them that are ready
    deques: dict[int, deque[int]] = field(default_factory=dict)
    heap: list[tuple[float, int, int]] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)  # of a worker: the task that it runs next
    running: dict[int, int] = field(default_factory=dict)  # worker of each task
    ended: dict[int, tuple[int, int]] = field(default_factory=dict)  # of each task: when, counted; its worker

    @property
    def remarks(self) -> tuple[str, ...]:
        """A note where tasks would be ordered by priorities, and none are recorded."""
        return _unranked(self.system, self.problem)

    def decide(self, view: View) -> Iterable[Start]:
        """Return a task for each idle worker that finds one."""
        for done in view.newly_finished:
            self.ended[done] = (len(self.ended), self.running.pop(done))
        self._add(view.newly_ready)
        found: list[Start] = []
        # Workers that keep a task come first, so that others do not steal before.
        for core in sorted(view.idle_cores, key=lambda core: core not in self.kept):
            if self.system.single and self.running:
                break
            if (task := self._next(core)) is not None:
                self.running[task] = core
                found.append(Start(task, cores=(core,)))
        return found

    def _add(self, ready: Iterable[int]) -> None:
        by_worker: dict[int, list[int]] = {}
        for task in ready:
            if self.forks and task >= self.forks[0]:
                self.waiting.add(task)
                continue
            by_worker.setdefault(self._maker(task), []).append(task)
        for worker, tasks in by_worker.items():
            for task in self._left(worker, tasks):
                age = len(self.ended) * self.problem.graph.n_tasks + task
                if not self.system.own:
                    heappush(self.heap, (self.ranks[task], age, task))
                else:
                    self.deques.setdefault(worker, deque()).append(task)

    def _left(self, worker: int, tasks: list[int]) -> Iterator[int]:
        """Yield the tasks that join a queue, after the one that the worker keeps."""
        if self.system.keeps and worker >= 0 and worker not in self.kept:
            self.kept[worker] = tasks.pop(0 if self.system.keeps == "first" else -1)
        yield from reversed(tasks) if self.system.reverse and worker >= 0 else tasks

    def _maker(self, task: int) -> int:
        """Return the worker that made a task ready; -1 where it came from outside."""
        before = self.problem.graph.predecessors.neighbours(task).tolist()
        first = 0 if self.system.inside else -1
        return max((self.ended[other] for other in before), default=(0, first))[1]

    def _next(self, core: int) -> int | None:
        if core in self.kept:
            return self.kept.pop(core)
        while self.forks:
            task = self.forks.popleft()
            if task in self.waiting:
                return task
        if not self.system.own:
            return heappop(self.heap)[2] if self.heap else None
        if self.deques.get(core):
            return self.deques[core].pop()
        if not (loaded := sorted(other for other, tasks in self.deques.items() if tasks)):
            return None
        return self.deques[loaded[int(self.generator.integers(len(loaded)))]].popleft()
