"""Estimated makespans of layouts, without a replay: the choice of a layout where none is given."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simsched.costs.loads import Loads, loads
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.graph.taskgraph import Seconds
from simsched.machine import RuntimeProfile
from simsched.policy.bound import serves, summed
from simsched.policy.crowd import Crowd
from simsched.policy.layout import Layout
from simsched.policy.planned_policy import PlannedPolicy
from simsched.policy.policy import Policy
from simsched.policy.problem import Problem
from simsched.policy.rank_policy import CHOOSING_KINDS, RankPolicy
from simsched.policy.shortcuts import Shortcuts

#: Tasks beyond which not every layout is estimated: every fourth by width, then those near the best.
LARGE, COARSE = 20_000, 4
#: Rounds in which the cost of a shared queue and the number of its pollers, which depend on each other, settle.
ROUNDS = 8
#: Relative difference below which two makespans are equal.
ROUNDING = 1e-9
#: Stands for no seconds where a speed is their inverse.
TINY_S = 1e-30


@dataclass(frozen=True, eq=False)
class Teams:
    """Seconds of the tasks on the teams of a layout, when nothing else runs.

    Parameters
    ----------
    widths : int64 array, shape (n,) or ()
        Threads of each task's team, or of all teams.
    seconds : float64 array, shape (n,)
        Where a layout has teams of several kinds of cores: the least for policies that choose one for each task, the
        mean over those that can run them for others.
    demand : Loads
        Demand of each task on shared resources.
    critical_path_s : float
        Seconds of the longest path, by the least seconds.
    total_s : float
        Least seconds of all tasks.
    together : float64 array, shape (n,)
        Tasks as long as the longest of its depth that would make up all tasks of a task's depth: how many could run
        side by side.
    worth : float64 array, shape (n,) or ()
        Speed of a layout's teams in the mean, over that by which `seconds` are.
    """

    widths: npt.NDArray[np.int64]
    seconds: Seconds
    demand: Loads
    critical_path_s: float
    total_s: float
    together: Seconds
    worth: Seconds

    def side_by_side(self, layout: Layout, cores: int) -> npt.NDArray[np.int64]:
        """Return the number of teams as wide as each task's that fit in a layout, shape (n,)."""
        return np.clip(cores // self.widths, 1, layout.n_executors)


@dataclass(frozen=True, eq=False)
class Estimator:
    """Makespans of the layouts of one policy on one problem, estimated from averages.

    A makespan is between a lower and an upper bound; the estimate is midway between them. The lower one is the
    longest of the critical path, the core-seconds over the cores of the layout, and all starts one after another. The
    upper one is all starts and Graham's bound, the sum of the first two, or, if shorter, the time in which the tasks
    run depth by depth. Before that, tasks are lengthened by sharing (docs/semantics.md, rule 5), as if the
    tasks of their depth ran with them, each with their mean demand.

    Parameters
    ----------
    problem : Problem
        Its layout is not used.
    policy : Policy
    runtime : RuntimeProfile

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
    >>> estimator = Estimator(problem, ss.policy("fifo"), machine.runtime)
    >>> estimator.seconds(ss.Layout(1, 2)), estimator.seconds(ss.Layout(2, 1))
    (6.0, 4.5)
    """

    problem: Problem
    policy: Policy
    runtime: RuntimeProfile

    @cached_property
    def _teams(self) -> dict[int | Layout, Teams]:
        return {}

    @cached_property
    def _depths(self) -> _Depths:
        return _Depths.of(self.problem.graph)

    @property
    def fixed(self) -> bool:
        """Whether every task runs on the width of the layout, which otherwise is a limit."""
        return isinstance(self.policy, RankPolicy)

    @property
    def tries_idle_cores(self) -> bool:
        """Whether fewer executors than fit are tried: fixed ones, except where a plan leaves executors idle itself."""
        return self.fixed and not isinstance(self.policy, PlannedPolicy)

    @property
    def rough(self) -> bool:
        """Whether replays decide: estimates ignore data that move, and are rough for limits and kinds of cores."""
        machine = self.problem.machine
        moves = machine.data is not None and self.problem.graph.data is not None
        return not self.fixed or moves or machine.kinds is not None

    def serves(self, layout: Layout) -> bool:
        """Return whether a layout has an executor for each task."""
        return serves(self.policy, self.problem.graph, self.problem.machine, layout)

    def teams(self, layout: Layout) -> Teams:
        """Return the seconds of the tasks on the teams of a layout."""
        # Where all cores are alike, its width says all.
        of_kinds = self.fixed and self.problem.costs.kinds_s is not None
        key = layout if of_kinds else layout.width
        if key not in self._teams:
            self._teams[key] = self._of_kinds(layout) if of_kinds else self._made(layout.width)
        return self._teams[key]

    def _made(self, width: int) -> Teams:
        costs = self.problem.costs.fastest_teams()
        each = np.array(width) if self.fixed else self.policy.team_widths(self.problem, width)
        given = width if self.fixed else each
        seconds = costs.seconds(given)
        taken_s = seconds if self.fixed else seconds + self._resize_s(each)
        demand = loads(self.problem.costs, given, self.problem.machine.effects)
        return self._teams_of(each, taken_s, seconds, demand, np.ones(()))

    def _of_kinds(self, layout: Layout) -> Teams:
        """Return what `teams` does for a layout whose teams are of several kinds of cores, perhaps."""
        assert isinstance(self.policy, RankPolicy)  # noqa: S101 - narrows the type: others have no fixed teams
        machine, costs = self.problem.machine, self.problem.costs
        teams = self.policy.executors(machine, layout)
        kinds, counts = np.unique(
            machine.kind_of[teams.indices[teams.indptr[:-1]] % machine.n_cores], return_counts=True
        )
        by_kind = replace(self.problem, layout=layout).seconds_by_kind[:, kinds]
        least_s = by_kind.min(axis=1)
        mean_s = (
            by_kind @ (counts / teams.n) if np.isfinite(by_kind).all() else summed(by_kind, counts) / teams.n
        )
        taken_s = least_s if self.policy.discipline in CHOOSING_KINDS else mean_s
        demand = loads(costs.of_kind(int(kinds[0])), layout.width, machine.effects)
        speed = (1 / np.maximum(by_kind, TINY_S)) @ (counts / teams.n)
        return self._teams_of(
            np.array(layout.width), taken_s, least_s, demand, speed * np.maximum(taken_s, TINY_S)
        )

    def _teams_of(
        self,
        widths: npt.NDArray[np.int64],
        seconds: Seconds,
        least_s: Seconds,
        demand: Loads,
        worth: Seconds,
    ) -> Teams:
        return Teams(
            widths=widths,
            seconds=seconds,
            demand=demand,
            critical_path_s=float(self.problem.graph.levels(least_s).max(initial=0.0)),
            total_s=float(least_s.sum()),
            together=self._depths.together(least_s),
            worth=worth,
        )

    def _resize_s(self, widths: npt.NDArray[np.int64]) -> Seconds:
        """Return the mean seconds of resizing, for teams that follow one another at random."""
        runtime, of_width = self.runtime, np.bincount(widths) / max(len(widths), 1)
        one_s = runtime.team_creation_s + widths * runtime.team_creation_per_thread_s
        if runtime.reuse_teams:
            one_s = np.full(len(widths), runtime.resize_s)
        return np.asarray(one_s * (1 - of_width @ of_width))

    def lower_s(self, layout: Layout) -> float:
        """Return a lower bound on the makespan of a layout: sharing and dispatching only lengthen it."""
        machine, teams = self.problem.machine, self.teams(layout)
        if not self.fixed:
            # The widths that tasks start at may be others than those of the estimate.
            limit = layout if self.policy.layout_limits else Layout(machine.n_threads, machine.n_threads)
            area_s = self._least_s / min(limit.cores, machine.n_threads)
            return max(self._least_path_s(limit.width), area_s)
        if singles := self._single_threaded(layout):
            seconds = np.minimum(teams.seconds, self.problem.costs.seconds(1))
            path_s = float(self.problem.graph.levels(seconds).max(initial=0.0))
            return max(path_s, float(seconds.sum()) / (layout.n_executors + singles))
        return max(teams.critical_path_s, teams.total_s / layout.n_executors)

    def _single_threaded(self, layout: Layout) -> int:
        """Return the number of single-threaded executors that a static policy adds to those of a layout."""
        assert isinstance(self.policy, RankPolicy)  # noqa: S101 - narrows the type
        found = self.policy.shortcuts(replace(self.problem, layout=layout))
        # The replay rejects invalid answers.
        return len(found.threads) if isinstance(found, Shortcuts) else 0

    def _least_path_s(self, width: int) -> float:
        """Return the critical path with each task on its fastest width up to one."""
        if width not in self._least_paths:
            costs = self.problem.costs.fastest_teams()
            seconds = costs.seconds(np.minimum(costs.fastest_widths, width))
            self._least_paths[width] = float(self.problem.graph.levels(seconds).max(initial=0.0))
        return self._least_paths[width]

    @cached_property
    def _least_paths(self) -> dict[int, float]:
        return {}

    @cached_property
    def _least_s(self) -> float:
        return float(self.problem.costs.fastest_teams().least_core_seconds().sum())

    def _cores(self, layout: Layout) -> int:
        return layout.cores if self.fixed else min(layout.cores, self.problem.machine.n_threads)

    def seconds(self, layout: Layout) -> float:
        """Return the estimated makespan of a layout, in seconds."""
        graph, teams = self.problem.graph, self.teams(layout)
        if not graph.n_tasks:
            return 0.0
        most = teams.side_by_side(layout, self._cores(layout))
        kept = self._depths.kept * np.minimum(most / teams.together, 1.0)
        crowd = Crowd(self.problem.machine, np.minimum(teams.together, most), teams.widths, kept)
        seconds = teams.seconds * crowd.slowdown(teams.seconds, teams.demand, self._depths)
        work_s = seconds / (most * teams.worth)
        spans = _Spans(
            path_s=float(graph.levels(seconds + self._start_s).max()),
            area_s=float(work_s.sum()),
            # Teams of a rule that limits them wait for others: tasks of a depth need not run together.
            by_depth_s=math.inf
            if self.policy.layout_limits
            else float(self._depths.slowest(seconds, work_s).sum()),
        )
        return self._with_starts(spans, float(seconds.sum()), layout.n_executors)

    @property
    def _start_s(self) -> float:
        """Seconds of a start without other polling executors."""
        runtime = self.runtime
        if self.policy.queue == "shared":
            return runtime.pop_s
        return runtime.dispatch_s if self.fixed or runtime.decide_s is None else runtime.decide_s

    def _with_starts(self, spans: _Spans, busy_s: float, executors: int) -> float:
        """Return the makespan with its sequential starts, which cost more the more executors are idle."""
        n, longest = self.problem.graph.n_tasks, self._depths.n
        per_poller_s = self.runtime.pop_per_poller_s if self.policy.queue == "shared" else 0.0
        found_s = spans.middle_s(n * self._start_s, 0.0)
        for _ in range(ROUNDS if per_poller_s else 0):
            busy = min(executors, busy_s / found_s if found_s else 0.0)
            more_s = per_poller_s * max(0.0, executors - 1 - busy)
            found_s = (found_s + spans.middle_s(n * (self._start_s + more_s), longest * more_s)) / 2
        return found_s

    def with_fewer(self, layouts: Iterable[Layout]) -> tuple[Layout, ...]:
        """Return the layouts, and for executors that poll a queue, those with no more than run side by side.

        Parameters
        ----------
        layouts : iterable of Layout
        """
        every = tuple(layouts)
        if self.policy.queue != "shared" or not self.runtime.pop_per_poller_s:
            return every
        fewer = (replace(one, executors=min(one.executors, self._side_by_side(one))) for one in every)
        return tuple(dict.fromkeys((*every, *filter(self.serves, fewer))))

    def _side_by_side(self, layout: Layout) -> int:
        """Return the mean number of tasks that run side by side with unlimited executors; at least one."""
        teams = self.teams(layout)
        path_s = teams.critical_path_s
        return max(1, math.ceil(teams.total_s / path_s - 1e-9)) if path_s else 1

    def best(self, layouts: Iterable[Layout]) -> list[tuple[float, Layout]]:
        """Return estimates of the possibly best layouts, the shortest first.

        Of equal ones that of the most cores is first, of these the narrowest. Layouts whose lower bound is beyond the
        shortest estimate are left out; of large graphs, so are most that are not near the best in width.

        Parameters
        ----------
        layouts : iterable of Layout
        """
        line = sorted(
            dict.fromkeys(layouts), key=lambda layout: (layout.width, layout.executors, layout.devices)
        )
        found: dict[Layout, tuple[float, tuple[int, int]]] = {}
        stride = COARSE if self.problem.graph.n_tasks > LARGE else 1
        self._estimate(line[::stride], found)
        while stride > 1:
            stride //= 2
            place = line.index(min(found, key=found.__getitem__))
            self._estimate(line[max(place - stride, 0) : place + stride + 1 : stride], found)
        return [(found[layout][0], layout) for layout in sorted(found, key=lambda one: (*found[one], one))]

    def with_idle_cores(self, layout: Layout) -> Layout:
        """Return the layout of the shortest estimate among this one and those of half as many executors, again halved.

        Executors are halved while the estimate does not become longer. Of equal estimates the one of the most executors
        is taken, so that cores stay idle only where that is shorter. It is this layout where fewer are not tried.

        Parameters
        ----------
        layout : Layout

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0, 1.0]), ss.machine("generic[cores=4]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
        >>> str(Estimator(problem, ss.policy("fifo"), machine.runtime).with_idle_cores(ss.Layout(4, 1)))
        '4x1'
        """
        if not self.tries_idle_cores:
            return layout
        best, least_s = layout, self.seconds(layout)
        # More executors than tasks that could run side by side change nothing.
        executors = min(layout.executors, 2 * math.ceil(self.teams(layout).together.max(initial=1.0)))
        before_s = least_s
        while executors > 1:
            executors = (executors + 1) // 2
            fewer = replace(layout, executors=executors)
            if not self.serves(fewer):
                break
            found_s = self.seconds(fewer) if self.lower_s(fewer) <= least_s else math.inf
            if found_s > before_s * (1 + ROUNDING):
                break
            if found_s < least_s * (1 - ROUNDING):
                best, least_s = fewer, found_s
            before_s = found_s
        return best

    def _estimate(
        self, layouts: Iterable[Layout], found: dict[Layout, tuple[float, tuple[int, int]]]
    ) -> None:
        """Add the estimates of possibly best layouts to those found."""
        new = [layout for layout in layouts if layout not in found]
        for lower_s, layout in sorted((self.lower_s(layout), layout) for layout in new):
            if found and lower_s > min(found.values())[0]:
                break
            # Of equal makespans those that use more cores come first, then narrower ones.
            order = -min(layout.cores, self.problem.machine.n_threads), layout.width
            found[layout] = self.seconds(layout), order


@dataclass(frozen=True)
class _Spans:
    """Lower bound of a makespan in seconds, and that of running depth by depth, which it need not exceed."""

    path_s: float
    area_s: float
    by_depth_s: float

    def middle_s(self, starts_s: float, more_on_path_s: float) -> float:
        """Return the midpoint of the bounds, with the seconds of all starts, and of more on the path."""
        path_s = self.path_s + more_on_path_s
        lower_s = max(path_s, self.area_s, starts_s)
        upper_s = min(self.by_depth_s, path_s + self.area_s) + starts_s
        return (lower_s + max(lower_s, upper_s)) / 2


@dataclass(frozen=True, eq=False)
class _Depths:
    """Tasks grouped by their depth in the graph."""

    order: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    row: npt.NDArray[np.intp]
    predecessors: Csr
    successors: Csr
    made: npt.NDArray[np.intp]

    @classmethod
    def of(cls, graph: TaskGraph) -> _Depths:
        depths = graph.depths
        order = np.argsort(depths, kind="stable")
        begins = np.diff(depths[order], prepend=-1) > 0
        row = np.empty(len(depths), np.intp)
        row[order] = np.cumsum(begins) - 1
        return cls(
            order, np.flatnonzero(begins), row, graph.predecessors, graph.successors, np.flatnonzero(depths)
        )

    @property
    def n(self) -> int:
        return len(self.first)

    def sums(self, column: Seconds) -> Seconds:
        return np.add.reduceat(column[self.order], self.first)

    def longest(self, column: Seconds) -> Seconds:
        return np.maximum.reduceat(column[self.order], self.first)

    def mean(self, column: Seconds, weights: Seconds) -> Seconds:
        """Return, for each task, the weighted mean of its depth."""
        total = self.sums(weights)
        of_depth = np.zeros(self.n)
        np.divide(self.sums(column * weights), total, out=of_depth, where=total > 0)
        return of_depth[self.row]

    def makers(self, column: Seconds) -> Seconds:
        """Return, for each task, the mean of a column over its predecessors; 0 where it has none."""
        found = np.zeros(len(column))
        begins = self.predecessors.indptr[:-1][self.made]
        if len(begins):
            found[self.made] = np.add.reduceat(column[self.predecessors.indices], begins)
            found[self.made] /= self.predecessors.degrees()[self.made]
        return found

    @cached_property
    def kept(self) -> Seconds:
        """Share of its data that each task reads locally: the executor that releases it runs one of them.

        This holds if no others wait: a task of p predecessors has 1/p of its data from the last one, which has
        released c tasks at a time.
        """
        return self.makers(1 / np.maximum(self.successors.degrees(), 1)) / np.maximum(
            self.predecessors.degrees(), 1
        )

    def together(self, seconds: Seconds) -> Seconds:
        if not self.n:
            return seconds
        longest, found = self.longest(seconds), np.ones(self.n)
        np.divide(self.sums(seconds), longest, out=found, where=longest > 0)
        return found[self.row]

    def slowest(self, seconds: Seconds, work_s: Seconds) -> Seconds:
        """Return the seconds of each depth: those of its longest task, or of its work if that is more."""
        return np.maximum(self.longest(seconds), self.sums(work_s))
