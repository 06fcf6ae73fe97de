"""The list scheduler of static policies: the next ready task on an idle executor."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from simsched.costs.loads import IDLE, Load
from simsched.errors import EngineError
from simsched.graph.adjacency import Csr, Index
from simsched.graph.taskgraph import Seconds
from simsched.replay.decision import Decision
from simsched.replay.plan import StaticPlan
from simsched.replay.queues import ready_queue
from simsched.replay.replay import Chooser


class ListScheduler(Chooser):
    """Decides for a static plan; see `Chooser`."""

    def __init__(self, plan: StaticPlan) -> None:
        self._plan = plan
        executors = plan.executors.n + len(plan.singles)
        self._kind_of = [0] * executors if plan.kind_of is None else plan.kind_of.tolist()
        self._kinds = 1 if plan.kind_of is None else plan.seconds.shape[1]
        self._seconds = plan.seconds.ravel().tolist()
        self._loads = plan.loads.rows() if plan.loads else []
        self._queue = ready_queue(plan.discipline, plan.position)
        self._idle = list(range(plan.executors.n))
        self._cores: list[list[int]] = [
            plan.executors.neighbours(i).tolist() for i in range(plan.executors.n)
        ]
        self._executor_of: dict[int, int] = {}
        self._delay_s, self._per_poller_s = plan.dispatch_s, plan.per_poller_s
        self._finished: dict[int, tuple[int, int]] = {}  # when, counted, and where; for a producer's executor

    def released(self, tasks: list[int], now_s: float) -> None:
        """Queue ready tasks."""
        self._queue.add(tasks)

    def finished(self, task: int) -> None:
        """Make the task's executor idle."""
        executor = self._executor_of.pop(task)
        insort(self._idle, executor)
        if self._plan.prefer == "producer":
            self._finished[task] = (len(self._finished), executor)

    def next(self, now_s: float) -> Decision | None:
        """Return the next task and the idle executor that takes it, if there are both."""
        if not self._queue or not self._idle:
            return None
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        task = self._queue.take()
        return self._decision(task, self._idle.pop(self._place(task)), delay)

    def _is_idle(self, executor: int) -> bool:
        place = bisect_left(self._idle, executor)
        return place < len(self._idle) and self._idle[place] == executor

    def _decision(self, task: int, executor: int, delay: float) -> Decision:
        self._executor_of[task] = executor
        seconds, load = self._takes(task, executor)
        return Decision(task, executor, executor, seconds, delay, self._team(task, executor), load)

    def _takes(self, task: int, executor: int) -> tuple[float, Load]:
        """Return the seconds of a task on an executor, and its demand."""
        row = self._row(task, executor)
        return self._seconds[row], self._loads[row] if self._loads else IDLE

    def _row(self, task: int, executor: int) -> int:
        """Return the place of a task's seconds and demand on the kind of an executor's cores."""
        return task * self._kinds + self._kind_of[executor]

    def _place(self, task: int) -> int:
        """Return the position among the idle executors of the one that takes a task."""
        if self._plan.prefer == "lowest":
            return 0
        producer = self._producer(task)
        place = bisect_left(self._idle, producer)
        return place if place < len(self._idle) and self._idle[place] == producer else 0

    def _producer(self, task: int) -> int:
        """Return the executor that ran the last of a task's predecessors to finish; -1 where it has none."""
        before = self._plan.problem.graph.predecessors.neighbours(task).tolist()
        _, producer = max((self._finished[other] for other in before), default=(0, -1))
        return producer

    def _team(self, task: int, executor: int) -> Sequence[int]:
        if self._plan.displaced is None:
            return self._cores[executor]
        moved: list[int] = self._plan.displaced[task].tolist()
        return [home if to < 0 else to for to, home in zip(moved, self._cores[executor], strict=True)]

    def stuck(self) -> Exception:
        """Return an error that cannot happen in acyclic graphs."""
        return EngineError("the replay stopped with tasks left; this is a bug in simsched")

    def teams(self, team: Index, task: Index) -> tuple[Csr, Index]:
        """Return the executors' cores, or those to which the operating system moved their threads."""
        return self._plan.teams(team, task)

    def alone(self, teams: Csr, team: Index, executor: Index) -> Seconds:
        """Return each task's undisturbed seconds on its executor."""
        return self._plan.alone(executor)
