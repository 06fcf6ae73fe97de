"""Moldable tasks: widths of those on the critical path, and their teams."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Index
from simsched.graph.columns import Floats
from simsched.graph.taskgraph import Seconds
from simsched.native import find
from simsched.policy.planning.compiled import bound, flat
from simsched.policy.planning.draft import Draft
from simsched.policy.planning.paths import Paths
from simsched.policy.planning.priorities import positions
from simsched.policy.platform import Platform


def critical_widths(
    platform: Platform, table: npt.NDArray[np.float64], most: Index, group: Index | None = None
) -> Index:
    """Return the width of each task: one more core, again and again, for the task of the critical path that gains most.

    A task gains the difference of its seconds over its cores. It ends when the critical path, with mean messages, is no
    longer than the mean load of the executors, or none of its tasks may grow.

    Parameters
    ----------
    platform : Platform
        Of one executor for each core.
    table : float64 array, shape (n, widest)
        Seconds of each task on 1, 2, ... cores.
    most : int32 array, shape (n,)
        The widest that each task may become.
    group : int32 array, shape (n,), optional
        Tasks of a group get no more cores together than there are, unless one each is more.

    Returns
    -------
    int32 array, shape (n,)

    Examples
    --------
    Two tasks of 8 and 1 s that divide evenly, on four cores: the first, on three, takes as long as the mean load:

    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import critical_widths
    >>> graph, machine = ss.TaskGraph.from_edges([8.0, 1.0]), ss.machine("generic[cores=4]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(4, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> table = np.array([[8.0], [1.0]]) / np.arange(1, 5)
    >>> critical_widths(platform, table, np.array([4, 4], np.int32)).tolist()
    [4, 1]
    """
    native, messages = find(), platform.mean_message_s
    if native is not None:
        groups = np.empty(0, np.int32) if group is None else np.ascontiguousarray(group, np.int32)
        given = flat(table), np.ascontiguousarray(most, np.int32), platform.n_executors, messages, groups
        return np.asarray(native.critical_widths(bound(native, platform), *given))
    return _Widths(platform, table, most, group).grown()


class _Widths:
    def __init__(
        self, platform: Platform, table: npt.NDArray[np.float64], most: Index, group: Index | None
    ) -> None:
        n = platform.successors.n
        self.cores, self.table, self.most = platform.n_executors, table.tolist(), most.tolist()
        self.group = range(n) if group is None else group.tolist()
        # Without groups, none is ever full.
        self.used = [0] * n if group is None else np.bincount(group, minlength=n).tolist()
        self.step = 0 if group is None else 1
        self.width = [1] * n
        self.work = 0.0
        for row in self.table:
            self.work += row[0]
        self.paths = Paths(platform, table[:, 0] if n else np.zeros(0), platform.mean_message_s)

    def grown(self) -> Index:
        """Return the widths at the end."""
        while path := self.paths.longest():
            if self.paths.level[path[0]] <= self.work / self.cores or (task := self._chosen(path)) < 0:
                break
            row, width = self.table[task], self.width[task]
            self.work += row[width] * (width + 1.0) - row[width - 1] * float(width)
            self.width[task] += 1
            self.used[self.group[task]] += self.step
            self.paths.set_seconds(task, row[width])
        return np.array(self.width, np.int32)

    def _chosen(self, path: list[int]) -> int:
        """Return the task that gains most, the first of several; -1 where none may grow."""
        best, chosen = 0.0, -1
        for task in path:
            width, row = self.width[task], self.table[task]
            if width < self.most[task] and self.used[self.group[task]] < self.cores:
                gain = row[width - 1] / float(width) - row[width] / (width + 1.0)
                if gain > best:
                    best, chosen = gain, task
        return chosen


def plan_teams(
    platform: Platform, width: Index, seconds: Seconds, level: Floats
) -> tuple[list[list[int]], Index]:
    """Return the team of each task, and the order of all: of the ready ones, the highest level first.

    A task gets the executors that are free first, the lowest-numbered of several, and starts when all of them are, and
    its data have arrived at the first.

    Parameters
    ----------
    platform : Platform
        Of one executor for each core.
    width : int32 array, shape (n,)
    seconds, level : float64 arrays, shape (n,)
        On these widths.

    Returns
    -------
    list of list of int, int32 array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> from simsched.policy.planning import plan_teams
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 3.0, 1.0]), ss.machine("generic[cores=4]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(4, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> seconds = graph.durations_s
    >>> teams, order = plan_teams(platform, np.array([2, 3, 1], np.int32), seconds, seconds)
    >>> teams, order.tolist()
    ([[0, 3], [0, 1, 2], [1]], [1, 0, 2])
    """
    draft, free = Draft(platform, insertion=False), np.zeros(platform.n_executors)
    teams: list[list[int]] = [[]] * platform.successors.n
    order: list[int] = []
    for task in draft.by_position(positions(-level)):
        team = np.sort(np.argsort(free, kind="stable")[: width[task]])
        start = max(float(free[team].max()), float(draft.arrivals(task)[team[0]]))
        draft.place(task, int(team[0]), start, float(seconds[task]))
        free[team] = draft.finish[task]
        teams[task] = team.tolist()
        order.append(task)
    return teams, np.array(order, np.int32)
