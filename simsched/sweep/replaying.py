"""Points of a sweep, and `Replayer`: from a point to its schedule, with data common to several points made once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.costs import CostModel, TaskCosts
from simsched.errors import SpecError
from simsched.graph import LabelColumn, TaskGraph
from simsched.graph.shapes import with_times
from simsched.policy import Layout, Policy
from simsched.policy.layout import Best
from simsched.replay.scenario import Scenario
from simsched.spec import Scalar, Spec, made
from simsched.sweep.axes import Axis, Choices

if TYPE_CHECKING:
    from simsched.graph.taskgraph import Seconds
    from simsched.machine import Machine, RuntimeProfile
    from simsched.schedule import Schedule
    from simsched.sweep.sweep import Sweep

#: Prefix of the names of parameters in the names of columns.
MACHINE_PREFIX, POLICY_PREFIX = "machine.", "policy."
#: Factors on the seconds of tasks: one for all, or by kind.
Scaling = float | Mapping[str, float]


@dataclass(frozen=True)
class Point:
    """One replay to be made.

    Parameters
    ----------
    number : int
        Its place in the sweep, from 0.
    graph, machine, policy, scaling : int
        Places in the sweep's lists.
    machine_parameters, policy_parameters : tuple of (str, scalar)
        Their varied parameters.
    layout : Layout, "best" or None
        As asked for.
    noise : float, str or None
        Standard deviation of the logarithm of what tasks really take; the cost model's where None.
    seed : int
    """

    number: int
    graph: int
    machine: int
    machine_parameters: tuple[tuple[str, Scalar], ...]
    policy: int
    policy_parameters: tuple[tuple[str, Scalar], ...]
    layout: Layout | Best | None
    scaling: int
    noise: float | str | None
    seed: int


def parameters_of(policy: Policy) -> tuple[str, ...]:
    """Return the names of a policy's parameters."""
    return tuple(f.name for f in fields(policy) if f.init)


def with_parameters(policy: Policy, parameters: Mapping[str, Scalar]) -> Policy:
    """Return a policy with other parameters.

    Raises
    ------
    SpecError
        If a value is not possible.
    """
    if not parameters:
        return policy
    now: dict[str, Any] = {name: getattr(policy, name) for name in parameters_of(policy)}
    return made(type(policy), "policy", Spec(policy.name or type(policy).__name__, {**now, **parameters}))


def asked_of(policy: Policy, layout: Layout | Best | None) -> Layout | Best | None:
    """Return a policy's form of a layout offered to all: None where it cannot use it, or is to find one."""
    return policy.suited(layout) if isinstance(layout, Layout) else layout


def without_repeats(choices: Choices, axes: Sequence[Axis], *, sampled: bool) -> Choices:
    """Return the choices, irrelevant ones replaced by the first value; a product then has each point once.

    Parameters that a policy lacks do not matter to it, nor do layouts that it is offered and cannot use.
    """
    place = {each.name: number for number, each in enumerate(axes)}
    policies, layouts = axes[place["policy"]], axes[place["layout"]]
    result = choices.copy()
    for number in range(policies.size):
        policy, rows = policies.at(number), choices[:, place["policy"]] == number
        for each in axes:
            key = each.name.removeprefix(POLICY_PREFIX)
            if key != each.name and key not in parameters_of(policy):
                result[rows, place[each.name]] = 0
        offered = [asked_of(policy, layouts.at(i)) for i in range(layouts.size)]
        first = np.array([offered.index(layout) for layout in offered])
        result[rows, place["layout"]] = first[choices[rows, place["layout"]].astype(int)]
    if sampled or np.array_equal(result, choices):
        return result
    _, firsts = np.unique(result, axis=0, return_index=True)
    return np.asarray(result[np.sort(firsts)])


#: Graphs, machines, policies and costs that are kept, those of a range being all different; and tasks of these graphs.
KEPT, KEPT_TASKS = 64, 4_000_000
Parameters = tuple[tuple[str, "Scalar"], ...]
#: Result of one point, by column.
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """Outcome of one batch.

    Parameters
    ----------
    outcomes : sequence of dict
        Their outcomes.
    back : sequence of int
        Points that were not begun.
    lost : sequence of int
        Points of which one at least was running when the process that had them died.
    how : str
        How it died.
    """

    outcomes: Sequence[Outcome]
    back: Sequence[int] = ()
    lost: Sequence[int] = ()
    how: str = ""


@dataclass(frozen=True, eq=False)
class _KeptCosts(CostModel):
    """A cost model that makes the costs of a graph on a machine once.

    Parameters
    ----------
    made : callable
        The `on` of a cost model that remembers.
    """

    made: Callable[[TaskGraph, Machine, RuntimeProfile | None], TaskCosts] = CostModel().on

    def on(self, graph: TaskGraph, machine: Machine, runtime: RuntimeProfile | None = None) -> TaskCosts:
        """Return the costs of a graph's tasks on a machine; see `CostModel.on`."""
        return self.made(graph, machine, runtime)


class Replayer:
    """Replays points; may be shared by threads.

    Parameters
    ----------
    sweep : Sweep
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        model, largest = (
            sweep.costs or CostModel(),
            max(graph.n_tasks for graph in sweep.axis("graph").listed),
        )
        kept = max(min(KEPT, KEPT_TASKS // max(largest, 1)), 2)
        self._costs = _KeptCosts(noise=model.noise, made=lru_cache(kept)(model.on))
        self._graph = lru_cache(kept)(self._scaled_graph)
        self._machine = lru_cache(KEPT)(self._varied_machine)
        self._policy = lru_cache(KEPT)(self._varied_policy)
        self._layout = lru_cache(KEPT)(self._found_layout)

    def schedule(self, number: int) -> Schedule:
        """Return the schedule of a point.

        Raises
        ------
        SimschedError
            If the point is impossible.
        """
        return self._simulated(number, self.sweep.costs or CostModel())

    def _simulated(self, number: int, costs: CostModel) -> Schedule:
        sweep, point = self.sweep, self.sweep.point(number)
        place = (point.graph, point.scaling, point.machine, point.machine_parameters, point.policy)
        scenario = Scenario(
            self._machine(point.machine, point.machine_parameters),
            self._layout(*place, point.policy_parameters, point.layout),
            costs if point.noise is None else replace(costs, noise=point.noise),
            sweep.runtime,
            sweep.engine,
            point.seed,
        )
        policy = self._policy(point.policy, point.policy_parameters)
        return scenario.replay(self._graph(point.graph, point.scaling), policy)

    def _found_layout(
        self,
        graph: int,
        scaling: int,
        machine: int,
        machine_parameters: Parameters,
        policy: int,
        policy_parameters: Parameters,
        layout: Layout | Best | None,
    ) -> Layout | Best | None:
        """Return the layout of all points that differ in noise and seed alone, found without noise."""
        if isinstance(layout, Layout):
            return layout
        quiet, sweep = replace(self._costs, noise=0.0), self.sweep
        target = self._machine(machine, machine_parameters)
        scenario = Scenario(target, layout, quiet, sweep.runtime, sweep.engine)
        chosen = self._policy(policy, policy_parameters)
        return scenario.layout_of(self._graph(graph, scaling), chosen) or layout

    def outcome(self, number: int) -> Outcome:
        """Return the result of a point: its number, and either metrics or the error."""
        begin = time.perf_counter()
        try:
            schedule = self._simulated(number, self._costs)
            found: Outcome = {
                "layout_used": schedule.layout,
                "engine_used": schedule.engine,
                **schedule.metrics(),
            }
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        return {"point": number, **found, "replay_s": time.perf_counter() - begin}

    def _scaled_graph(self, graph: int, scaling: int) -> TaskGraph:
        return _scaled(self.sweep.axis("graph").at(graph), self.sweep.axis("scaling").at(scaling))

    def _varied_machine(self, machine: int, parameters: Parameters) -> Machine:
        base: Machine = self.sweep.axis("machine").at(machine)
        return base.varied(dict(parameters)) if parameters else base

    def _varied_policy(self, policy: int, parameters: Parameters) -> Policy:
        return with_parameters(self.sweep.axis("policy").at(policy), dict(parameters))


def _scaled(graph: TaskGraph, scaling: Scaling) -> TaskGraph:
    """Return a graph whose tasks have scaled seconds; where these are unknown, scaled operations and bytes.

    Raises
    ------
    SpecError
        If no task is of a kind to be scaled.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> graph = TaskGraph.from_edges([1.0, 2.0], kinds=["MatMul", "Add"])
    >>> _scaled(graph, {"Add": 3.0}).durations_s
    array([1., 6.])
    """
    if scaling == 1.0:
        return graph
    factors = np.array(
        [
            float(scaling.get(kind, 1.0)) if isinstance(scaling, Mapping) else scaling
            for kind in graph.kinds.labels
        ]
    )[graph.kinds.codes]
    if isinstance(scaling, Mapping) and (unknown := scaling.keys() - set(graph.kinds.labels)):
        raise SpecError(f"scalings: graph {graph.name!r} has no task of kind {min(unknown)!r}")
    work = np.where(np.isnan(graph.durations_s), factors, 1.0)
    return replace(
        graph,
        shapes=_scaled_shapes(graph.shapes, work),
        durations_s=graph.durations_s * factors,
        flops=graph.flops * work,
        bytes_B=graph.bytes_B * work,
        recording=None,
    )


def _scaled_shapes(shapes: LabelColumn, work: Seconds) -> LabelColumn:
    """Return shapes marked with the factor on a task's work; those of unscaled tasks stay unchanged."""
    pairs = list(zip(shapes.codes.tolist(), work.tolist(), strict=True))
    texts = {
        (code, factor): shapes.labels[code] if factor == 1 else with_times(shapes.labels[code], factor)
        for code, factor in set(pairs)
    }
    return LabelColumn.from_strings(texts[pair] for pair in pairs)
