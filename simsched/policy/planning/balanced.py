"""`plan_balanced`: FLB's two candidates: an executor's own task, and a task that is nobody's."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.draft import Draft, Idle
from simsched.policy.planning.priorities import Priorities
from simsched.policy.platform import Platform

#: When something is known to be, what breaks ties, and a task.
Entry = tuple[float, float, int]


def plan_balanced(platform: Platform) -> Assignment:
    """Return the plan of Fast Load Balancing (`flb`).

    Parameters
    ----------
    platform : Platform

    Returns
    -------
    Assignment

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_balanced
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 1.0], [(0, 1)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> plan_balanced(platform).executor.tolist()
    [0, 0, 1]
    """
    return _Balance(platform).planned()


class _Balance:
    """Ready tasks: those that are an executor's own, and the others; queues keep what has left until it is first."""

    def __init__(self, platform: Platform) -> None:
        p = platform.n_executors
        self.draft = Draft(platform, insertion=False)
        self.idle = Idle(self.draft)
        self.level: list[float] = Priorities(platform).b_level.tolist()
        self.owner = [-1] * platform.successors.n
        self.last_s = [0.0] * platform.successors.n
        self.others: list[Entry] = []
        # Own tasks of each executor: by when their data are there, and by when their last message arrives.
        self.by_data: list[list[Entry]] = [[] for _ in range(p)]
        self.by_last: list[list[Entry]] = [[] for _ in range(p)]
        # Executors by when their first own task can start; those whose start is another one now are passed over.
        self.active: list[tuple[float, float, int, int]] = []

    def planned(self) -> Assignment:
        draft = self.draft
        for task, waiting in enumerate(draft.waiting):
            if not waiting:
                self._add(task)
        for _ in range(draft.platform.successors.n):
            task, executor, start = self._chosen()
            draft.place(task, executor, start)
            self.owner[task] = -1
            self._free_own(executor)
            for released in draft.released(task):
                self._add(released)
        return draft.assignment()

    def _chosen(self) -> tuple[int, int, float]:
        """Take a task out of the queues; return it with its executor and its start."""
        first_s, _, task, executor = self._first_active()
        if self.others:
            other = self.others[0][2]
            free = self.idle.first_for(other)
            start = self.draft.start_on(other, free)
            if start <= first_s:
                heappop(self.others)
                return other, free, start
        return task, executor, first_s

    def _first_active(self) -> tuple[float, float, int, int]:
        while self.active:
            start, _, task, executor = self.active[0]
            if self.owner[task] == executor:
                head = self.by_data[executor][0]
                if head[2] == task and start == self._own_start(head, executor):
                    return self.active[0]
            heappop(self.active)
        return inf, 0.0, -1, -1

    def _own_start(self, entry: Entry, executor: int) -> float:
        return max(entry[0], self.draft.free(executor))

    def _add(self, task: int) -> None:
        """Put a task that has become ready into the queues."""
        self.last_s[task], sender = self.draft.enabling(task)
        able = sender >= 0 and self.draft.start_on(task, sender) < inf
        if not able or self.last_s[task] < self.draft.free(sender):
            self._to_others(task)
            return
        self.owner[task] = sender
        # Its start there is no earlier than its data, which arrive when they do.
        arrival = float(self.draft.arrivals(task)[sender])
        heappush(self.by_data[sender], (arrival, -self.level[task], task))
        heappush(self.by_last[sender], (self.last_s[task], -self.level[task], task))
        self._activate(sender)

    def _to_others(self, task: int) -> None:
        heappush(self.others, (self.last_s[task], -self.level[task], task))

    def _free_own(self, executor: int) -> None:
        """Let those of an executor's own tasks be nobody's whose last message arrives before it is free."""
        queue, free = self.by_last[executor], self.draft.free(executor)
        while queue and (self.owner[queue[0][2]] != executor or queue[0][0] < free):
            task = heappop(queue)[2]
            if self.owner[task] == executor:
                self.owner[task] = -1
                self._to_others(task)
        self._activate(executor)

    def _activate(self, executor: int) -> None:
        """Note when the first of an executor's own tasks can start."""
        queue = self.by_data[executor]
        while queue and self.owner[queue[0][2]] != executor:
            heappop(queue)
        if queue:
            _, level, task = queue[0]
            heappush(self.active, (self._own_start(queue[0], executor), level, task, executor))
