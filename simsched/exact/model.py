"""`Choices`, the possible widths of tasks in whole units of time, and the problem as constraints, solved by CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import count, takewhile
from math import ceil, floor, gcd, lcm, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.costs import TaskCosts
from simsched.errors import MissingExtraError
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.policy import Layout

Whole = npt.NDArray[np.int64]

#: Units of a schedule's length: sums of them times cores stay far within 64 bits.
MOST_UNITS = 1 << 36


@dataclass(frozen=True, eq=False)
class Choices:
    """The possible widths of each task.

    Parameters
    ----------
    task, width : int64 arrays, shape (c,)
        The task of each choice, ascending, and the cores (executors, in a layout) that it takes.
    seconds : float64 array, shape (c,)
    capacity : int
        Cores (executors) there are.
    n_tasks : int
    """

    task: Whole
    width: Whole
    seconds: Seconds
    capacity: int
    n_tasks: int

    @classmethod
    def of(cls, costs: TaskCosts, layout: Layout | None) -> Choices:
        """Return each task on one executor of a layout; without one, on every width faster than all narrower ones."""
        n = len(costs.one_core_s)
        if layout is not None:
            return cls(np.arange(n), np.ones(n, np.int64), costs.seconds(layout.width), layout.executors, n)
        widest = int(costs.fastest_widths.max(initial=1))
        table = np.stack([costs.seconds(width) for width in range(1, widest + 1)], axis=1)
        before = np.minimum.accumulate(np.column_stack([np.full(n, np.inf), table]), axis=1)[:, :-1]
        task, column = np.nonzero(table < before)
        return cls(task, column + 1, table[task, column], costs.widest, n)

    def up_to(self, width: int) -> Whole:
        """Return the choice of each task that is fastest on up to so many cores, shape (n,): the last of these."""
        places = self.task * (self.capacity + 1) + self.width
        return (
            np.searchsorted(places, np.arange(self.n_tasks) * (self.capacity + 1) + width, side="right") - 1
        )

    def widths(self) -> list[int]:
        """Return 1, 2, 4, ... and the widest width that there is."""
        widest = int(self.width.max(initial=1))
        return [*takewhile(widest.__gt__, (1 << k for k in count())), widest]


@dataclass(frozen=True, eq=False)
class Units:
    """Seconds as whole numbers of a unit.

    Parameters
    ----------
    unit_s : Fraction
    lengths : int64 array, shape (c,)
        Units of each choice; never more than it takes.
    exact : bool
        Whether they are exactly its seconds, as written in decimal.
    """

    unit_s: Fraction
    lengths: Whole
    exact: bool

    @classmethod
    def of(cls, seconds: Seconds, horizon_s: float) -> Units:
        """Return seconds in units.

        They are exact where one unit divides all of them, as with times in whole nanoseconds. Else the unit is the
        power of two that divides the horizon into 2^36 or a little fewer, and fractions of a unit are cut off: a
        schedule of the real seconds is one of these, too, so lower bounds of these hold for those.

        Parameters
        ----------
        seconds : float64 array, shape (c,)
        horizon_s : float
            Seconds that some schedule needs.
        """
        written = [Fraction(repr(value)) for value in np.unique(seconds).tolist()]
        divisor = Fraction(gcd(*(v.numerator for v in written)), lcm(*(v.denominator for v in written)))
        if not divisor:
            return cls(Fraction(1), np.zeros(len(seconds), np.int64), True)
        if Fraction(horizon_s) / divisor <= MOST_UNITS:
            whole = {float(value): int(value / divisor) for value in written}
            return cls(divisor, np.array([whole[value] for value in seconds.tolist()], np.int64), True)
        # Dividing by a power of two is exact, so the part cut off is really less than a unit.
        exponent = int(np.ceil(log2(horizon_s / MOST_UNITS)))
        return cls(Fraction(2) ** exponent, np.floor(np.ldexp(seconds, -exponent)).astype(np.int64), False)

    def seconds(self, units: int) -> float:
        """Return units in seconds."""
        return float(units * self.unit_s)

    def at_least(self, bound_s: float) -> int:
        """Return the least units of a schedule of at least `bound_s` seconds, but for rounding."""
        units = Fraction(bound_s * (1 - 1e-12)) / self.unit_s
        return ceil(units) if self.exact else floor(units)


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
