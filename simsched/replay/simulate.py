"""`simulate()`: one replay, from graph, machine and policy to a `Schedule`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.costs import CostModel, TaskCosts
from simsched.errors import CostError, LayoutError, PolicyError, SimschedError
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine, RuntimeProfile
from simsched.machine import machine as machine_of
from simsched.policy import CandidateRule, Layout, Policy, Problem, RankPolicy
from simsched.policy import policy as policy_of
from simsched.replay import engines
from simsched.replay.answers import check_queue
from simsched.replay.plan import DynamicPlan, Plan, StaticPlan
from simsched.schedule import Schedule
from simsched.schedule.inputs import Inputs
from simsched.spec import Engine


def simulate(
    graph: TaskGraph,
    machine: str | Path | Machine,
    policy: str | Policy | type[Policy],
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
    machine : str, Path or Machine
    policy : str, Policy or class of Policy
        As `simsched.machine` and `simsched.policy` take them.
    layout : str, Layout or pair of int, optional
        Executors x cores, as in "8x8"; the policy's own default when not given.
    costs : CostModel, optional
        How recorded seconds become seconds here; the default one when not given.
    runtime : RuntimeProfile, optional
        The software's own costs; the machine's when not given, none with `RuntimeProfile()`.
    engine : {"auto", "simpy", "native"}
        "auto" takes the compiled one wherever it can; `schedule.engine` did, `schedule.inputs.engine_why` says why.
    seed : int
        Seed of every random draw: noise, random order.
    factors : array_like of float, shape (n,), optional
        Seconds that really pass over those estimated, by which policies decide; else drawn as the model's noise says.
    progress : callable, optional
        Called now and then with the number of tasks finished since its last call.

    Returns
    -------
    Schedule
        The same bits for the same inputs.

    Raises
    ------
    SimschedError
        If anything asked for is impossible, or the policy acts impossibly; the message says why.

    Examples
    --------
    >>> simulate(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "fifo").makespan_s
    4.0
    """
    check_inputs(graph, costs, runtime, seed, engine)
    target, chosen, model = machine_of(machine), policy_of(policy), costs or CostModel()
    profile = runtime or target.runtime
    wanted, software = _wanted(layout, chosen, target), software_of(profile, chosen)
    problem = Problem(graph, target, model.on(graph, target, software), wanted, seed)
    passing = model.factors(graph.n_tasks, seed) if factors is None else _given(factors, graph)
    choice = engines.chosen(engine, plan := _plan(problem, chosen, software, passing))
    inputs = Inputs(chosen, wanted, model, profile, passing, engine, choice.why)
    return _with_inputs(choice.replay(plan, progress), inputs)


def _with_inputs(schedule: Schedule, inputs: Inputs) -> Schedule:
    return replace(schedule, inputs=inputs, notes=(*schedule.notes, *inputs.policy.remarks))


def _wanted(layout: str | Layout | tuple[int, int] | None, chosen: Policy, target: Machine) -> Layout | None:
    wanted = None if layout is None else Layout.parse(layout)
    if wanted is not None and not chosen.takes_layout:
        raise LayoutError(f"policy {chosen} chooses its own widths and cores; give it no layout")
    if not isinstance(chosen, RankPolicy):
        return wanted
    if not isinstance(found := chosen.checked_layout(target, wanted), Layout):
        raise PolicyError(f"policy {chosen}: its layout is {found!r}; expected a Layout")
    return found


def software_of(runtime: RuntimeProfile, chosen: Policy) -> RuntimeProfile:
    """Return the software's costs under a policy: teams of threads that are not pinned fork and join slower."""
    return runtime if not isinstance(chosen, RankPolicy) or chosen.pinned else runtime.not_pinned()


def check_graph(graph: object) -> None:
    """Refuse what is no graph."""
    if not isinstance(graph, TaskGraph):
        raise SimschedError(f"graph is {graph!r}; expected a TaskGraph")


def check_inputs(
    graph: object, costs: object, runtime: object, seed: object, engine: Engine = "auto"
) -> None:
    """Refuse what is no graph, cost model, runtime profile, seed or engine; costs and runtime may be None."""
    check_graph(graph)
    for value, kind in ((costs, CostModel), (runtime, RuntimeProfile)):
        if value is not None and not isinstance(value, kind):
            raise SimschedError(f"{value!r} is not a {kind.__name__}")
    check_seed(seed)
    engines.check_engine(engine)


def check_seed(seed: object, what: str = "seed") -> None:
    """Check that random numbers can be drawn from a seed.

    Raises
    ------
    SimschedError
        If not.
    """
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise SimschedError(f"{what} is {seed!r}; expected a whole number of zero or more")


def _plan(problem: Problem, chosen: Policy, runtime: RuntimeProfile, noise: Seconds | None) -> Plan:
    _check_finite(problem.costs, noise)
    check_queue(chosen)
    if isinstance(chosen, RankPolicy):
        return StaticPlan.of(problem, chosen, runtime, noise)
    prepared = chosen.prepared(problem)
    if not isinstance(prepared, Policy):
        raise PolicyError(f"policy {chosen}: prepared() returned {prepared!r}; expected a Policy")
    if isinstance(prepared, CandidateRule):
        prepared.checked(problem)
    if prepared.queue != chosen.queue:
        raise PolicyError(
            f"{chosen}: its queue is {chosen.queue!r}, and that of what prepared() returned {prepared.queue!r}; "
            "give both the same, which decisions are charged by"
        )
    return DynamicPlan(problem, prepared, runtime, noise, str(chosen))


def _given(factors: npt.ArrayLike, graph: TaskGraph) -> Seconds:
    given = np.asarray(factors)
    if given.shape != (graph.n_tasks,) or given.dtype.kind not in "iuf":
        raise CostError(
            f"factors are {given.dtype} of shape {given.shape}; expected a number for each of {graph.n_tasks} tasks"
        )
    if (wrong := ~(np.isfinite(given) & (given >= 0))).any():
        task = int(wrong.argmax())
        raise CostError(f"the factor of task {task} is {given[task]}; it must be zero or more, and finite")
    return given.astype(np.float64)


def _check_finite(costs: TaskCosts, noise: Seconds | None) -> None:
    """Times must stay numbers: no schedule is longer than all tasks one after another, each on one core."""
    with np.errstate(over="ignore"):
        seconds = costs.one_core_s if noise is None else costs.one_core_s * noise
        total = float(seconds.sum())
    if not np.isfinite(total):
        raise CostError("the seconds of all tasks add up to infinity; check the durations, and the noise")
