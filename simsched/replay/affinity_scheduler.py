"""The scheduler by which kinds of cores take the ready tasks that they accelerate most."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from simsched.replay.decision import Decision
from simsched.replay.list_scheduler import ListScheduler
from simsched.replay.plan import StaticPlan


def slower(seconds: list[list[float]], kinds: set[int]) -> Callable[[int, int], float]:
    """Return the function of a task and a kind of core: its seconds over those of the best other kind.

    Parameters
    ----------
    seconds : list of list of float
        Of each task on each kind.
    kinds : set of int
        Kinds of which there are executors.
    """

    def ratio(task: int, kind: int) -> float:
        own = seconds[task][kind]
        best = min((seconds[task][other] for other in kinds if other != kind), default=own)
        if own == best:
            return 1.0
        return own / best if best else float("inf")

    return ratio


class AffinityScheduler(ListScheduler):
    """Lets idle executors take the ready task that their kind of cores accelerates most; see `Chooser`."""

    def __init__(self, plan: StaticPlan) -> None:
        super().__init__(plan)
        self._slower = slower(plan.alone_s.reshape(-1, self._kinds).tolist(), set(self._kind_of))
        self._rank = plan.position.tolist()
        self._heaps: dict[int, list[tuple[float, int, int]]] = {
            kind: [] for kind in sorted(set(self._kind_of))
        }
        self._left: set[int] = set()

    def released(self, tasks: list[int], now_s: float) -> None:
        """Note ready tasks."""
        self._left.update(tasks)
        for kind, heap in self._heaps.items():
            for task in tasks:
                heappush(heap, (self._slower(task, kind), self._rank[task], task))

    def next(self, now_s: float) -> Decision | None:
        """Return the ready task that the lowest-numbered idle executor takes."""
        if not self._left or not self._idle:
            return None
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        executor = self._idle.pop(0)
        heap = self._heaps[self._kind_of[executor]]
        while (task := heappop(heap)[2]) not in self._left:
            pass
        self._left.remove(task)
        return self._decision(task, executor, delay)
