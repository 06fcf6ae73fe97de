"""Whether a schedule of a given length exists, asked of another solver: a time-indexed integer program, by HiGHS.

It shares nothing with `simsched.exact` but the graph: one variable says that a task starts at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

if TYPE_CHECKING:
    import simsched as ss

INFEASIBLE = 2


class Rows:
    """Constraints `low <= sum of some variables <= high`, gathered one by one."""

    def __init__(self) -> None:
        self.row: list[int] = []
        self.column: list[int] = []
        self.low: list[int] = []
        self.high: list[int] = []

    def add(self, columns: np.ndarray, low: int, high: int) -> None:
        """Add one."""
        self.row += [len(self.low)] * len(columns)
        self.column += columns.tolist()
        self.low.append(low)
        self.high.append(high)

    def constraint(self, n: int) -> LinearConstraint:
        """Return them all, over n variables."""
        matrix = coo_matrix((np.ones(len(self.row)), (self.row, self.column)), shape=(len(self.low), n))
        return LinearConstraint(matrix.tocsr(), self.low, self.high)


def impossible(graph: ss.TaskGraph, cores: int, length: int, limit_s: float) -> bool:
    """Tell whether the solver proves that no schedule of one-core tasks is so short; False, too, where time is up.

    Parameters
    ----------
    graph : TaskGraph
        Of whole seconds.
    cores, length : int
    limit_s : float
        Seconds to search.
    """
    seconds = graph.durations_s.astype(np.int64)
    first, last = _windows(graph, seconds, length)
    if (last < first).any():
        return True
    starts = [np.arange(low, high + 1) for low, high in zip(first.tolist(), last.tolist(), strict=True)]
    begin, task = np.concatenate(starts), np.repeat(np.arange(graph.n_tasks), last - first + 1)
    rows = Rows()
    for one in range(graph.n_tasks):
        rows.add(np.flatnonzero(task == one), 1, 1)
    for now in range(length):
        rows.add(np.flatnonzero((begin <= now) & (now < begin + seconds[task])), 0, cores)
    for before, after in zip(
        graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True
    ):
        for now in range(first[after], last[after] + 1):
            late = (task == before) & (begin + seconds[before] > now)
            rows.add(np.flatnonzero(late | ((task == after) & (begin <= now))), 0, 1)
    n = len(task)
    found = milp(
        np.zeros(n), constraints=rows.constraint(n), integrality=np.ones(n), bounds=Bounds(0, 1),
        options={"time_limit": limit_s},
    )  # fmt: skip
    return bool(found.status == INFEASIBLE)


def _windows(graph: ss.TaskGraph, seconds: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last start of each task in a schedule of a length."""
    first = np.zeros(graph.n_tasks, np.int64)
    for one in graph.topological_order.tolist():
        after = graph.successors.neighbours(one)
        first[after] = np.maximum(first[after], first[one] + seconds[one])
    return first, length - graph.levels().astype(np.int64)
