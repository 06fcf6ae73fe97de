"""dm: StarPU's deque model: a ready task goes at once to the worker that is expected to finish it first."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import ClassVar

import numpy as np

from simsched.graph.columns import Floats
from simsched.native import find
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Online, Priorities
from simsched.policy.planning.compiled import assignment, bound


@dataclass(frozen=True, kw_only=True)
class Dm(PlannedPolicy):
    """Deque Model of StarPU: a task that becomes ready joins the queue of the worker expected to finish it first.

    The worker is expected to run all that is in its queue before. Data are not looked at; of workers that would finish
    a task together, the lowest-numbered gets it. As all decisions follow from estimates, they are made before the
    replay, as if these were true; a runtime whose tasks take longer than estimated decides otherwise.

    Cost: O(tasks x executors + edges x executors).

    References
    ----------
    Augonnet, Thibault, Namyst, Wacrenier: StarPU: A Unified Platform for Task Scheduling on Heterogeneous Multicore
    Architectures. Concurrency and Computation 23(2), 2011, Sec. 3. StarPU 1.4, deque_modeling_policy_data_aware.c.

    Examples
    --------
    Two tasks on two cores, the second twice as fast: both wait for it, the third finds the first earlier.

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[4.0, 1.0], [4.0, 2.0], [2.0, 2.0]])
    >>> ss.simulate(graph, "generic[cores=2,kinds=each]", "dm").executor.tolist()
    [1, 1, 0]
    """

    name = "dm"
    family = "runtimes"
    #: Whether a task waits for its data before it is expected to start.
    data_aware: ClassVar[bool] = False
    #: Whether queues are sorted by priority.
    prioritized: ClassVar[bool] = False

    @property
    def weight(self) -> float:
        """Weight of the seconds of missing data in the choice of a worker, beside when it finishes."""
        return 0.0

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        level = Priorities(platform).b_level if self.prioritized else np.zeros(platform.successors.n)
        native, beta = find(), self.weight if self.data_aware else None
        if native is not None:
            return assignment(
                native.plan_queues(bound(native, platform), level, -1.0 if beta is None else beta)
            )
        run = Online(platform)
        return run.run(_Queues(run, level, beta))


class _Queues:
    """A queue of tasks for each worker, and when it is expected to have run them."""

    def __init__(self, run: Online, level: Floats, beta: float | None) -> None:
        n = run.platform.n_executors
        self.run, self.level, self.beta = run, level.tolist(), beta
        self.queues: list[list[tuple[float, int, int]]] = [[] for _ in range(n)]  # -level, when it came, task
        self.came = 0
        self.running_until_s, self.queued_s = np.zeros(n), np.zeros(n)
        self.share_s: dict[int, float] = {}  # what each queued task adds to its queue

    def push(self, task: int, now_s: float) -> None:
        """Queue a task that is ready."""
        seconds = self.run.platform.seconds(task)
        free_s = np.maximum(self.running_until_s, now_s) + self.queued_s
        if self.beta is None:
            ends_s = free_s + seconds
            worker = int(ends_s.argmin())
        else:
            missing_s = self.run.missing_s(task)
            ends_s = np.maximum(free_s, now_s + missing_s) + seconds
            worker = int((ends_s - ends_s.min() + self.beta * missing_s).argmin())
        self.share_s[task] = float(ends_s[worker] - free_s[worker])
        self.queued_s[worker] += self.share_s[task]
        heappush(self.queues[worker], (-self.level[task], self.came, task))
        self.came += 1

    def pop(self, executor: int, now_s: float) -> int:
        """Return the first task of a worker's queue."""
        if not self.queues[executor]:
            self.queued_s[executor] = 0.0  # what is left of sums of floats
            return -1
        return heappop(self.queues[executor])[2]

    def started(self, task: int, executor: int, finish_s: float) -> None:
        """Note until when a worker is busy."""
        self.running_until_s[executor] = finish_s
        self.queued_s[executor] -= self.share_s.pop(task)
