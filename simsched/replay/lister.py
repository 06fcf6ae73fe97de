"""The list scheduler behind static policies: the next ready task on the lowest-numbered idle executor."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from simsched.errors import EngineError
from simsched.replay.decision import Decision
from simsched.replay.queues import ready_queue

if TYPE_CHECKING:
    import numpy as np

    from simsched.graph.adjacency import Csr
    from simsched.graph.taskgraph import Seconds
    from simsched.replay.plan import StaticPlan


class Lister:
    """Decides for a static plan; see `Chooser`."""

    def __init__(self, plan: StaticPlan) -> None:
        self._plan = plan
        self._seconds = plan.seconds.tolist()
        self._shares, self._demands_Bps = (
            ([], []) if plan.memory is None else (c.tolist() for c in plan.memory)
        )
        self._queue = ready_queue(plan.discipline, plan.position)
        self._idle = list(range(plan.executors.n))
        self._executor_of: dict[int, int] = {}
        self._delay_s, self._per_poller_s = plan.dispatch_s, plan.per_poller_s

    def released(self, tasks: list[int], now_s: float) -> None:
        """Queue ready tasks."""
        self._queue.add(tasks)

    def finished(self, task: int) -> None:
        """Make the task's executor idle."""
        heappush(self._idle, self._executor_of.pop(task))

    def next(self, now_s: float) -> Decision | None:
        """Return the next task on the lowest-numbered idle executor, if there are both."""
        if not self._queue or not self._idle:
            return None
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        executor = heappop(self._idle)
        task = self._queue.take()
        self._executor_of[task] = executor
        return Decision(task, executor, executor, self._seconds[task], delay, *self._memory_of(task))

    def _memory_of(self, task: int) -> tuple[float, int]:
        return (self._shares[task], self._demands_Bps[task]) if self._shares else (0.0, 0)

    def stuck(self) -> Exception:
        """Return an error that cannot happen while graphs are acyclic."""
        return EngineError("the replay stopped with tasks left; this is a bug in simsched")

    def teams(self) -> Csr:
        """Return the executors' cores."""
        return self._plan.executors

    def alone(self, widths: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Seconds:
        """Return each task's undisturbed seconds on an executor."""
        return self._plan.alone_s
