"""Lower bounds from core-seconds: the work within an interval, and the widths that meet a deadline.

Both let every task choose its width from its cost curve, and hold for every such choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np

from simsched.costs.task_costs import FastestTeams, TaskCosts
from simsched.graph import TaskGraph
from simsched.graph.columns import Floats
from simsched.graph.longest_path import longest_path
from simsched.graph.taskgraph import Seconds

#: Most numbers that each bound evaluates, some seconds' worth.
EFFORT = 1 << 26
#: Deadlines that are tried: doubled until one can be met, then halfway between, to all digits that matter.
TRIES = 40


@dataclass(frozen=True, eq=False)
class Windows:
    """Times at which each task can run if the graph is to finish in the seconds of its critical path.

    Parameters
    ----------
    begin_s : float64 array, shape (n,)
        Earliest start: the longest path to the task, each task before it on its fastest width.
    end_s : float64 array, shape (n,)
        Latest finish: the critical path less the longest path after the task.
    length_s : float
        The critical path.
    costs : TaskCosts or FastestTeams
    widths : int
        Widths beyond this make no task faster.
    """

    begin_s: Seconds
    end_s: Seconds
    length_s: float
    costs: TaskCosts | FastestTeams
    widths: int

    @classmethod
    def of(cls, graph: TaskGraph, costs: TaskCosts | FastestTeams) -> Windows:
        """Return the windows of a graph's tasks."""
        best = costs.fastest_widths
        fastest, levels = costs.seconds(best), graph.levels(costs.seconds(best))
        length_s = float(levels.max(initial=0.0))
        heads = longest_path(graph.predecessors, graph.topological_order, fastest)
        return cls(heads - fastest, length_s - (levels - fastest), length_s, costs, int(best.max(initial=1)))

    def options(self) -> Iterator[tuple[int, Seconds]]:
        """Yield every width that may be some task's best, and all tasks' seconds on it, shape (n,)."""
        return ((width, self.costs.seconds(width)) for width in range(1, self.widths + 1))


def fernandez_bussell(windows: Windows, cores: int) -> float:
    """Return Fernandez and Bussell's lower bound on the makespan, for tasks that choose their widths.

    Of each task a part must run between any two times, wherever it moves in its window: the least of its core-seconds,
    of those of the interval on one core, and of those that are left in it when the task starts at its earliest or
    finishes at its latest. Where all parts are more than the cores have core-seconds there, the makespan is longer than
    the critical path, by the excess over the cores.

    Parameters
    ----------
    windows : Windows
    cores : int

    Returns
    -------
    float
        Seconds. Intervals begin at earliest or latest starts, and end at finishes; where these are many, some of them,
        evenly spread: any choice makes a bound. Beyond a few million tasks times widths it is the critical path.

    References
    ----------
    Bounds on the Number of Processors and Time for Multiprocessor Optimal Schedules, IEEE Trans. Computers C-22(8),
    1973; in parts of core-seconds, "energetic reasoning": Erschler, Lopez 1990.
    """
    n = len(windows.begin_s)
    # n (widths k + k^2) numbers, for k beginnings and k ends.
    each = EFFORT // max(n, 1)
    most = (isqrt(windows.widths**2 + 4 * each) - windows.widths) // 2
    if not n or most < 1:
        return windows.length_s
    fastest = np.full(n, np.inf)
    for _, seconds in windows.options():
        fastest = np.minimum(fastest, seconds)
    begins = _some(np.r_[windows.begin_s, windows.end_s - fastest], most)
    ends = _some(np.r_[windows.begin_s + fastest, windows.end_s], most)
    late, early = _parts(windows, begins, ends)
    excess = max(
        _excess(cores, begin, ends, np.minimum(late, part)) for begin, part in zip(begins, early, strict=True)
    )
    return windows.length_s + excess


def _parts(windows: Windows, begins: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Return the least core-seconds before each end of tasks that finish late, and after each begin of early ones.

    Of shape (ends, n) and (begins, n); none is more than the least core-seconds of the task.
    """
    n = len(windows.begin_s)
    late, early = np.full((len(ends), n), np.inf), np.full((len(begins), n), np.inf)
    least = np.full(n, np.inf)
    for width, seconds in windows.options():
        np.minimum(least, width * seconds, out=least)
        np.minimum(late, width * (ends[:, None] - windows.end_s + seconds), out=late)
        np.minimum(early, width * (windows.begin_s + seconds - begins[:, None]), out=early)
    return np.minimum(late, least), np.minimum(early, least)


def _excess(cores: int, begin: float, ends: Floats, parts: Floats) -> float:
    """Return the most seconds that the cores lack between a time and each of the ends; parts have shape (ends, n)."""
    after = ends > begin
    length = ends[after] - begin
    inside = np.clip(parts[after], 0.0, length[:, None])
    return float((inside.sum(axis=1) / cores - length).max(initial=0.0))


def _some(times: Seconds, most: int) -> Floats:
    """Return at most the given number of distinct times, evenly spread, with the first and the last."""
    distinct = np.unique(times)
    return distinct[np.unique(np.linspace(0, len(distinct) - 1, min(most, len(distinct))).astype(np.int64))]


def moldable_area(windows: Windows, cores: int, least_s: float) -> float:
    """Return a lower bound on the makespan from the core-seconds of the widths that meet a deadline.

    To finish within T, a task cannot take a width on which the longest path through it is longer than T; the narrow
    ones, which cost the fewest core-seconds, are the first to go. The shortest T whose core-seconds, over the cores,
    are no more than T is a bound: the area and the critical path, traded against each other.

    Parameters
    ----------
    windows : Windows
    cores : int
    least_s : float
        A lower bound known already, from which the search starts.

    Returns
    -------
    float
        Seconds, at least `least_s`; just that where tasks times widths are more than a few million.

    References
    ----------
    Approximate Algorithms for Scheduling Parallelizable Tasks, SPAA 1992 (the dual test); Scheduling Malleable and
    Nonmalleable Parallel Tasks, SODA 1994.
    """
    n = len(windows.begin_s)
    tries = min(TRIES, EFFORT // max(n * windows.widths, 1))
    if not n or tries < 1 or _area_s(windows, cores, least_s) <= least_s:
        return least_s
    low, high = least_s, np.inf
    for _ in range(tries):
        middle = min(2 * low, (low + high) / 2)
        if _area_s(windows, cores, middle) > middle:
            low = middle
        else:
            high = middle
    return low


def _area_s(windows: Windows, cores: int, deadline_s: float) -> float:
    """Return the least core-seconds of all tasks over the cores, each on a width that can meet the deadline."""
    # Sums of floats in another order differ by so little, and a little more time makes no bound wrong.
    slack = deadline_s * (1 + 1e-9) - windows.begin_s - (windows.length_s - windows.end_s)
    least = np.full(len(slack), np.inf)
    for width, seconds in windows.options():
        least = np.where(seconds <= slack, np.minimum(least, width * seconds), least)
    return float(least.sum()) / cores
