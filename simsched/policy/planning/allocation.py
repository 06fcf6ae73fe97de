"""`plan_allocation`: WBA: random pairs of ready tasks and executors, among those that lengthen a plan least."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simsched.policy.planned_policy import Assignment
from simsched.policy.planning.draft import Draft
from simsched.policy.platform import Platform

#: Pairs that are sampled before all that are good enough are counted.
TRIES = 64


def plan_allocation(platform: Platform, alpha: float, random: np.random.Generator) -> Assignment:
    """Return a plan of workflow-based allocation (`wba`).

    Parameters
    ----------
    platform : Platform
    alpha : float
        Share of the way from the least to the greatest lengthening up to which a pair may be taken.
    random : numpy Generator

    Returns
    -------
    Assignment

    Examples
    --------
    Only the least lengthening: the longest task last, beside the others:

    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_allocation
    >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0, 4.0]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> sorted(np.bincount(plan_allocation(platform, 0.0, np.random.default_rng(0)).executor).tolist())
    [1, 2]
    """
    draft = Draft(platform, insertion=False)
    ready = [task for task, waiting in enumerate(draft.waiting) if not waiting]
    end_s = 0.0
    while ready:
        batch, later = _Batch(draft, ready), list[int]()
        for _ in range(len(ready)):
            task, executor = batch.taken(end_s, alpha, random)
            draft.place(task, executor, draft.start_on(task, executor))
            end_s = max(end_s, draft.finish[task])
            batch.moved(executor)
            later += draft.released(task)
        ready = later
    return draft.assignment()


class _Batch:
    """Tasks that are ready together, and when each would end on each executor, shape (executors, tasks).

    Parameters
    ----------
    draft : Draft
    tasks : list of int
    """

    def __init__(self, draft: Draft, tasks: list[int]) -> None:
        self.draft, self.tasks, self.left = draft, list(tasks), len(tasks)
        kinds = draft.platform.kind_of
        self.seconds = np.ascontiguousarray(draft.platform.kind_seconds[tasks][:, kinds].T)
        self.arrivals = np.ascontiguousarray(np.array([draft.arrivals(task) for task in tasks]).T)
        self.ends = np.empty_like(self.seconds)
        self.least, self.most = np.empty(len(kinds)), np.empty(len(kinds))
        for executor in range(len(kinds)):
            self.moved(executor)

    def moved(self, executor: int) -> None:
        """Work out the ends on an executor again: only there do they change."""
        if not self.left:
            return
        here = slice(None, self.left)
        starts = np.maximum(self.arrivals[executor, here], self.draft.free(executor))
        self.ends[executor, here] = starts + self.seconds[executor, here]
        self._bound(executor)

    def taken(self, end_s: float, alpha: float, random: np.random.Generator) -> tuple[int, int]:
        """Take a task out, at random among the pairs that are good enough; return it and its executor."""
        least, most = (max(float(end) - end_s, 0.0) for end in (self.least.min(), self.most.max()))
        enough = least + alpha * (most - least)
        executor, place = self._sampled(end_s, enough, random)
        task = self.tasks[place]
        self._remove(place)
        return task, executor

    def _sampled(self, end_s: float, enough: float, random: np.random.Generator) -> tuple[int, int]:
        """Return a pair; all that are good enough are equally likely."""
        for _ in range(TRIES):
            executor, place = divmod(int(random.integers(len(self.ends) * self.left)), self.left)
            if self.ends[executor, place] - end_s <= enough:
                return executor, place
        some = np.flatnonzero(self.least - end_s <= enough)
        pairs = np.argwhere(self.ends[some, : self.left] - end_s <= enough)
        row, place = pairs[random.integers(len(pairs))].tolist()
        return int(some[row]), place

    def _remove(self, place: int) -> None:
        """Let the last task have the place of one that is planned."""
        gone, last = self.ends[:, place].copy(), self.left - 1
        self.tasks[place] = self.tasks[last]
        for table in (self.seconds, self.arrivals, self.ends):
            table[:, place] = table[:, last]
        self.left = last
        for executor in np.flatnonzero((gone <= self.least) | (gone >= self.most)).tolist() if last else ():
            self._bound(executor)

    def _bound(self, executor: int) -> None:
        row: npt.NDArray[np.float64] = self.ends[executor, : self.left]
        self.least[executor], self.most[executor] = row.min(), np.where(row < np.inf, row, 0.0).max()
