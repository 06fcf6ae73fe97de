"""`tune`: the best policy, layout and widths of a graph on a machine, by one of three searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

from simsched.costs import CostModel
from simsched.defaults import BASELINE, POLICY
from simsched.document.result import Result
from simsched.errors import LayoutError, SpecError
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.notes import Note
from simsched.plots.layouts import tuned as draw_tuned
from simsched.policy import Layout, Policy, policy as policy_of
from simsched.policy.bound import can_run, serves
from simsched.policy.layout import BEST, Best
from simsched.policy.names import distinct, given_names
from simsched.progress import shows_progress
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.spec import Engine, Search
from simsched.study.compare import Point, Trials, default_seeds
from simsched.study.tune_optuna import search
from simsched.study.tune_widths import TUNED, Widths, descend
from simsched.study.worlds import sampled_s

#: Default policies of a search.
SUITED: dict[Search, list[str]] = {
    "enumerate": [POLICY],
    "widths": [TUNED],
    "optuna": [POLICY, "fifo", "corun", TUNED],
}

#: Shortest replays that are sampled in other worlds.
MOST_SAMPLED = 4


@shows_progress
def tune(
    graph: TaskGraph,
    machine: str | Path | Machine | None = None,
    policy: str | Policy | type[Policy] | Sequence[str | Policy | type[Policy]] | None = None,
    layouts: Iterable[str | Layout | tuple[int, int]] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    method: Search = "enumerate",
    evaluations: int = 100,
    reserved: int = 0,
    samples: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Search for the best policy, layout and widths of a graph on a machine.

    Parameters
    ----------
    graph, machine, costs, runtime, engine, seed, progress
        As in `simsched.simulate`. Optuna's sampler has the same seed, so that the same arguments give the same rows.
    policy : policy or sequence of policies, optional
        As `simsched.policy` takes them, `kind-widths` for any widths; those of `SUITED` when not given.
    layouts : iterable of str, Layout or pair of int, optional
        As in ["2x32", (4, 16)]. By default `worker_layouts` and that of `layout="best"`; for `optuna`, any layout.
        A policy that chooses its own widths is one replay, without a layout.
    method : {"enumerate", "widths", "optuna"}
        Every layout of every policy, as Graphi's profiler does; the widths of `kind-widths`, one kind at a time
        (`simsched.study.tune_widths.descend`); or all of these jointly (`simsched.study.tune_optuna.search`).
    evaluations, reserved : int
        Most replays of "widths" and "optuna"; cores to leave out, such as a scheduler's, where no layouts are given.
    samples : int, optional
        As in `simsched.compare`, of the four shortest: only these have intervals, and a `fastest_share` among them.

    Returns
    -------
    Result
        One row for each replay, the shortest makespan first: the columns of `comparison_frame` but for what binds, with
        `executors` and `width` after `layout`, and at last `evaluation`, the place in the order of the search, from 1.

    Raises
    ------
    LayoutError, SpecError, MissingExtraError
        If a layout or the method does not exist, the method cannot search this policy or layouts, or Optuna is missing.

    References
    ----------
    Scheduling Computation Graphs of Deep Learning Models on Manycore CPUs, 2018, Sec. 4-6.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> tune(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "fifo")["layout"].tolist()
    ['2x1', '1x2']
    """
    policies = _policies(policy, method, evaluations)
    scenario = Scenario.on(graph, machine, None, costs, runtime, engine, seed, progress)
    seeds, unsampled = default_seeds(seed, samples, policies, scenario.machine, graph)
    return _Tuned(scenario, graph, policies, unsampled).result(method, layouts, reserved, evaluations, seeds)


@dataclass(frozen=True, eq=False)
class _Tuned:
    """The graph that is tuned, and the policies among which is searched."""

    scenario: Scenario
    graph: TaskGraph
    policies: list[Policy]
    unsampled: Sequence[Note]

    def replay(self, policy: str | Policy, layout: Layout | Best | None) -> Schedule:
        return replace(self.scenario, layout=layout).replay(self.graph, policy)

    def trials(self, most: int) -> Trials:
        baselines = [policy_of(BASELINE), *self.policies]
        able = next(one for one in baselines if can_run(one, self.graph, self.scenario.machine))
        names, baseline = given_names(self.policies), self.replay(able, BEST)
        return Trials(self.replay, baseline, self.scenario.bounds(self.graph), most, names)

    def enumerated(self, layouts: Iterable[str | Layout | tuple[int, int]] | None, reserved: int) -> Trials:
        points = _enumerated(self.graph, self.scenario.machine, self.policies, layouts, reserved)
        if layouts is None and not reserved:
            best = replace(self.scenario, layout=BEST)
            points += [(policy, best.layout_of(self.graph, policy)) for policy in self.policies]
        trials = self.trials(len(points))
        trials.all_seconds(points)
        return trials

    def result(
        self,
        method: Search,
        layouts: Iterable[str | Layout | tuple[int, int]] | None,
        reserved: int,
        most: int,
        seeds: range,
    ) -> Result:
        """Return the table of a search, the shortest sampled with all seeds but the first."""
        trials = self.searched(method, layouts, reserved, most)
        others_s = sampled_s(trials.shortest(self.scenario, self.graph, MOST_SAMPLED), seeds[1:])
        cores = self.scenario.machine.n_cores - reserved
        found = trials.result(partial(draw_tuned, method=method, cores=cores), others_s, self.unsampled)
        if layouts is None:
            found["layout_by"] = found["layout_by"].replace("given", "replays")
        return found

    def searched(
        self,
        method: Search,
        layouts: Iterable[str | Layout | tuple[int, int]] | None,
        reserved: int,
        most: int,
    ) -> Trials:
        """Return all replays of a search."""
        if method == "enumerate":
            return self.enumerated(layouts, reserved)
        if method == "widths" and (layouts is not None or reserved):
            raise LayoutError(
                f"{TUNED} chooses its own widths and cores: give no layouts and no reserved cores"
            )
        trials, scenario = self.trials(most), self.scenario
        widths = Widths.of(self.graph, scenario.task_costs(self.graph))
        if method == "widths":
            descend(trials, widths)
        else:
            given = self._choices(reserved) if layouts is None else _given(layouts, reserved)
            search(trials, self.policies, given, widths, _workers(scenario.machine, reserved), scenario.seed)
        return trials

    def _choices(self, reserved: int) -> list[Layout] | None:
        """Return the layouts that a search chooses from on several kinds of cores; None for any layout."""
        machine = self.scenario.machine
        if machine.kinds is None or reserved:
            return None
        every = worker_layouts(machine)
        return [one for one in every if all(serves(to, self.graph, machine, one) for to in self.policies)]


def _policies(
    policy: str | Policy | type[Policy] | Sequence[str | Policy | type[Policy]] | None,
    method: Search,
    evaluations: int,
) -> list[Policy]:
    """Return the policies to search, which must suit the method; some evaluations must be allowed."""
    if method not in get_args(Search):
        raise SpecError(f"method is {method!r}; expected one of {', '.join(get_args(Search))}")
    policy = SUITED[method] if policy is None else policy
    given = policy if isinstance(policy, Iterable) and not isinstance(policy, str) else [policy]
    found = distinct(policy_of(one) for one in given)
    if not found:
        raise SpecError("there is no policy to tune; give at least one")
    if method == "widths" and [one.name for one in found] != [TUNED]:
        raise SpecError(f"method widths searches the widths of {TUNED}, not of {', '.join(map(str, found))}")
    if evaluations < 1:
        raise SpecError(f"evaluations is {evaluations}; expected at least 1")
    return found


def worker_layouts(machine: Machine, reserved: int = 0) -> list[Layout]:
    """Return the layouts to which no executor, and no core of each, can be added; the fewest executors first.

    On several kinds of cores, those that fill the first kind or all kinds, with the machine's devices and without.

    Parameters
    ----------
    machine : Machine
    reserved : int
        Cores that are no workers.

    Raises
    ------
    LayoutError
        If no core is left.

    Examples
    --------
    >>> import simsched as ss
    >>> [str(layout) for layout in worker_layouts(ss.machine("generic[cores=16]"), reserved=4)]
    ['1x12', '2x6', '3x4', '4x3', '6x2', '12x1']
    """
    workers = _workers(machine, reserved)
    if machine.kinds is not None and not reserved:
        found = Layout.of_kinds(machine.kinds.threads(1), int(machine.is_device.sum()))
        # A machine of nothing but devices has them as its cores.
        return list(found) or [Layout(workers, 1)]
    return list(Layout.filling(workers))


def _workers(machine: Machine, reserved: int) -> int:
    if not 0 <= reserved < machine.n_cores:
        raise LayoutError(
            f"reserved is {reserved}; of the {machine.n_cores} cores of {machine} at least one must be left"
        )
    return machine.n_cores - reserved


def _enumerated(
    graph: TaskGraph,
    machine: Machine,
    policies: Sequence[Policy],
    layouts: Iterable[str | Layout | tuple[int, int]] | None,
    reserved: int,
) -> list[Point]:
    """Return every policy with every layout that suits it."""
    without = [policy for policy in policies if not policy.takes_layout]
    if without and (layouts is not None or reserved):
        raise LayoutError(
            f"policy {without[0]} chooses its own widths and cores; it has no layout to tune: give no layouts and no "
            "reserved cores"
        )
    if layouts is not None:
        return [(policy, layout) for policy in policies for layout in _given(layouts, reserved)]
    every = worker_layouts(machine, reserved)
    return [(policy, None) for policy in without] + [
        (policy, layout)
        for policy in policies
        # In addition to the common layouts, its own: caps of co-running, or one executor narrower than the machine.
        for layout in dict.fromkeys([*every, *(() if reserved else policy.layouts(machine))])
        if policy.suited(layout) is not None and serves(policy, graph, machine, layout)
    ]


def _given(layouts: Iterable[str | Layout | tuple[int, int]], reserved: int) -> list[Layout]:
    if reserved:
        raise LayoutError(f"reserved is {reserved}, and layouts are given: give one of the two")
    if isinstance(layouts, str) or not (found := [Layout.parse(layout) for layout in layouts]):
        raise LayoutError(f"layouts is {layouts!r}; expected at least one, as in ['2x32', '4x16']")
    return found
