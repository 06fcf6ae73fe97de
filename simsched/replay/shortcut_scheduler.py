"""The list scheduler with shortcuts past its queue (docs/semantics.md, rule 9)."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence

from simsched.costs.loads import IDLE, Load
from simsched.policy import Shortcuts
from simsched.replay.decision import Decision
from simsched.replay.list_scheduler import ListScheduler, ready_queue
from simsched.replay.plan import StaticPlan


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
        self._apart_queue = ready_queue(plan.discipline, plan.position)
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
