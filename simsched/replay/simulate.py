"""`simulate()`: one replay, from graph, machine and policy to a `Schedule`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.costs import CostModel, TaskCosts
from simsched.defaults import MACHINE, POLICY
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine, RuntimeProfile
from simsched.machine import machine as machine_of
from simsched.policy import Layout, Policy, Problem, RankPolicy
from simsched.policy import policy as policy_of
from simsched.policy.estimate import Estimator
from simsched.policy.layout import BEST
from simsched.replay import engines, layouts
from simsched.replay.best_layout import Search
from simsched.replay.checks import check_inputs
from simsched.replay.plan import DynamicPlan, Plan, StaticPlan, actual
from simsched.replay.policy_checks import layouts_of, remarks_of
from simsched.schedule import Schedule
from simsched.schedule.inputs import Inputs
from simsched.spec import Engine


def simulate(
    graph: TaskGraph,
    machine: str | Path | Machine = MACHINE,
    policy: str | Policy | type[Policy] = POLICY,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    factors: npt.ArrayLike | None = None,
    progress: Callable[[int], object] | None = None,
) -> Schedule:
    """Replay a task graph on a machine under a policy.

    Parameters
    ----------
    graph : TaskGraph
    machine, policy
        As `simsched.machine` and `simsched.policy` take them.
    layout : str, Layout or pair of int, optional
        Executors x cores, as in "8x8". When not given, it is found by an estimate of all layouts' makespans, without
        replays (`simsched.policy.estimate`); where layouts only limit what a policy decides as tasks run (`corun`), by
        replays of the four shortest estimates. "best" replays up to 15 layouts and returns the shortest schedule.
        `schedule.inputs.layout_by` and `layout_why` say who chose it.
    costs : CostModel, optional
        How recorded seconds become seconds on this machine; `CostModel()` when not given.
    runtime : RuntimeProfile, optional
        The software's own costs; the machine's when not given. `RuntimeProfile()` has none.
    engine : {"auto", "simpy", "native"}
        "auto" takes the compiled engine ("native") if it can do this replay; `schedule.inputs.engine_why` says why.
    seed : int
        Seed of all random numbers: noise, random order, places of threads that are not pinned.
    factors : array_like of float, shape (n,), optional
        Each task's actual seconds over those that policies see; sampled from the noise of `costs` when not given.
    progress : callable, optional
        Called now and then with the number of tasks finished since its last call.

    Returns
    -------
    Schedule
        The same to the bit for the same arguments.

    Raises
    ------
    SimschedError
        If an argument is impossible, or the policy does something impossible; the message says why.

    Examples
    --------
    >>> simulate(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "fifo").makespan_s
    4.0
    """
    asked = _Asked.of(graph, machine, policy, costs, runtime, engine, seed, factors, progress)
    return asked.found(layout)


def layout_found(
    graph: TaskGraph,
    machine: str | Path | Machine,
    policy: str | Policy | type[Policy],
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    progress: Callable[[int], object] | None = None,
) -> Layout | None:
    """Return the layout that `simulate` uses, without a replay where an estimate finds it; None where there is none.

    Examples
    --------
    >>> str(layout_found(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "fifo"))
    '2x1'
    """
    asked = _Asked.of(graph, machine, policy, costs, runtime, engine, seed, progress=progress)
    if not asked.by_replays(layout):
        return asked.chosen(None if layout == BEST else layout).layout
    inputs = asked.found(layout).inputs
    return None if inputs is None else inputs.layout


@dataclass(frozen=True, eq=False)
class _Asked:
    """What `simulate` was asked for, checked, but for the layout."""

    problem: Problem
    policy: Policy
    model: CostModel
    profile: RuntimeProfile
    factors: Seconds | None
    engine: Engine
    progress: Callable[[int], object] | None

    @classmethod
    def of(
        cls,
        graph: TaskGraph,
        machine: str | Path | Machine,
        policy: str | Policy | type[Policy],
        costs: CostModel | None,
        runtime: RuntimeProfile | None,
        engine: Engine,
        seed: int,
        factors: npt.ArrayLike | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> _Asked:
        check_inputs(graph, costs, runtime, seed, engine)
        target, given, model = machine_of(machine), policy_of(policy), costs or CostModel()
        profile = runtime or target.runtime
        problem = Problem(
            graph, target, model.on(graph, target, effective_runtime(profile, given)), None, seed
        )
        used = model.factors(graph.n_tasks, seed) if factors is None else _checked(factors, graph)
        _check_finite(problem.costs, used)
        return cls(problem, given, model, profile, used, engine, progress)

    @property
    def runtime(self) -> RuntimeProfile:
        return effective_runtime(self.profile, self.policy)

    def chosen(self, layout: str | Layout | tuple[int, int] | None) -> layouts.Choice:
        return layouts.chosen(self.policy, self.problem, self.runtime, layout)

    def replayed(self, layout: str | Layout | tuple[int, int] | None) -> Schedule:
        found = self.chosen(layout)
        plan = _plan(replace(self.problem, layout=found.layout), found.policy, self.runtime, self.factors)
        choice = engines.chosen(self.engine, plan)
        inputs = Inputs(
            found.policy, found.layout, self.model, self.profile, self.factors, self.engine, choice.why,
            found.by, found.why,
        )  # fmt: skip
        return _with_inputs(choice.replay(plan, self.progress), inputs)

    @cached_property
    def search(self) -> Search | None:
        """Replays that find a layout; None where there is none to find, or, with executors, an estimate finds it."""
        every = layouts_of(self.policy, self.problem.machine)
        estimator = Estimator(self.problem, self.policy, self.runtime)
        return Search(self.replayed, estimator, every, bounded=self.factors is None) if every else None

    def by_replays(self, layout: str | Layout | tuple[int, int] | None) -> bool:
        """Return whether replays find the layout: the best one, or one that limits what is decided as tasks run."""
        if layout is not None and layout != BEST:
            return False
        return self.search is not None and (layout == BEST or not self.search.estimator.fixed)

    def found(self, layout: str | Layout | tuple[int, int] | None) -> Schedule:
        """Return the schedule of a layout, given or found."""
        if self.search is None or not self.by_replays(layout):
            return self.replayed(None if layout == BEST else layout)
        return self.search.run() if layout == BEST else self.search.nearest()


def _with_inputs(schedule: Schedule, inputs: Inputs) -> Schedule:
    return replace(schedule, inputs=inputs, notes=(*schedule.notes, *remarks_of(inputs.policy)))


def effective_runtime(runtime: RuntimeProfile, policy: Policy) -> RuntimeProfile:
    """Return the software's costs under a policy: teams of threads that are not pinned fork and join slower."""
    not_pinned = isinstance(policy, RankPolicy) and not policy.pinned
    return runtime.not_pinned() if not_pinned else runtime


def _plan(problem: Problem, policy: Policy, runtime: RuntimeProfile, factors: Seconds | None) -> Plan:
    if isinstance(policy, RankPolicy):
        return StaticPlan.of(problem, policy, runtime, factors)
    return DynamicPlan.of(problem, policy, runtime, factors)


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


def _check_finite(costs: TaskCosts, factors: Seconds | None) -> None:
    """Refuse durations that add up to infinity: all tasks one after another, each on one core, bound every time."""
    with np.errstate(over="ignore"):
        total = float(actual(costs.one_core_s, factors).sum())
    if not np.isfinite(total):
        raise CostError("the seconds of all tasks add up to infinity; check the durations, and the noise")
