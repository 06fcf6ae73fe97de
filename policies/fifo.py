"""All executors poll one shared queue of ready tasks: Graphi's naive scheduler (Sec. 7), and most others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.errors import SpecError
from simsched.policy import Problem, RankPolicy, Shortcuts
from simsched.policy.policy import Discipline
from simsched.policy.shortcuts import released, require_small_s, small_tasks

ORDERS = ("fifo", "lifo", "random")


@dataclass(frozen=True)
class Fifo(RankPolicy):
    """First come, first served from a shared queue; the lowest-numbered idle executor pops.

    Cost: a pop, under a lock that every idle executor polls, inline tasks excepted; O(log n) per decision.

    The nearest to TensorFlow's executor is `order=lifo`: a thread puts the tasks it made ready on the front of its own
    queue in Eigen's pool and takes from there (`ThreadPoolTempl::ScheduleWithHint`), and so does ONNX Runtime's pool.

    Parameters
    ----------
    order : {"fifo", "lifo", "random"}
        The ready task that a pop takes; tasks ready at one instant are in index order. Random ranks are sampled per
        task before the replay: Graphi's naive engine may pick any ready op.
    small_s : float
        A task of at most so many estimated seconds on one thread runs on the executor whose task released it, without
        a pop. 0, the default, for none. TensorFlow does so below 8,000 cycles (`ExecutorState::ScheduleReady`), but
        assumes 100 million cycles for every kernel at first and forgets a tenth of that per run: small kernels are
        inline only after some 90 runs of a session.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> for policy in ("fifo", "fifo[order=lifo]"):
    ...     print(policy, ss.simulate(graph, "generic[cores=1]", policy).start_order.tolist())
    fifo [0, 1, 2]
    fifo[order=lifo] [0, 2, 1]
    """

    name = "fifo"
    queue = "shared"

    order: str = "fifo"
    small_s: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in ORDERS:
            raise SpecError(f"fifo[order={self.order}]: expected one of {', '.join(ORDERS)}")
        require_small_s(self.name, self.small_s)

    @property
    def discipline(self) -> Discipline:
        """First or last come, or the random rank."""
        if self.order == "random":
            return "rank"
        return "lifo" if self.order == "lifo" else "fifo"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the random rank of each task."""
        return problem.generator().random(problem.graph.n_tasks)

    def shortcuts(self, problem: Problem) -> Shortcuts | None:
        """Return the small tasks; None where there are none."""
        if not self.small_s:
            return None
        inline = small_tasks(problem, self.small_s) & released(problem)
        return Shortcuts(single_threaded=np.zeros_like(inline), inline=inline)
