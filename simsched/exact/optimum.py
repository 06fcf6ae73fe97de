"""`optimum`: the shortest possible schedule, or how far from it the best known one can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import numpy as np

from simsched.costs import CostModel, TaskCosts
from simsched.costs.own_machine import machine_for
from simsched.document.html import card
from simsched.errors import LayoutError, SimschedError
from simsched.exact.model import Choices, Found, Units, Whole, solve
from simsched.exact.placing import Order, Placed, Times, list_order, placed, start_order
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.machine import Machine, RuntimeProfile
from simsched.notes import Note, Weight
from simsched.policy import Layout
from simsched.policy.placement import executor_cores
from simsched.replay.scenario import check_seed
from simsched.schedule import Schedule, bounds
from simsched.units import format_time

#: Share of the bound by which a makespan may be longer and count as proven: for sums of floats and units cut off.
CLOSED = 1e-6
#: Choices of widths, over all tasks: more take minutes to write down, and are never solved.
MOST_CHOICES = 100_000


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best schedule found, and the proven bound of all schedules.

    Parameters
    ----------
    schedule : Schedule
        The best one found; its policy is "optimum", its engine "cp-sat".
    bound_s : float
        No schedule is shorter: the solver's proven bound, or that of `simsched.bounds` if that is larger.
    exact : bool
        Whether the seconds are whole units for the solver. If not, it had each task's seconds rounded down by less
        than 1e-10 of the makespan.
    solver_s : float
        How long the solver searched.
    notes : tuple of str
        Parts of a replay on this machine that the optimum leaves out.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> found = optimum(TaskGraph.from_edges([3.0, 3.0, 2.0, 2.0, 2.0]), "generic[cores=2]", "2x1")
    >>> found.status, found.makespan_s, found.gap
    ('optimal', 6.0, 0.0)
    """

    schedule: Schedule
    bound_s: float
    exact: bool
    solver_s: float
    notes: tuple[str, ...]

    @property
    def makespan_s(self) -> float:
        """Makespan of the best schedule found."""
        return self.schedule.makespan_s

    @property
    def gap(self) -> float:
        """Makespan over the bound, minus 1."""
        return self.makespan_s / self.bound_s - 1 if self.bound_s else 0.0

    @property
    def status(self) -> Literal["optimal", "feasible"]:
        """Whether the makespan is proven to be the shortest, within 1e-6 of it."""
        return "optimal" if self.gap <= CLOSED else "feasible"

    def facts(self) -> dict[str, object]:
        """Return the result as one row: the case, and the numbers.

        Examples
        --------
        >>> from simsched.graph import TaskGraph
        >>> facts = optimum(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "2x1").facts()
        >>> facts["tasks"], facts["makespan_s"], facts["status"]
        (3, 4.0, 'optimal')
        """
        schedule = self.schedule
        return {
            "machine": schedule.require_machine().spec,
            "layout": schedule.layout,
            "tasks": schedule.graph.n_tasks,
            "edges": schedule.graph.n_edges,
            "makespan_s": self.makespan_s,
            "bound_s": self.bound_s,
            "gap": self.gap,
            "status": self.status,
            "exact": self.exact,
            "solver_s": self.solver_s,
        }

    def __repr__(self) -> str:
        return (
            f"<Optimum {self.status}: {format_time(self.makespan_s)}, at least {format_time(self.bound_s)}>"
        )

    def _repr_html_(self) -> str:
        return card(f"Optimum of {self.schedule.graph.name}", self.facts(), self.notes)


def optimum(
    graph: TaskGraph,
    machine: str | Path | Machine | None = None,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    seed: int = 0,
    *,
    limit_s: float = 20.0,
) -> Optimum:
    """Search for the shortest schedule of a small graph, and prove a bound on all schedules.

    The optimum is that of tasks which do not disturb each other. Each takes the seconds of its cost curve on its width,
    forking and joining included, and may start once its predecessors have finished and cores are free. Sharing,
    decisions and resizing cost nothing, and there is no noise. As these only make tasks slower or later, no replay
    within the machine's hardware threads is shorter than `bound_s`; the notes say which of them the machine has.

    Parameters
    ----------
    graph, machine, costs, runtime
        As in `simsched.simulate`; noise is left out.
    layout : str, Layout or pair of int, optional
        With a layout k x w, tasks are rigid: each runs on one of k executors of w cores, and the optimum is that of all
        policies with these executors. Without one, tasks are moldable: each gets its own width when it starts.
    seed : int
        Seed of the search. The same seed gives the same result to the bit, unless the limit ends the search.
    limit_s : float
        Seconds to search.

    Raises
    ------
    SimschedError
        If the graph, the layout, the limit or the seed is impossible, or the machine has several kinds of cores.
    MissingExtraError
        If OR-Tools is not installed.

    References
    ----------
    CP-SAT of OR-Tools, which learns clauses from what propagators explain: Explaining the Cumulative Propagator,
    Constraints 16(3), 2011.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> optimum(TaskGraph.from_edges([3.0, 3.0, 2.0, 2.0, 2.0]), "generic[cores=2]", "2x1")
    <Optimum optimal: 6 s, at least 6 s>
    """
    target = machine_for(graph, machine)
    wanted = _checked(layout, limit_s, seed, target)
    model = costs or CostModel()
    task_costs = model.on(graph, target, runtime)
    choices = _choices(graph, task_costs, wanted)
    limits = bounds(graph, target, costs, runtime, thorough=True).bound_s
    best, chosen, units, found = _Search.of(graph, choices).found(limits, seed, limit_s)
    notes = tuple(left_out(graph, target, model, runtime or target.runtime))
    said = (*task_costs.notes, *notes)
    schedule = _schedule_of(graph, target, wanted, best, choices.seconds[chosen], said, seed)
    # Sums of floats in another order may differ in their last digits.
    bound_s = min(max(units.seconds(found.bound), limits), schedule.makespan_s)
    return Optimum(schedule, bound_s, units.exact, found.solver_s, notes)


def _checked(
    layout: str | Layout | tuple[int, int] | None, limit_s: float, seed: int, machine: Machine
) -> Layout | None:
    check_seed(seed)
    if not 0 < limit_s < float("inf"):
        raise SimschedError(f"limit_s is {limit_s}; expected seconds to search, more than 0")
    if machine.kinds is not None:
        raise SimschedError(
            f"{machine} has several kinds of cores, and an optimum is known only of cores that are all alike; the "
            "policy optimal searches for the shortest plan on several; [kinds=none] takes all as alike"
        )
    wanted = Layout.parse(layout) if layout else None
    if wanted is not None and wanted.cores > machine.n_threads:
        raise LayoutError(
            f"the layout {wanted} needs {wanted.cores} cores; {machine} has {machine.n_threads}, and an optimum is "
            "known only of threads that have a core each"
        )
    return wanted


def _choices(graph: TaskGraph, costs: TaskCosts, layout: Layout | None) -> Choices:
    most = graph.n_tasks if layout else graph.n_tasks * int(costs.fastest_widths.max(initial=1))
    if most <= MOST_CHOICES:
        return Choices.of(costs, layout)
    raise SimschedError(
        f"the graph has {graph.n_tasks} tasks with up to {most} widths in all; an optimum is searched for up to "
        f"{MOST_CHOICES}: give a layout, a smaller graph or machine, or take bounds(thorough=True)"
    )


@dataclass(frozen=True, eq=False)
class _Search:
    """One search: the choices, and a list schedule to begin with.

    Parameters
    ----------
    graph : TaskGraph
    choices : Choices
    first : Placed
        The shortest of some list schedules (`list_order`): tasks on the fastest of their widths up to 1, 2, 4, ...
    chosen : int64 array, shape (n,)
        The choice of each task there.
    """

    graph: TaskGraph
    choices: Choices
    first: Placed
    chosen: Whole

    @classmethod
    def of(cls, graph: TaskGraph, choices: Choices) -> _Search:
        lists = (cls._list(graph, choices, choices.up_to(width)) for width in choices.widths())
        return min(lists, key=lambda search: search.first.length)

    @classmethod
    def _list(cls, graph: TaskGraph, choices: Choices, chosen: Whole) -> _Search:
        widths, seconds = choices.width[chosen], choices.seconds[chosen]
        order = list_order(graph, graph.levels(seconds), widths, seconds, choices.capacity)
        return cls(graph, choices, _place(graph, choices, order, chosen, choices.seconds), chosen)

    def found(self, least_s: float, seed: int, limit_s: float) -> tuple[Placed, Whole, Units, Found]:
        """Return the best schedule in seconds, its choices, the units and the solver's result."""
        graph, choices = self.graph, self.choices
        units = Units.of(choices.seconds, self.first.length)
        begun = _place(graph, choices, self.first.order, self.chosen, units.lengths)
        found = solve(
            graph,
            choices,
            units.lengths,
            (begun.start.astype(np.int64), self.chosen),
            units.at_least(least_s),
            limit_s=limit_s,
            gap=0.0 if units.exact else CLOSED / 10,
            seed=seed,
        )
        order = start_order(graph, found.start, units.lengths[found.choice])
        best = _place(graph, choices, order, found.choice, choices.seconds)
        if self.first.length < best.length:
            return self.first, self.chosen, units, found
        return best, found.choice, units, found


def _place(graph: TaskGraph, choices: Choices, order: Order, chosen: Whole, lengths: Times | Whole) -> Placed:
    return placed(graph, order, choices.width[chosen], lengths[chosen], choices.capacity)


#: Costs of the software not included in a task's seconds; forking, joining and barriers are part of these.
DECISIONS = (
    "dispatch_s", "decide_s", "pop_s", "pop_per_poller_s", "resize_s", "team_creation_s", "team_creation_per_thread_s",
)  # fmt: skip


def left_out(graph: TaskGraph, machine: Machine, costs: CostModel, runtime: RuntimeProfile) -> Iterator[Note]:
    """Yield, one sentence each, the parts of a graph's replay on a machine that its optimum leaves out."""
    shared = [field.name for field in fields(machine.effects) if getattr(machine.effects, field.name)]
    if shared:
        yield _left_out(
            f"what running tasks share here ({', '.join(shared)}), which slows them: the bound holds, the "
            "makespan may be out of reach"
        )
    if paid := [name for name in DECISIONS if getattr(runtime, name)]:
        yield _left_out(
            f"what the software costs between tasks ({', '.join(paid)}), which delays them: the bound holds, "
            "the makespan may be out of reach"
        )
    if graph.data is not None and machine.data is not None:
        yield _left_out(
            f"moves of data ([data={machine.data.mode}]), for which tasks wait: the bound holds, the "
            "makespan may be out of reach; the policy optimal counts them"
        )
    if costs.noise:
        yield _left_out("noise; a noisy replay can be shorter than the bound")


def _left_out(what: str) -> Note:
    return Note(f"left out: {what}", Weight.DOUBT)


def _schedule_of(
    graph: TaskGraph,
    machine: Machine,
    layout: Layout | None,
    best: Placed,
    alone_s: Times,
    notes: tuple[str, ...],
    seed: int,
) -> Schedule:
    """Return the schedule of placed tasks."""
    if layout is not None:
        teams = executor_cores(machine, layout, "compact")
        team = np.array([held[0] for held in best.held], np.int32)
    else:
        distinct = {cores: row for row, cores in enumerate(sorted(set(map(tuple, best.held))))}
        teams = Csr(
            np.cumsum([0, *map(len, distinct)]),
            np.array([core for cores in distinct for core in cores], np.int32),
        )
        team = np.array([distinct[tuple(held)] for held in best.held], np.int32)
    return Schedule(
        graph=graph,
        ready_s=best.ready,
        start_s=best.start,
        finish_s=best.finish,
        teams=teams,
        team=team,
        executor=team.copy(),
        start_order=best.order,
        alone_s=alone_s,
        n_cores=machine.n_threads,
        machine=machine,
        policy="optimum",
        layout=str(layout or ""),
        engine="cp-sat",
        seed=seed,
        notes=notes,
    )
