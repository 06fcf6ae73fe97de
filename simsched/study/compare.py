"""`compare`: policies side by side on one graph and machine; `Trials`: the replays spent by a search for the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from simsched.costs import CostModel
from simsched.defaults import BASELINE
from simsched.document.result import Result
from simsched.drawing import Axes
from simsched.errors import MissingExtraError, PolicyError, SpecError
from simsched.exact import optimum
from simsched.graph import TaskGraph
from simsched.graph.required import check_graph
from simsched.intervals import spread
from simsched.machine import Machine, RuntimeProfile
from simsched.notes import Note, Weight
from simsched.plots.policies import comparison
from simsched.policy import Layout, PlannedPolicy, Policy, RankPolicy, policy as policy_of
from simsched.policy.bound import can_run
from simsched.policy.installed import left_out, policies_or_all
from simsched.policy.names import names_in_table, table_key
from simsched.progress import shows_progress
from simsched.replay.advice import advised
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario
from simsched.schedule import Bounds, Schedule
from simsched.schedule.caveats import notes_of
from simsched.schedule.one_core import OneCore, one_core
from simsched.spec import Bound, Engine
from simsched.study.binding import bottleneck
from simsched.study.worlds import (
    SAMPLES,
    Case,
    against_recording,
    against_untraced,
    fastest_shares,
    few_samples,
    one_sample,
    sample_seeds,
    sampled_s,
    undecided,
)
from simsched.text import counted

#: Columns that are not displayed: `bound_s` is the best of the bounds.
HIDDEN = ("critical_path_s", "area_s", "mean_corunning")
#: Tasks that are planned in each world by default, over all policies: the slowest of them plan a task in 0.4 ms.
MOST_PLANNED = 5_000
#: Policies that the note on left out intervals names.
MOST_SLOW = 4


@shows_progress
def compare(
    graph: TaskGraph,
    machine: str | Path | Machine | None = None,
    policies: str | Sequence[str | Policy | type[Policy]] | None = None,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    bound: Bound = "quick",
    limit_s: float = 20.0,
    samples: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Compare policies by replaying a graph under each of them.

    Parameters
    ----------
    graph, machine, costs, runtime, engine, seed, progress
        As in `simsched.simulate`.
    policies : sequence of policies, optional
        As `simsched.policy` takes them; "classics" for those of the literature. When not given, all others,
        and HEFT on machines with several kinds of cores. One named twice has one row; one that refuses the graph has
        none, and a note.
    layout : str, Layout or pair of int, optional
        The layout of every policy that it suits. Each of the others, and all when none is given, gets its best one, as
        `simulate(layout="best")` finds it; a note reports where the best would save over 10 % over a given one.
    bound, limit_s
        The lower bound that gaps are measured from, and the seconds to search for an optimum; see `best_bounds`.
    samples : int, optional
        Replays of each policy: the first with nominal costs and machine, the others in worlds that could be true, the
        same for all policies (docs/predicting.md), each with the layout of the first. 1 for no interval; when not
        given, 20, or 1 and a note where 20 can take minutes: policies that plan before the replay, or choose widths on
        several kinds of cores, have more than 5,000 tasks in all, or one is `optimal`.

    Returns
    -------
    Result
        One row per policy, as `comparison_frame` describes it.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> frame = ss.compare(graph, "generic[cores=2]", ["sequential", "critical-path"])
    >>> frame[["policy", "layout", "makespan_s", "speedup", "bound_s"]].values.tolist()
    [['sequential', '1x1', 6.0, 1.0, 4.0], ['critical-path', '2x1', 4.0, 1.5, 4.0]]
    >>> frame.notes[-1]
    'cost curves: 3 serial'
    """
    scenario = Scenario.on(graph, machine, layout, costs, runtime, engine, seed, progress)
    chosen = policies_or_all(policies, scenario.machine, graph)
    seeds, unsampled = default_seeds(seed, samples, chosen, scenario.machine, graph)
    schedules, sequential, refused = replays(scenario, graph, chosen)
    limits = best_bounds(scenario, graph, bound, limit_s)
    worlds_s, others = worlds_of(scenario, schedules, seeds), left_out(policies, scenario.machine, graph)
    return comparison_frame(schedules, sequential, limits, worlds_s, (*refused, *unsampled, *others))


def default_seeds(
    seed: int, samples: int | None, policies: Sequence[Policy], machine: Machine, graph: TaskGraph
) -> tuple[range, tuple[Note, ...]]:
    """Return the seeds of each policy's replays, one where 20 could take minutes, and a note where it is one.

    Raises
    ------
    SimschedError
        If the number of samples is impossible, or the graph is none.
    """
    check_graph(graph)
    kinds = machine.kinds is not None
    slow = [
        one
        for one in policies
        if isinstance(one, PlannedPolicy) or (kinds and not isinstance(one, RankPolicy))
    ]
    # A policy with an effort searches for so many seconds, however small the graph is.
    long = graph.n_tasks * len(slow) > MOST_PLANNED or any(hasattr(one, "effort") for one in slow)
    if samples is not None or not long:
        wanted = SAMPLES if samples is None else samples
        return sample_seeds(seed, wanted), tuple(one_sample(wanted))
    names = counted(len(slow), "policy") if len(slow) > MOST_SLOW else ", ".join(str(one) for one in slow)
    note = f"no intervals, which can take minutes with {names}: samples=20 or --samples 20 adds them"
    return sample_seeds(seed, 1), (Note(note, Weight.ASSUMPTION),)


def replays(
    scenario: Scenario, graph: TaskGraph, policies: Sequence[Policy]
) -> tuple[list[Schedule], Schedule, tuple[Note, ...]]:
    """Return the schedules that `compare` compares, that of `sequential`, and notes on policies that refuse.

    Where no executor can run all tasks, the second is the first of the others.

    Raises
    ------
    PolicyError or MissingExtraError
        Of the last policy, if all refuse.
    """
    schedules, refused = list[Schedule](), list[PolicyError | MissingExtraError]()
    for policy in policies:
        try:
            schedules.append(advised(_case(scenario, graph, policy).replay()))
        except (PolicyError, MissingExtraError) as error:
            refused.append(error)
    if not schedules:
        raise refused[-1]
    sequential = next((s for s in schedules if s.policy == BASELINE), None)
    if sequential is None and not can_run(policy_of(BASELINE), graph, scenario.machine):
        sequential = schedules[0]
    notes = tuple(Note(f"left out, as it refuses: {error}", Weight.DOUBT) for error in refused)
    return schedules, sequential or advised(_case(scenario, graph, policy_of(BASELINE)).replay()), notes


def worlds_of(scenario: Scenario, schedules: Sequence[Schedule], seeds: range) -> list[list[float]]:
    """Return the makespans of each schedule in all worlds, in seconds, its own first."""
    cases = [
        _case(scenario, schedule.graph, schedule.inputs.policy).settled(schedule)
        for schedule in schedules
        if schedule.inputs
    ]
    others = sampled_s(cases, seeds[1:])
    return [[schedule.makespan_s, *rest] for schedule, rest in zip(schedules, others, strict=True)]


def _case(scenario: Scenario, graph: TaskGraph, policy: Policy) -> Case:
    return Case(replace(scenario, layout=policy.suited_or_best(scenario.layout)), graph, policy)


def comparison_frame(
    schedules: Sequence[Schedule],
    sequential: Schedule,
    limits: Bounds,
    worlds_s: Sequence[Sequence[float]],
    others: Iterable[str] = (),
) -> Result:
    """Return the table of some schedules of one graph on one machine.

    Parameters
    ----------
    schedules : sequence of Schedule
    sequential : Schedule
        What `over_sequential` is measured against.
    limits : Bounds
        Their lower bounds, as `best_bounds` returns them.
    worlds_s : sequence of sequence of float
        Makespans of each in all worlds, in seconds, as `worlds_of` returns them.
    others : iterable of str
        Further notes.

    Returns
    -------
    Result
        policy, layout; layout_by, its origin (`simsched.schedule.inputs.Inputs`); makespan_s; low_s and high_s, between
        which 95 % of such replays fall (as `predict` has them), and fastest_share, the share of the worlds in which no
        other policy is faster by over 0.5 %, all three NaN without samples; speedup, over one core
        that runs every task alone; over_sequential, the makespan of sequential over this one, NaN where no executor can
        run all tasks; utilization;
        critical_path_s, area_s (lower bounds for every policy); bound_s, the best bound known; bound_from, its name;
        gap, the distance from it (makespan over bound_s, minus 1); mean_corunning (tasks); binds, binds_share, the
        resource that causes most of the makespan, and its share (`simsched.study.binding`).
    """

    def row(schedule: Schedule) -> dict[str, Any]:
        found = _comparison_row(schedule, sequential, limits)
        found["binds"], found["binds_share"] = bottleneck(schedule)
        return found

    frame = pd.DataFrame(parallel_map(row, schedules, sequential.graph.n_tasks))
    frame["policy"] = _names(schedules)
    sampled = _sampled(frame["makespan_s"], worlds_s)
    _insert(frame, sampled)
    of = frame, sequential.graph, sequential.require_machine()
    recorded = [*against_untraced(*of), *against_recording(*of)]
    notes = *others, *notes_of(schedules), *_one_core(sequential).notes
    return Result.of(
        frame,
        [*recorded, *undecided(frame, "policy"), *few_samples(worlds_s), *notes],
        comparison,
        (*HIDDEN, *_certain(sampled)),
    )


def _over(sequential: Schedule, makespan_s: float) -> float:
    if sequential.policy != BASELINE:
        return np.nan
    return sequential.makespan_s / makespan_s if makespan_s else 1.0


def _names(schedules: Sequence[Schedule]) -> list[str]:
    called = [schedule.policy for schedule in schedules]
    policies = [schedule.inputs.policy for schedule in schedules if schedule.inputs]
    return names_in_table(policies, called) if len(policies) == len(called) else called


def _sampled(nominal_s: pd.Series[float], worlds_s: Sequence[Sequence[float]]) -> dict[str, pd.Series[float]]:
    """Return low_s, high_s and fastest_share of the first rows, as many as have worlds; NaN for others."""
    intervals = [spread(row) for row in worlds_s]
    sampled = pd.DataFrame(
        {
            "low_s": np.minimum([one.low for one in intervals], nominal_s[: len(intervals)]),
            "high_s": np.maximum([one.high for one in intervals], nominal_s[: len(intervals)]),
            "fastest_share": fastest_shares(worlds_s) if intervals else [],
        }
    )
    return {str(name): column for name, column in sampled.reindex(nominal_s.index).items()}


def _insert(frame: pd.DataFrame, sampled: Mapping[str, pd.Series[float]]) -> None:
    """Insert columns after that of makespans."""
    for place, name in enumerate(sampled, start=list(frame.columns).index("makespan_s") + 1):
        frame.insert(place, name, sampled[name])


def _certain(sampled: Mapping[str, pd.Series[float]]) -> tuple[str, ...]:
    """Return the columns that tell nothing, as no makespan is uncertain."""
    return () if (sampled["low_s"] < sampled["high_s"]).any() else tuple(sampled)


def best_bounds(
    scenario: Scenario, graph: TaskGraph, bound: Bound = "quick", limit_s: float = 20.0
) -> Bounds:
    """Return the lower bounds to which makespans of every policy and layout are compared.

    Parameters
    ----------
    scenario : Scenario
        Noise is left out of all bounds.
    graph : TaskGraph
    bound : {"quick", "thorough", "optimum"}
        Critical path and area; with the two stronger bounds of `simsched.bounds(thorough=True)`; with what
        `simsched.optimum` proves of moldable tasks, which is for small graphs.
    limit_s : float
        Seconds to search for an optimum.

    Raises
    ------
    SpecError
        If there is no such bound.
    """
    if bound not in get_args(Bound):
        raise SpecError(f"bound is {bound!r}; expected one of {', '.join(get_args(Bound))}")
    limits = scenario.bounds(graph, thorough=bound == "thorough")
    if bound != "optimum":
        return limits
    found = optimum(graph, scenario.machine, None, scenario.costs, scenario.runtime, limit_s=limit_s)
    return replace(limits, proven_s=found.bound_s)


def _comparison_row(schedule: Schedule, sequential: Schedule, limits: Bounds) -> dict[str, Any]:
    """Return one row of `comparison_frame`."""
    makespan = schedule.makespan_s
    return {
        "policy": schedule.policy,
        "layout": schedule.layout,
        "layout_by": schedule.inputs.layout_by if schedule.inputs else "",
        "makespan_s": makespan,
        "speedup": _one_core(schedule).speedup(makespan),
        "over_sequential": _over(sequential, makespan),
        "utilization": schedule.utilization,
        "critical_path_s": limits.critical_path_s,
        "area_s": limits.area_s,
        "bound_s": limits.bound_s,
        "bound_from": limits.name,
        "gap": makespan / limits.bound_s - 1 if limits.bound_s else 0.0,
        "mean_corunning": schedule.metrics()["mean_corunning"],
    }


def _one_core(schedule: Schedule) -> OneCore:
    given = schedule.inputs
    costs, runtime = (given.costs, given.runtime) if given else (None, None)
    return one_core(schedule.graph, schedule.require_machine(), costs, runtime)


Point = tuple[Policy, Layout | None]
Key = int | str


@dataclass(frozen=True, eq=False)
class Trials:
    """Replays in their order; no point twice.

    Parameters
    ----------
    replay : callable
        Returns the schedule of a policy and a layout.
    sequential : Schedule
        What `over_sequential` is measured against.
    limits : Bounds
    most : int
        Replays to spend, or fewer.
    names : mapping of int or str to str
        What policies are called in the table, by their keys, where it is not what their schedules call them.
    """

    replay: Callable[[Policy, Layout | None], Schedule]
    sequential: Schedule
    limits: Bounds
    most: int
    names: Mapping[Key, str] = field(default_factory=dict)
    rows: dict[tuple[Key, str], dict[str, Any]] = field(default_factory=dict)
    points: dict[tuple[Key, str], Point] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """Replays that can still be spent."""
        return self.most - len(self.rows)

    def seconds(self, policy: Policy, layout: Layout | None) -> float:
        """Return the makespan of a point, replayed unless it was before."""
        self.all_seconds([(policy, layout)])
        return float(self.rows[_key(policy, layout)]["makespan_s"])

    def all_seconds(self, points: Iterable[Point]) -> None:
        """Replay several points, large graphs as many at a time as there are CPUs; known ones cost nothing."""
        new = {_key(*point): point for point in points if _key(*point) not in self.rows}
        self.points.update(new)
        n_tasks = self.sequential.graph.n_tasks
        rows = parallel_map(lambda point: self._row(*point), new.values(), n_tasks)
        self.rows.update(zip(new, rows, strict=True))

    def _row(self, policy: Policy, layout: Layout | None) -> dict[str, Any]:
        # Only the row is kept: schedules of a million tasks would fill the memory.
        schedule = self.replay(policy, layout)
        notes = tuple(notes_of([schedule]))
        numbers = _comparison_row(schedule, self.sequential, self.limits)
        used = Layout.parse(schedule.layout) if schedule.layout else None
        sizes = {"executors": used and used.executors, "width": used and used.width}
        return {
            "policy": self.names.get(table_key(policy), numbers.pop("policy")),
            "layout": numbers.pop("layout"),
            **sizes,
            **numbers,
            "notes": notes,
        }

    def shortest(self, scenario: Scenario, graph: TaskGraph, number: int) -> list[Case]:
        """Return the cases of so many of the shortest replays, in the order of `result`."""
        keys = sorted(self.rows, key=lambda key: float(self.rows[key]["makespan_s"]))[:number]
        cores = scenario.machine.n_cores
        return [
            Case(replace(scenario, layout=layout), graph, policy, busy=self.rows[key]["utilization"] * cores)
            for key in keys
            for policy, layout in [self.points[key]]
        ]

    def result(
        self, drawing: Callable[..., Axes], others_s: Sequence[Sequence[float]], unsampled: Sequence[Note]
    ) -> Result:
        """Return one row per replay, the shortest makespan first, of equals the first replayed.

        Parameters
        ----------
        drawing : callable
        others_s : sequence of sequence of float
            Makespans of `shortest` in other worlds.
        unsampled : sequence of Note
            Why there are no other worlds.
        """
        frame = pd.DataFrame(self.rows.values()).drop(columns="notes")
        frame["evaluation"] = range(1, len(frame) + 1)
        notes = [*unsampled, *(note for row in self.rows.values() for note in row["notes"])]
        frame = frame.sort_values("makespan_s", kind="stable", ignore_index=True)
        worlds_s = [[own_s, *rest] for own_s, rest in zip(frame["makespan_s"], others_s, strict=False)]
        notes += few_samples(worlds_s)
        sampled = _sampled(frame["makespan_s"], worlds_s)
        _insert(frame, sampled)
        if len(worlds_s) > 1:
            chosen = frame.assign(choice=(frame["policy"] + " " + frame["layout"]).str.strip())
            notes = [*undecided(chosen, "choice"), *notes]
        return Result.of(frame, notes, drawing, _certain(sampled))


def _key(policy: Policy, layout: Layout | None) -> tuple[Key, str]:
    return table_key(policy), str(layout or "")
