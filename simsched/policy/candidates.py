"""Co-running by candidate widths: a rule that both engines implement."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt

from simsched.errors import PolicyError
from simsched.parameters import is_whole
from simsched.policy.policy import Policy, Start
from simsched.policy.problem import Problem, Running, View
from simsched.renamed import old_fields


@old_fields(most="max_running", beside="corun")
@dataclass(frozen=True, eq=False)
class CandidateRule(Policy):
    """Start what fits the idle cores and does not outlast the running tasks, fewest threads first.

    Of all offers of ready tasks that fit the idle cores and would finish no later than the last of the running tasks,
    the one with the fewest threads starts (ties: the lower task index). If there is none, the most time-consuming
    ready task that has a width that fits starts at the first of these; if there is none, cores idle until the next
    completion. Columns from `offered` on count only there.

    Without `corun`, tasks run one after another instead: the one that has been ready longest, at its first width.

    With `serial_s`, those run on the first hardware thread of each core only. While one of them holds all cores, small
    tasks start on the second ones: of all that have a width that fits there and would finish no later than the holder,
    the one of the least serial seconds, at the first of these widths.

    Parameters
    ----------
    widths : int32 array, shape (n, candidates)
        Widths that each task offers, the preferred one first.
    estimates_s : float64 array, shape (n, candidates)
        Seconds of each task on each of them by which the rule decides; what passes is the cost model's.
    max_running : int
        Most concurrent tasks.
    corun : bool
        Whether tasks start while others run.
    offered : int or None
        Columns that count for co-running and on second hardware threads; None for all.
    serial_s : float64 array, shape (n,), or None
        Estimated seconds of each task on one core, where second hardware threads are used; needs two ways in use and
        no width beyond the cores.

    Raises
    ------
    PolicyError
        If columns or numbers are impossible.

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.policy import CandidateRule
    >>> class Halves(ss.Policy):
    ...     def prepared(self, problem):
    ...         half = np.full((problem.graph.n_tasks, 1), problem.machine.n_cores // 2, np.int32)
    ...         return CandidateRule(half, problem.costs.seconds(half[:, 0])[:, None], max_running=2)
    >>> halves = ss.simulate(ss.TaskGraph.from_edges([4.0, 4.0]), "generic[cores=4]", Halves)
    >>> halves.cores(0).tolist(), halves.cores(1).tolist(), halves.start_s.tolist()
    ([0, 1], [2, 3], [0.0, 0.0])
    """

    widths: npt.NDArray[np.int32]
    estimates_s: npt.NDArray[np.float64]
    max_running: int
    corun: bool = True
    offered: int | None = None
    serial_s: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        _check_column("widths", self.widths, np.int32, 2)
        _check_column("estimates_s", self.estimates_s, np.float64, 2)
        if self.widths.shape != self.estimates_s.shape or not self.widths.shape[1]:
            raise PolicyError(
                f"widths of shape {self.widths.shape} and estimates_s of shape {self.estimates_s.shape}; expected a "
                "row per task and a column per candidate in both, at least one"
            )
        if self.serial_s is not None:
            _check_column("serial_s", self.serial_s, np.float64, 1)
        for name, most in (("max_running", None), ("offered", self.widths.shape[1])):
            _check_count(name, getattr(self, name), most)

    def checked(self, problem: Problem) -> CandidateRule:
        """Return the rule if it fits a problem.

        Parameters
        ----------
        problem : Problem
            The graph, the machine and the estimates.

        Returns
        -------
        CandidateRule

        Raises
        ------
        PolicyError
            If it does not have one row per task, or a width is beyond the machine.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import CandidateRule, Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0]), ss.machine("generic[cores=2]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
        >>> CandidateRule(np.full((1, 1), 3, np.int32), np.ones((1, 1)), max_running=1).checked(problem)
        Traceback (most recent call last):
            ...
        simsched.errors.PolicyError: a task offers 3 threads; generic[cores=2] has 2 for it
        """
        machine, n = problem.machine, problem.graph.n_tasks
        for name, column in (("widths", self.widths), ("serial_s", self.serial_s)):
            if column is not None and len(column) != n:
                raise PolicyError(f"{name} has {len(column)} rows; the graph has {n} tasks")
        if self.serial_s is not None and machine.smt < 2:
            raise PolicyError(f"serial_s needs two hardware threads of each core in use; {machine} has one")
        most = machine.n_threads if self.serial_s is None else machine.n_cores
        if (widest := int(self.widths.max(initial=1))) > most:
            raise PolicyError(f"a task offers {widest} threads; {machine} has {most} for it")
        return self

    def __str__(self) -> str:
        # It holds columns of one graph, which no spec can express.
        return type(self).__name__

    @property
    def n_offered(self) -> int:
        """Number of columns that count for co-running."""
        return self.widths.shape[1] if self.offered is None else self.offered

    @cached_property
    def _offers(self) -> list[list[tuple[int, float]]]:
        rows = zip(self.widths.tolist(), self.estimates_s.tolist(), strict=True)
        return [list(zip(widths, seconds, strict=True)) for widths, seconds in rows]

    @cached_property
    def _glances(self) -> list[tuple[int, float]]:
        """Fewest threads and least seconds of each task's candidates, which suffice for most decisions."""
        count = self.n_offered
        narrowest, quickest_s = self.widths[:, :count].min(axis=1), self.estimates_s[:, :count].min(axis=1)
        return list(zip(narrowest.tolist(), quickest_s.tolist(), strict=True))

    @cached_property
    def _serial_s(self) -> list[float]:
        return [] if self.serial_s is None else self.serial_s.tolist()

    def decide(self, view: View) -> Iterable[Start]:
        """Return the one task to start next, if any."""
        if not view.ready or len(view.running) >= self.max_running:
            return ()
        start = self._on_cores(view) or self._on_second_threads(view)
        return (start,) if start else ()

    def _on_cores(self, view: View) -> Start | None:
        """Return the next start on idle cores."""
        idle, free = len(view.idle_cores), not view.running
        if self.serial_s is not None:
            cores = view.problem.machine.n_cores
            idle = bisect_left(view.idle_cores, cores)
            free = idle == cores
        if not idle:
            return None
        if not self.corun:
            return self._first(view) if free else None
        return (self._beside(view, idle) if view.running else None) or self._longest(view, idle)

    def _first(self, view: View) -> Start:
        """Return the start of the task that has been ready longest."""
        task = min(view.ready, key=view.ready_s)
        return Start(task, self._offers[task][0][0])

    def _beside(self, view: View, idle: int) -> Start | None:
        """Return the start of the fewest threads that fits and does not outlast the running tasks."""
        last, now = max(running.finish_s for running in view.running), view.now_s
        best, widest = None, idle
        for task in view.ready:
            narrowest, quickest_s = self._glances[task]
            if narrowest > widest or now + quickest_s > last:
                continue
            for width, seconds in self._offers[task][: self.n_offered]:
                if width <= widest and now + seconds <= last:
                    best, widest = Start(task, width), width - 1
        return best

    def _longest(self, view: View, idle: int) -> Start | None:
        """Return the start of the most time-consuming ready task that fits."""
        fitting = ((t, next((w for w, _ in self._offers[t] if w <= idle), 0)) for t in view.ready)
        longest = max(
            ((self._offers[task][0][1], -task, width) for task, width in fitting if width), default=None
        )
        return longest and Start(-longest[1], longest[2])

    def _on_second_threads(self, view: View) -> Start | None:
        """Return the start of the smallest ready task next to the one that holds all cores."""
        if (holder := self._holder(view)) is None:
            return None
        idle = bisect_left(view.idle_cores, 2 * view.problem.machine.n_cores)
        end_s, now = holder.finish_s, view.now_s
        best, least_s = None, inf
        for task in view.ready:
            narrowest, quickest_s = self._glances[task]
            if self._serial_s[task] >= least_s or narrowest > idle or now + quickest_s > end_s:
                continue
            # Of one task's widths the first one that fits, whatever its size.
            offers = self._offers[task][: self.n_offered]
            width = next((w for w, seconds in offers if w <= idle and now + seconds <= end_s), 0)
            if width:
                best, least_s = Start(task, width), self._serial_s[task]
        return best

    def _holder(self, view: View) -> Running | None:
        """Return the task that holds the first hardware thread of every core."""
        if self.serial_s is None:
            return None
        cores = view.problem.machine.n_cores
        return next((r for r in view.running if r.cores[0] == 0 and len(r.cores) == cores), None)


def _check_column(name: str, column: object, dtype: type[np.generic], dimensions: int) -> None:
    """Raise `PolicyError` unless a column is an array of a type: widths from 1, seconds from 0 and finite."""
    if not isinstance(column, np.ndarray) or column.dtype != dtype or column.ndim != dimensions:
        found = f"{column.dtype} of shape {column.shape}" if isinstance(column, np.ndarray) else repr(column)
        raise PolicyError(
            f"{name} is {found}; expected an array of {dtype.__name__} and {dimensions} dimensions"
        )
    least = 1 if name == "widths" else 0
    if not ((column >= least) & np.isfinite(column)).all():
        raise PolicyError(f"{name} has an entry that is not finite, or below {least}")


def _check_count(name: str, count: object, most: int | None) -> None:
    """Raise `PolicyError` unless a count is a whole number from 1 to `most`; None where it may be left out."""
    if count is None and most is not None:
        return
    if not is_whole(count, 1, most or inf):
        limits = f"1 to {most}" if most else "1 or more"
        raise PolicyError(f"{name} is {count!r}; expected a whole number of {limits}")
