"""The list schedulers of static policies, their queues, and shortcuts past these (docs/semantics.md, rule 9)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from simsched.costs.loads import IDLE, Load
from simsched.errors import EngineError
from simsched.graph.adjacency import Csr, Index
from simsched.graph.taskgraph import Seconds
from simsched.policy import Shortcuts
from simsched.policy.bound import Bound
from simsched.policy.policy import Discipline
from simsched.replay.decision import Decision
from simsched.replay.plan import StaticPlan
from simsched.replay.replay import Chooser


class ReadyQueue(Protocol):
    """Ready tasks in the order of a discipline."""

    def __len__(self) -> int: ...

    def add(self, tasks: list[int]) -> None:
        """Add the tasks that became ready at one instant, ascending."""

    def take(self) -> int:
        """Remove and return the next task."""


class RankQueue:
    """Lowest position first."""

    def __init__(self, position: Index) -> None:
        self._position = position.tolist()
        self._task = [0] * len(self._position)
        for task, place in enumerate(self._position):
            self._task[place] = task
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, tasks: list[int]) -> None:
        """Add ready tasks."""
        for task in tasks:
            heappush(self._heap, self._position[task])

    def take(self) -> int:
        """Remove and return the task of the lowest position."""
        return self._task[heappop(self._heap)]


class FifoQueue:
    """First come, first served; of one instant, the lower index first."""

    def __init__(self) -> None:
        self._tasks: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, tasks: list[int]) -> None:
        """Add ready tasks."""
        self._tasks.extend(tasks)

    def take(self) -> int:
        """Remove and return the task that came first."""
        return self._tasks.popleft()


class LifoQueue(FifoQueue):
    """Last come, first served; of one instant, the lower index first."""

    def add(self, tasks: list[int]) -> None:
        """Add ready tasks."""
        self._tasks.extendleft(reversed(tasks))


def _ready_queue(discipline: Discipline, position: Index) -> ReadyQueue:
    """Return an empty queue of a discipline."""
    if discipline == "rank":
        return RankQueue(position)
    return FifoQueue() if discipline == "fifo" else LifoQueue()


class ListScheduler(Chooser):
    """Decides for a static plan; see `Chooser`."""

    def __init__(self, plan: StaticPlan) -> None:
        self._plan = plan
        executors = plan.executors.n + len(plan.singles)
        self._kind_of = [0] * executors if plan.kind_of is None else plan.kind_of.tolist()
        self._kinds = 1 if plan.kind_of is None else plan.seconds.shape[1]
        self._seconds = plan.seconds.ravel().tolist()
        self._loads = plan.loads.rows() if plan.loads else []
        self._queue = _ready_queue(plan.discipline, plan.position)
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


class PlannedScheduler(ListScheduler):
    """Decides for a static plan that says where each task runs; see `Chooser`."""

    def __init__(self, plan: StaticPlan, assigned: Index) -> None:
        super().__init__(plan)
        self._assigned: list[int] = assigned.tolist()
        self._left: list[list[int]] = [
            [] for _ in range(plan.executors.n)
        ]  # of each executor, the next task last
        for task in np.argsort(plan.position)[::-1].tolist():
            self._left[self._assigned[task]].append(task)
        self._ready = bytearray(len(assigned))
        self._startable: list[int] = []  # heap of executors whose next task is ready

    def released(self, tasks: list[int], now_s: float) -> None:
        """Note ready tasks."""
        for task in tasks:
            self._ready[task] = True
            executor = self._assigned[task]
            if self._left[executor][-1] == task and self._is_idle(executor):
                heappush(self._startable, executor)

    def finished(self, task: int) -> None:
        """Make the task's executor idle."""
        executor = self._executor_of[task]
        super().finished(task)
        if self._left[executor] and self._ready[self._left[executor][-1]]:
            heappush(self._startable, executor)

    def next(self, now_s: float) -> Decision | None:
        """Return the next task of the lowest-numbered executor that is idle and whose next task is ready."""
        if not self._startable:
            return None
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        executor = heappop(self._startable)
        self._idle.pop(bisect_left(self._idle, executor))
        return self._decision(self._left[executor].pop(), executor, delay)


class BoundScheduler(ListScheduler):
    """Decides for a static plan of tasks of which some cannot run on all kinds of cores; see `Chooser`."""

    def __init__(self, plan: StaticPlan, bound: Bound) -> None:
        super().__init__(plan)
        self._group_of: list[int] = bound.group_of.tolist()
        self._runs_on: list[list[bool]] = bound.runs_on.tolist()
        self._ready: list[list[tuple[int, int]]] = [[] for _ in self._runs_on]  # heaps: place in order, task
        self._came = 0

    def released(self, tasks: list[int], now_s: float) -> None:
        """Queue ready tasks by the kinds of cores that can run them."""
        for place, task in zip(self._places(tasks), tasks, strict=True):
            heappush(self._ready[self._group_of[task]], (place, task))

    def _places(self, tasks: list[int]) -> Sequence[int]:
        """Return the places in the order of the discipline of tasks that became ready at one instant."""
        if self._plan.discipline == "rank":
            return [int(self._plan.position[task]) for task in tasks]
        if self._plan.discipline == "lifo":
            self._came -= len(tasks)
            return range(self._came, self._came + len(tasks))
        self._came += len(tasks)
        return range(self._came - len(tasks), self._came)

    def next(self, now_s: float) -> Decision | None:
        """Return the next task that an idle executor can run, and the executor that takes it."""
        groups = [group for group, heap in enumerate(self._ready) if heap and self._able(group)]
        if not groups:
            return None
        delay = self._delay_s + self._per_poller_s * (len(self._idle) - 1)
        group = min(groups, key=lambda one: self._ready[one][0])
        _, task = heappop(self._ready[group])
        able = self._able(group)
        producer = self._producer(task) if self._plan.prefer == "producer" else -1
        executor = producer if producer in able else able[0]
        self._idle.remove(executor)
        return self._decision(task, executor, delay)

    def _able(self, group: int) -> list[int]:
        """Return the idle executors that can run tasks of a group."""
        return [one for one in self._idle if self._runs_on[group][self._kind_of[one]]]


class ShortcutScheduler(ListScheduler):
    """Decides for a static plan with shortcuts; see `Chooser`.

    Executors are those of the layout, then the single-threaded ones.
    """

    def __init__(self, plan: StaticPlan, shortcuts: Shortcuts) -> None:
        super().__init__(plan)
        self._n_teams = plan.executors.n
        self._apart, self._inline = shortcuts.single_threaded.tolist(), shortcuts.inline.tolist()
        self._single_s = plan.singly.seconds.ravel().tolist() if plan.singly else []
        self._single_loads = plan.singly.loads.rows() if plan.singly and plan.singly.loads else []
        self._singles = shortcuts.threads.tolist()
        self._apart_queue = _ready_queue(plan.discipline, plan.position)
        self._idle_singles = list(range(self._n_teams, self._n_teams + len(self._singles)))
        self._released: list[deque[int]] = [deque() for _ in range(self._n_teams + len(self._singles))]
        self._freed: list[int] = []  # executors that finished something at this instant
        self._open = list(range(self._n_teams)) if shortcuts.buffered else []  # with an empty buffer
        self._buffer: dict[int, int] = {}
        self._on_the_way: set[int] = set()  # executors whose buffer is being filled
        self._stalled: set[int] = set()  # those of them that are free already

    def released(self, tasks: list[int], now_s: float) -> None:
        """Queue ready tasks, small ones where they were released."""
        queued: list[int] = []
        apart: list[int] = []
        for task in tasks:
            producer = self._producer(task) if self._inline[task] else -1
            if producer >= 0:
                self._released[producer].append(task)
            else:
                (apart if self._apart[task] else queued).append(task)
        self._queue.add(queued)
        self._apart_queue.add(apart)

    def finished(self, task: int) -> None:
        """Free the task's executor for its own tasks."""
        executor = self._executor_of.pop(task)
        insort(self._freed, executor)
        self._finished[task] = (len(self._finished), executor)

    def own(self, now_s: float) -> Decision | None:
        """Return the next own task of a free executor, lowest first: of released, then of assigned ones."""
        while self._freed:
            executor = self._freed.pop(0)
            if self._released[executor]:
                return self._decision(self._released[executor].popleft(), executor, 0.0)
            if executor in self._on_the_way:
                self._stalled.add(executor)
            elif executor in self._buffer:
                insort(self._open, executor)
                return self._decision(self._buffer.pop(executor), executor, 0.0)
            else:
                insort(self._idle if executor < self._n_teams else self._idle_singles, executor)
        return None

    def next(self, now_s: float) -> Decision | None:
        """Return the next task for an idle executor of the layout, a single-threaded one, or a buffer."""
        if self._queue and self._idle:
            return super().next(now_s)
        if self._apart_queue and self._idle_singles:
            delay = self._delay_s + self._per_poller_s * (len(self._idle_singles) - 1)
            return self._decision(self._apart_queue.take(), self._idle_singles.pop(0), delay)
        if self._queue and self._open:
            return self._held(self._queue.take(), self._open.pop(0))
        return None

    def arrived(self, decision: Decision) -> None:
        """Record that a task is in its executor's buffer; one that waited for it is free to start it."""
        executor = decision.executor
        self._on_the_way.remove(executor)
        if executor in self._stalled:
            self._stalled.remove(executor)
            insort(self._freed, executor)

    def _held(self, task: int, executor: int) -> Decision:
        self._buffer[executor] = task
        self._on_the_way.add(executor)
        return Decision(task, executor, executor, 0.0, self._delay_s, (), held=True)

    def _takes(self, task: int, executor: int) -> tuple[float, Load]:
        if executor < self._n_teams:
            return super()._takes(task, executor)
        row = self._row(task, executor)
        return self._single_s[row], self._single_loads[row] if self._single_loads else IDLE

    def _team(self, task: int, executor: int) -> Sequence[int]:
        if executor < self._n_teams:
            return super()._team(task, executor)
        home = self._singles[executor - self._n_teams]
        moved = -1 if self._plan.displaced is None else int(self._plan.displaced[task, 0])
        return [home if moved < 0 else moved]
