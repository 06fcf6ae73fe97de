"""`Scenario`: a machine and all settings of replays on it; and the replays themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from simsched.costs import CostModel, TaskCosts
from simsched.costs.curves import few
from simsched.costs.own_machine import machine_for
from simsched.defaults import MACHINE
from simsched.errors import CostError, SimschedError
from simsched.graph import TaskGraph
from simsched.graph.recording import measured_on, recorded_threads
from simsched.graph.required import check_graph
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine, RuntimeProfile, machine as machine_of
from simsched.notes import Note, Weight
from simsched.parameters import is_whole
from simsched.policy import Layout, PlannedPolicy, Policy, Problem, RankPolicy, policy as policy_of
from simsched.policy.estimate import Estimator
from simsched.policy.layout import BEST, Best
from simsched.policy.rank_policy import FAIR
from simsched.progress import check_progress
from simsched.replay import engines, layouts
from simsched.replay.best_layout import Search
from simsched.replay.kept_state import remembered, state_of
from simsched.replay.memory_limit import MemoryLimit, checked_against_memory
from simsched.replay.plan import DynamicPlan, Plan, StaticPlan, actual
from simsched.replay.policy_checks import is_of_one_kind, remarks_of, usable_layouts
from simsched.schedule import Bounds, Inputs, Schedule, bounds
from simsched.spec import Engine
from simsched.text import counted
from simsched.units import format_bytes


def check_inputs(costs: object, runtime: object, seed: object, engine: Engine = "auto") -> None:
    """Raise `SimschedError` unless all arguments that `simulate` passes on unchanged have the right type."""
    check_models(costs, runtime)
    check_seed(seed)
    engines.check_engine(engine)


def check_models(costs: object, runtime: object) -> None:
    """Raise `SimschedError` unless these are a cost model and a runtime profile, or None."""
    for what, value, kind in (("costs", costs, CostModel), ("runtime", runtime, RuntimeProfile)):
        if value is not None and not isinstance(value, kind):
            raise SimschedError(
                f"{what} is {value!r:.80}; expected a {kind.__name__}, or None for the default"
            )


def check_seed(seed: object, what: str = "seed") -> None:
    """Check that random numbers can be generated from a seed.

    Raises
    ------
    SimschedError
        If not.
    """
    if not is_whole(seed, 0):
        raise SimschedError(f"{what} is {seed!r}; expected a whole number of zero or more")


#: Note on a graph without data objects on a machine on which these move.
NO_DATA = "data: nothing moves, as the graph has no data objects (edge_bytes= of from_edges)"


def _still(graph: TaskGraph, machine: Machine) -> list[str]:
    """Return a note where data do not move, though the machine or the graph says something of that."""
    if machine.data is not None:
        return [NO_DATA] if graph.data is None else []
    # Bytes of tasks, and recorded seconds, contain what it takes to read objects.
    if graph.data is None or graph.recording is not None or not np.isnan(graph.bytes_B).all():
        return []
    size = format_bytes(float(np.nansum(graph.data.size_B)))
    said = f"data: moving {counted(graph.data.n, 'object')}, {size}, takes no time on {machine.spec}"
    return [Note(f"{said}; link_Bps and link_latency_s in its brackets have them sent", Weight.ASSUMPTION)]


def _in_place(graph: TaskGraph) -> list[str]:
    """Return a note that the default machine is in place of one that recorded a graph, where that is not known."""
    origin = measured_on(graph)
    known = origin is None or origin.is_known or recorded_threads(graph) is not None
    said = f"{MACHINE} is taken, as neither machine= (-m) nor the recording names a machine that is known"
    return [] if known else [Note(said, Weight.DOUBT)]


@dataclass(frozen=True, eq=False)
class Scenario:
    """Checked arguments of `simsched.simulate` other than the graph and the policy.

    Parameters
    ----------
    machine : Machine
    layout : Layout, "best" or None
    costs : CostModel
    runtime : RuntimeProfile or None
        The software's own costs; None for the machine's.
    engine : {"auto", "simpy", "native"}
    seed : int
    progress : callable, optional
    memory_limit : {"ignore", "note", "spill", "wait", "error"}
    by_default : bool
        Whether nobody named the machine.

    Raises
    ------
    SimschedError
        If one of these is impossible.

    Examples
    --------
    >>> scenario = Scenario.of("generic[cores=2]")
    >>> scenario.replay(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "fifo").makespan_s
    4.0
    """

    machine: Machine
    layout: Layout | Best | None = None
    costs: CostModel = field(default_factory=CostModel)
    runtime: RuntimeProfile | None = None
    engine: Engine = "auto"
    seed: int = 0
    progress: Callable[[int], object] | None = None
    memory_limit: MemoryLimit = "note"
    by_default: bool = False

    def __post_init__(self) -> None:
        check_inputs(self.costs, self.runtime, self.seed, self.engine)
        if self.memory_limit not in get_args(MemoryLimit):
            raise SimschedError(
                f"memory_limit={self.memory_limit!r} is unknown; give one of {', '.join(get_args(MemoryLimit))}"
            )
        check_progress(self.progress)

    @classmethod
    def of(
        cls,
        machine: str | Path | Machine,
        layout: str | Layout | tuple[int, int] | None = None,
        costs: CostModel | None = None,
        runtime: RuntimeProfile | None = None,
        engine: Engine = "auto",
        seed: int = 0,
        progress: Callable[[int], object] | None = None,
        memory_limit: MemoryLimit = "note",
    ) -> Scenario:
        """Return the scenario of a user's arguments."""
        model, wanted = CostModel() if costs is None else costs, Layout.wanted(layout)
        return cls(machine_of(machine), wanted, model, runtime, engine, seed, progress, memory_limit)

    @classmethod
    def on(cls, graph: object, machine: str | Path | Machine | None, *others: Any) -> Scenario:
        """Return the scenario of a user's arguments on a named machine, or the graph's own; `others` as in `of`."""
        return replace(cls.of(machine_for(graph, machine), *others), by_default=machine is None)

    @classmethod
    def again(cls, schedule: Schedule, inputs: Inputs, memory_limit: MemoryLimit = "note") -> Scenario:
        """Return the scenario of a simulated schedule, with the layout that it used."""
        costs, runtime, engine, seed = inputs.costs, inputs.runtime, inputs.engine, schedule.seed
        return cls(
            schedule.require_machine(), inputs.layout, costs, runtime, engine, seed, memory_limit=memory_limit
        )

    def replay(
        self, graph: TaskGraph, policy: str | Policy | type[Policy], factors: npt.ArrayLike | None = None
    ) -> Schedule:
        """Return the schedule of a graph under a policy; `factors` as in `simsched.simulate`."""
        return _Case.of(self, graph, policy, factors).schedule()

    def layout_of(self, graph: TaskGraph, policy: str | Policy | type[Policy]) -> Layout | None:
        """Return the layout that `replay` uses, without a replay where an estimate finds it; None where there is none.

        Examples
        --------
        >>> str(Scenario.of("generic[cores=2]").layout_of(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "fifo"))
        '2x1'
        """
        case = _Case.of(self, graph, policy)
        if case.search is None and case.quick.rival is None:
            return case.quick.layout
        inputs = case.schedule().inputs
        return None if inputs is None else inputs.layout

    def task_costs(self, graph: TaskGraph) -> TaskCosts:
        """Return the costs of a graph's tasks on pinned threads."""
        return self.costs.on(graph, self.machine, self.runtime)

    def bounds(self, graph: TaskGraph, *, thorough: bool = False) -> Bounds:
        """Return lower bounds on the makespan of a graph for every policy and layout; see `simsched.bounds`."""
        return bounds(graph, self.machine, self.costs, self.runtime, thorough=thorough)


@dataclass(frozen=True, eq=False)
class _Case:
    """A graph and a policy in a scenario."""

    scenario: Scenario
    problem: Problem
    policy: Policy
    factors: Seconds | None
    called: str

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        graph: TaskGraph,
        policy: str | Policy | type[Policy],
        factors: npt.ArrayLike | None = None,
    ) -> _Case:
        check_graph(graph)
        given, machine, costs = policy_of(policy), scenario.machine, scenario.costs
        if isinstance(given, RankPolicy) and given.oversubscribe == FAIR:
            machine = replace(machine, effects=replace(machine.effects, fair_cores=True))
        software = effective_runtime(scenario.runtime or machine.runtime, given)
        problem = Problem(graph, machine, costs.on(graph, machine, software), None, scenario.seed)
        sampled = costs.factors(graph.n_tasks, scenario.seed) if factors is None else _checked(factors, graph)
        with np.errstate(over="ignore"):
            total = float(actual(problem.costs.one_core_s, sampled).sum())
        if not np.isfinite(total):
            raise CostError("the seconds of all tasks add up to infinity; check the durations, and the noise")
        return cls(scenario, problem, given, sampled, str(given))

    @property
    def profile(self) -> RuntimeProfile:
        return self.scenario.runtime or self.problem.machine.runtime

    @property
    def runtime(self) -> RuntimeProfile:
        return effective_runtime(self.profile, self.policy)

    @property
    def given(self) -> Layout | None:
        """The layout asked for, None where it is to be found."""
        return None if self.scenario.layout == BEST else self.scenario.layout

    @cached_property
    def quick(self) -> layouts.Choice:
        """The layout asked for, or that of the shortest estimate."""
        return self.choice(self.given)

    def choice(self, layout: Layout | None) -> layouts.Choice:
        return layouts.chosen(self.policy, self.problem, self.runtime, layout)

    def of_layout(self, layout: Layout) -> Schedule:
        return self.replayed(self.choice(layout))

    def replayed(self, found: layouts.Choice) -> Schedule:
        problem, limit = replace(self.problem, layout=found.layout), self.scenario.memory_limit
        before = state_of(self.policy)
        plan = _plan(problem, found.policy, self.runtime, self.factors, limit)
        if found.policy is self.policy:
            # What it keeps may be in its spec, and another after each replay.
            plan = replace(plan, spec=self.called)
        chosen = engines.chosen(self.scenario.engine, plan)
        inputs = Inputs(
            found.policy, found.layout, self.scenario.costs, self.profile, self.factors, self.scenario.engine,
            chosen.why, found.by, found.why,
        )  # fmt: skip
        schedule = chosen.replay(plan, self.scenario.progress)
        still = _still(problem.graph, problem.machine)
        remarks = dict.fromkeys((*remarks_of(found.policy), *plan.notes))
        said = (*_divided(problem, schedule, self.scenario.costs), *remarks)
        notes = (
            *remembered(self.policy, self.policy.name or self.called, before),
            *(_in_place(problem.graph) if self.scenario.by_default else ()),
            *schedule.notes,
            *said,
            *still,
            *_free_cores(problem),
            *_as_planned(problem, found.policy),
        )
        return replace(schedule, inputs=inputs, notes=notes)

    @cached_property
    def search(self) -> Search | None:
        """Replays that find the best layout, or a good one where estimates are rough; None where an estimate does."""
        if self.given is not None:
            return None
        machine = self.problem.machine
        every = usable_layouts(self.policy, self.problem)
        estimator = Estimator(self.problem, self.policy, self.runtime)
        if not every or not (self.scenario.layout == BEST or estimator.rough):
            return None
        return Search(
            self.of_layout,
            estimator,
            every,
            self.factors is None,
            possible=lambda one: is_of_one_kind(self.policy, machine, one) and estimator.serves(one),
        )

    def schedule(self) -> Schedule:
        """Return the schedule of the layout, given or found, with notes on the memory that it needs."""
        return checked_against_memory(self._found(), self.scenario.memory_limit)

    def _found(self) -> Schedule:
        if self.search is not None:
            return self.search.run() if self.scenario.layout == BEST else self.search.nearest()
        quick = self.replayed(self.quick)
        rival = self.quick.rival
        return quick if rival is None else layouts.shorter(quick, self.of_layout(rival))


def _free_cores(problem: Problem) -> Iterator[Note]:
    """Yield a note where threads share cores and nothing slows them down."""
    layout, effects, threads = problem.layout, problem.machine.effects, problem.machine.n_threads
    if layout is not None and layout.cores > threads and not (effects.share_cores or effects.fair_cores):
        yield Note(
            f"{layout.cores} threads on {threads} cost nothing, as the effect share_cores is off: the makespan may be "
            "less than the cores can do; share_cores=true in the machine's brackets has them take turns",
            Weight.DOUBT,
        )


def _as_planned(problem: Problem, policy: Policy) -> Iterator[Note]:
    """Yield a note where a plan takes objects to move otherwise than they do."""
    data, network = problem.graph.data, problem.machine.network
    if not isinstance(policy, PlannedPolicy) or data is None or network is None or not data.size_B.any():
        return
    read, shared = network.ways.mode == "read", problem.machine.effects.share_links
    # That the classics of the literature plan without contention is known of them.
    if read or (shared and network.ways.mode == "sent" and policy.family == "exact"):
        how = "a task reads them one after another" if read else "they share links"
        yield Note(
            f"{policy.name} plans as if objects moved side by side, and {how}: another plan may be shorter",
            Weight.DOUBT,
        )


def _divided(problem: Problem, schedule: Schedule, model: CostModel) -> Iterator[Note]:
    """Yield a note where given durations are those of one core, and tasks ran in teams that are faster."""
    graph, costs = problem.graph, problem.costs
    known = ~np.isnan(graph.durations_s)
    if not known.any() or measured_on(graph) is not None:
        return
    faster = (schedule.widths > graph.widths) & (schedule.alone_s < costs.one_core_s)
    divided = np.flatnonzero(known & faster & (costs.terms.serial_share[costs.labels] < 1))
    labels = [graph.kinds.labels[code] for code in np.unique(graph.kinds.codes[divided])]
    # Of curves that were given, the user knows.
    if kinds := [kind for kind in labels if model.curve(kind).family != "given"]:
        yield Note(
            f"given durations are on one core, or on as many as the task's width says; those of {few(kinds)} are "
            "divided over wider teams, by the cost curves of these kinds",
            Weight.DOUBT,
        )


def effective_runtime(runtime: RuntimeProfile, policy: Policy) -> RuntimeProfile:
    """Return the software's costs under a policy: teams of unpinned threads fork and join more slowly."""
    not_pinned = isinstance(policy, RankPolicy) and not policy.pinned
    return runtime.not_pinned() if not_pinned else runtime


def _plan(
    problem: Problem,
    policy: Policy,
    runtime: RuntimeProfile,
    factors: Seconds | None,
    memory_limit: MemoryLimit,
) -> Plan:
    if isinstance(policy, RankPolicy):
        return StaticPlan.of(problem, policy, runtime, factors, memory_limit)
    return DynamicPlan.of(problem, policy, runtime, factors, memory_limit)


def _checked(factors: npt.ArrayLike, graph: TaskGraph) -> Seconds:
    given = np.asarray(factors)
    if given.shape != (graph.n_tasks,) or given.dtype.kind not in "iuf":
        raise CostError(
            f"factors are {given.dtype} of shape {given.shape}; expected a number for each of {graph.n_tasks} tasks"
        )
    if (wrong := ~(np.isfinite(given) & (given >= 0))).any():
        task = int(wrong.argmax())
        raise CostError(f"the factor of task {task} is {given[task]}; it must be zero or more, and finite")
    return given.astype(np.float64)
