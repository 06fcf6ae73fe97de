"""`assigned`: the shortest plan on executors that are not alike, with messages between them, by CP-SAT."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil, floor, log10
from typing import Any

import numpy as np

from simsched.errors import PolicyError
from simsched.exact.model import Units, Whole, ortools
from simsched.graph.adjacency import place_in
from simsched.notes import Note, Weight
from simsched.policy import Assignment, Platform
from simsched.policy.planning.compiled import order_of

#: Possible executors of tasks, and pairs of them of edges with messages: more take minutes to write down.
MOST_CASES = 200_000


def assigned(platform: Platform, first: Assignment, ends_s: float, *, effort: float, seed: int) -> Assignment:
    """Return the shortest plan that is found: an executor for each task, and the order of all.

    Messages take their time between each two places, and do not slow each other down.

    Parameters
    ----------
    platform : Platform
    first : Assignment
        The plan to begin with.
    ends_s : float
        When it ends.
    effort : float
        The solver's deterministic time, some seconds: the search ends there, with the same plan on any machine.
    seed : int

    Raises
    ------
    PolicyError
        If there are too many possible plans to write down.
    MissingExtraError
        If OR-Tools is not installed.

    Examples
    --------
    A list schedule ends at 7 s, the optimum at 6:

    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> graph, machine = ss.TaskGraph.from_edges([2.0, 2.0, 2.0, 3.0, 3.0]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
    >>> tasks = np.arange(5, dtype=np.int32)
    >>> found = assigned(platform, ss.Assignment(np.array([0, 1, 0, 1, 0], np.int32), tasks), 7.0, effort=1.0, seed=0)
    >>> np.bincount(found.executor, platform.seconds(0)[0] * np.array([1, 1, 1, 1.5, 1.5])).tolist()
    [6.0, 6.0]
    """
    n, p = platform.successors.n, platform.n_executors
    if not n or p == 1:
        return first
    moving = _messages(platform)
    cases = n * p + sum(len(places) for places in moving.values())
    if cases > MOST_CASES:
        raise PolicyError(
            f"optimal: {n} tasks on {p} executors are {cases} cases, a plan is searched for up to {MOST_CASES}: give a "
            "smaller graph, a layout of fewer executors, or take heft"
        )
    model = _Model(platform, moving, ends_s)
    model.begin_with(first)
    return model.solved(first, effort, seed)


def _messages(platform: Platform) -> dict[int, dict[tuple[int, int], float]]:
    """Return the seconds of each edge's message by sender and receiver, where it takes any."""
    places = np.unique(platform.place_of).tolist()
    pairs = [(one, other) for one, other in product(places, places) if one != other]
    found = {}
    for edge, sent in enumerate(platform.edge_bytes.tolist()):
        by_pair = {pair: float(platform.latency_s[pair] + sent * platform.s_per_B[pair]) for pair in pairs}
        if any(by_pair.values()):
            found[edge] = by_pair
    return found


class _Model:
    """Starts, executors and makespan as variables: an executor runs one task at a time."""

    def __init__(
        self, platform: Platform, moving: dict[int, dict[tuple[int, int], float]], ends_s: float
    ) -> None:
        self.platform, self.cp_model = platform, ortools()
        self.model: Any = self.cp_model.CpModel()
        sent = [seconds for by_pair in moving.values() for seconds in by_pair.values()]
        never = np.isinf(platform.kind_seconds)
        table = np.where(never, 0.0, platform.kind_seconds)
        # What takes longer than the first plan is in no shorter one, however much longer: a round number for any of it.
        beyond_s = float(f"1e{floor(log10(ends_s or 1.0)) + 1}")
        seconds = np.minimum([*table.ravel(), *sent], beyond_s)
        self.units = units = Units.of(seconds, ends_s or 1.0)
        self.lengths: Whole = units.lengths[: table.size].reshape(table.shape)[:, platform.kind_of]
        self.horizon = int(self.lengths.max(axis=1).sum()) + int(units.lengths[table.size :].sum()) + 1
        n, p = self.lengths.shape
        self.starts = [self.model.new_int_var(0, self.horizon, "") for _ in range(n)]
        self.runs_on = [[self.model.new_bool_var("") for _ in range(p)] for _ in range(n)]
        for task, executor in np.argwhere(never[:, platform.kind_of]).tolist():
            self.model.add(self.runs_on[task][executor] == 0)
        self.ends = [self._end(task) for task in range(n)]
        self._order(moving, iter(units.lengths[table.size :].tolist()))
        self.makespan = self.model.new_int_var(0, self.horizon, "")
        for end in self.ends:
            self.model.add(end <= self.makespan)
        for executor in range(p):
            work = (int(self.lengths[task, executor]) * self.runs_on[task][executor] for task in range(n))
            self.model.add(sum(work) <= self.makespan)
        self.model.minimize(self.makespan)

    def _end(self, task: int) -> Any:
        self.model.add_exactly_one(self.runs_on[task])
        lengths = self.lengths[task].tolist()
        return self.starts[task] + sum(
            length * on for length, on in zip(lengths, self.runs_on[task], strict=True)
        )

    def _order(self, moving: dict[int, dict[tuple[int, int], float]], lengths: Any) -> None:
        graph, places = self.platform.successors, self.platform.place_of.tolist()
        for edge, (i, j) in enumerate(zip(graph.sources().tolist(), graph.indices.tolist(), strict=True)):
            self.model.add(self.ends[i] <= self.starts[j])
            for one, other in moving.get(edge, ()):
                at_one, at_other = (
                    [on for place, on in zip(places, self.runs_on[task], strict=True) if place == here]
                    for task, here in ((i, one), (j, other))
                )
                both = self.model.add(self.ends[i] + next(lengths) <= self.starts[j])
                both.only_enforce_if(self._any(at_one), self._any(at_other))
        for executor, column in enumerate(zip(*self.runs_on, strict=True)):
            intervals = [
                self.model.new_optional_fixed_size_interval_var(start, int(length), on, "")
                for start, length, on in zip(
                    self.starts, self.lengths[:, executor].tolist(), column, strict=True
                )
            ]
            self.model.add_no_overlap(intervals)

    def _any(self, literals: list[Any]) -> Any:
        """Return whether one of some literals holds, of which at most one does."""
        if len(literals) == 1:
            return literals[0]
        one = self.model.new_bool_var("")
        self.model.add(sum(literals) == one)
        return one

    def begin_with(self, first: Assignment) -> None:
        """Start the solver with a plan's executors."""
        for executor, runs_on in zip(first.executor.tolist(), self.runs_on, strict=True):
            for at, on in enumerate(runs_on):
                self.model.add_hint(on, at == executor)

    def solved(self, first: Assignment, effort: float, seed: int) -> Assignment:
        """Return the shortest plan found, the first where there is none; a note where it is not proven to be that."""
        solver = self.cp_model.CpSolver()
        solver.parameters.max_deterministic_time = effort
        solver.parameters.num_workers, solver.parameters.random_seed = 1, seed % (1 << 31)
        status = solver.solve(self.model)
        notes = () if status == self.cp_model.OPTIMAL else (self._not_proven(solver, effort),)
        if status not in (self.cp_model.OPTIMAL, self.cp_model.FEASIBLE):
            return replace(first, notes=notes)
        executor = [next(e for e, on in enumerate(row) if solver.value(on)) for row in self.runs_on]
        place = place_in(order_of(self.platform))
        starts = [solver.value(start) for start in self.starts]
        ends = [solver.value(end) for end in self.ends]
        order = np.lexsort((place, ends, starts)).astype(np.int32)
        return Assignment(np.array(executor, np.int32), order, notes)

    def _not_proven(self, solver: Any, effort: float) -> Note:
        least_s = self.units.seconds(max(ceil(solver.best_objective_bound - 1e-6), 0))
        return Note(
            f"optimal: not proven, as the search ended at its effort of {effort:g} (effort= gives it more): plans for "
            f"these executors take at least {least_s:.6g} s by the estimates that it plans with",
            Weight.DOUBT,
        )
