"""dm: StarPU's deque model: a ready task goes at once to the worker that is expected to finish it first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.policy import Problem, RankPolicy
from simsched.policy.policy import Discipline


@dataclass(frozen=True, kw_only=True)
class Dm(RankPolicy):
    """Deque Model of StarPU: a task that becomes ready joins the queue of the worker expected to finish it first.

    The worker is expected to run all that is in its queue before, from when it is expected to be free: it is known when
    tasks have started, not when they will end. Data are not looked at, but sent as soon as the task is queued. Of
    workers that would finish a task together, the lowest-numbered gets it.

    Cost: O(tasks x executors).

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

    @property
    def discipline(self) -> Discipline:
        """Order of the queues of workers."""
        return "pushed"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the same number for all tasks: queues are first come, first served."""
        return np.zeros(problem.graph.n_tasks)
