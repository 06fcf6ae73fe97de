"""The scheduling problem as constraints, solved by CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.errors import MissingExtraError
from simsched.exact.choices import Choices, Whole
from simsched.graph import TaskGraph


@dataclass(frozen=True, eq=False)
class Found:
    """The solver's result.

    Parameters
    ----------
    start : int64 array, shape (n,)
        Units.
    choice : int64 array, shape (n,)
        The choice of each task.
    bound : int
        Units; no schedule is shorter.
    solver_s : float
        How long the solver took.
    """

    start: Whole
    choice: Whole
    bound: int
    solver_s: float


def solve(
    graph: TaskGraph,
    choices: Choices,
    lengths: Whole,
    hint: tuple[Whole, Whole],
    least: int,
    *,
    limit_s: float,
    gap: float,
    seed: int,
) -> Found:
    """Return the shortest schedule that the solver finds in the given time, and its proven bound.

    One worker searches, by clauses and propagation alone, without linear programs: with edge finding and overload
    checks on the cores, that closes the graphs of the STG set some ten times as fast as one worker with the defaults of
    OR-Tools 9.15, and the same inputs give the same bits wherever the time does not end the search.

    Parameters
    ----------
    graph : TaskGraph
    choices : Choices
    lengths : int64 array, shape (c,)
        Units of each choice.
    hint : pair of int64 arrays, shape (n,)
        Starts and choices of some schedule, to begin with.
    least : int
        A lower bound known already, in units.
    limit_s : float
        Seconds to search.
    gap : float
        Share of the makespan that need not be closed.
    seed : int

    Raises
    ------
    MissingExtraError
        If OR-Tools is not installed.
    """
    cp_model = ortools()
    model = _Model(cp_model.CpModel(), graph, choices, lengths, hint, least)
    solver = cp_model.CpSolver()
    settings = solver.parameters
    settings.max_time_in_seconds, settings.relative_gap_limit = limit_s, gap
    settings.num_workers, settings.linearization_level = 1, 0
    # The solver's seeds have 31 bits.
    settings.random_seed = seed % (1 << 31)
    settings.use_timetable_edge_finding_in_cumulative = settings.use_overload_checker_in_cumulative = True
    status = solver.solve(model.model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        # The time can be too short even to check the schedule it began with.
        return Found(*hint, least, solver.wall_time)
    start = np.array([solver.value(one) for one in model.starts], np.int64)
    choice = np.array(
        [next(c for c, on in options if solver.value(on)) for options in model.options], np.int64
    )
    return Found(
        start, choice, max(least, int(np.ceil(solver.best_objective_bound - 1e-6))), solver.wall_time
    )


def ortools() -> Any:
    """Return OR-Tools' CP-SAT, or raise `MissingExtraError`."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingExtraError("ortools", "optimum", "proving optima") from None
    return cp_model


class _Model:
    """Starts, choices and makespan as variables: a task has one choice, a core holds one task at a time."""

    def __init__(
        self,
        model: Any,
        graph: TaskGraph,
        choices: Choices,
        lengths: Whole,
        hint: tuple[Whole, Whole],
        least: int,
    ) -> None:
        self.model, self.choices, self.lengths = model, choices, lengths
        first = choices.up_to(1).tolist()
        last = choices.up_to(choices.capacity).tolist()
        most = int((hint[0] + lengths[hint[1]]).max(initial=0))
        self.starts = [model.new_int_var(0, most, "") for _ in range(graph.n_tasks)]
        self.options = [
            [(c, 1 if one == end else model.new_bool_var("")) for c in range(one, end + 1)]
            for one, end in zip(first, last, strict=True)
        ]
        ends = [
            start + sum(int(lengths[c]) * on for c, on in options)
            for start, options in zip(self.starts, self.options, strict=True)
        ]
        for before, after in zip(
            graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True
        ):
            model.add(ends[before] <= self.starts[after])
        self._hold_cores()
        makespan = model.new_int_var(least, max(most, least), "")
        for end in ends:
            model.add(end <= makespan)
        model.minimize(makespan)
        self._begin_with(hint, makespan, most)

    def _hold_cores(self) -> None:
        """Constrain cores to hold one task each."""
        intervals, demands = [], []
        for start, options in zip(self.starts, self.options, strict=True):
            if len(options) > 1:
                self.model.add_exactly_one(on for _, on in options)
            for c, on in options:
                intervals.append(
                    self.model.new_optional_fixed_size_interval_var(start, int(self.lengths[c]), on, "")
                )
                demands.append(int(self.choices.width[c]))
        self.model.add_cumulative(intervals, demands, self.choices.capacity)

    def _begin_with(self, hint: tuple[Whole, Whole], makespan: Any, most: int) -> None:
        """Start the solver with a schedule."""
        self.model.add_hint(makespan, most)
        for start, options, at, chosen in zip(
            self.starts, self.options, *(column.tolist() for column in hint), strict=True
        ):
            self.model.add_hint(start, at)
            for c, on in options if len(options) > 1 else ():
                self.model.add_hint(on, c == chosen)
