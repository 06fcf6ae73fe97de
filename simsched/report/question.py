"""`Question`: the input of a report, checked before any replay; and `PolicyRun`: the result of a policy, its seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import inf
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from simsched.costs import CostModel
from simsched.costs.own_machine import machine_for
from simsched.errors import LayoutError, SimschedError, SpecError
from simsched.graph import TaskGraph
from simsched.graph.required import check_graph
from simsched.graph.taskgraph import Seconds
from simsched.intervals import Interval, spread, typical
from simsched.machine import Machine, RuntimeProfile
from simsched.policy import Layout, Policy, RankPolicy
from simsched.policy.installed import left_out, policies_or_all
from simsched.policy.layout import BEST, Best
from simsched.policy.names import is_own, names_in_table, table_key
from simsched.progress import check_progress
from simsched.replay import simulate
from simsched.replay.best_layout import MOST_REPLAYS
from simsched.replay.policy_checks import checked_layout
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.spec import Engine
from simsched.study.compare import default_seeds, worlds_of
from simsched.study.core_counts import counts_around
from simsched.study.tune import worker_layouts


@dataclass(frozen=True, eq=False)
class Question:
    """A graph, a machine, policies, and how they are replayed.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
    policies : tuple of Policy
        In the order of the tables.
    layout : Layout or None
        For every policy that it suits; each of the others, and all where None, gets its best one.
    costs : CostModel or None
    runtime : RuntimeProfile or None
    engine : {"auto", "simpy", "native"}
    seed : int
        The first seed, whose schedules are shown.
    seeds : int
        Replays of a policy, each with its own seed, where seeds matter.
    replays : int
        Most replays for what would help.
    patience_s : float
        Most seconds of CPU time for the replays of a policy, or those of another part; parts that take more are
        left out.
    command : str
        What to type for the same report.
    notes : tuple of str
        Notes on the choice of policies.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> question = Question.of(graph, "generic[cores=2]", ["sequential", "fifo"], seeds=3)
    >>> [str(policy) for policy in question.policies], question.core_counts
    (['sequential', 'fifo'], [1, 2, 4, 8])
    """

    graph: TaskGraph
    machine: Machine
    policies: tuple[Policy, ...]
    layout: Layout | None = None
    costs: CostModel | None = None
    runtime: RuntimeProfile | None = None
    engine: Engine = "auto"
    seed: int = 0
    seeds: int = 10
    replays: int = 32
    patience_s: float = 60.0
    command: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.policies:
            raise SpecError("policies is empty; give one or more, as in ['fifo', 'critical-path']")
        for name, least in (("seeds", 1), ("replays", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise SimschedError(f"{name} is {value!r}; expected a whole number of {least} or more")
        if not isinstance(self.patience_s, int | float) or not 0 < self.patience_s < inf:
            raise SimschedError(f"patience_s is {self.patience_s!r}; expected seconds, above 0 and finite")

    @classmethod
    def of(
        cls,
        graph: TaskGraph,
        machine: str | Path | Machine | None,
        policies: Sequence[str | Policy | type[Policy]] | None = None,
        layout: str | Layout | tuple[int, int] | None = None,
        **others: Any,
    ) -> Question:
        """Return the question of a user's arguments; `others` are the further fields.

        Raises
        ------
        SimschedError
            If anything asked for is impossible, whatever the graph.
        """
        check_graph(graph)
        machine = machine_for(graph, machine)
        chosen = policies_or_all(policies, machine, graph)
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(others) - known):
            raise SimschedError(f"report has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}")
        wanted = None if not layout or layout == BEST else Layout.parse(layout)
        others = {"notes": tuple(left_out(policies, machine, graph)), **others}
        return cls(graph, machine, tuple(chosen), wanted, **others)

    @cached_property
    def _names(self) -> dict[int | str, str]:
        keys = map(table_key, self.policies)
        return dict(zip(keys, names_in_table(self.policies), strict=True))

    def name_of(self, policy: Policy) -> str:
        """Return what a policy is called among those of the question."""
        return self._names.get(table_key(policy), str(policy))

    @property
    def call(self) -> str:
        """Call that makes the same report in Python, without graph, costs and runtime, which have no name."""
        given = [repr(self.machine.spec), repr([str(policy) for policy in self.policies])]
        given += [f"layout={str(self.layout)!r}"] if self.layout is not None else []
        given += [f"{name}={name}" for name in ("costs", "runtime") if getattr(self, name) is not None]
        numbers = ("engine", "seed", "seeds", "replays", "patience_s")
        return f"ss.report(graph, {', '.join([*given, *(f'{name}={getattr(self, name)!r}' for name in numbers)])})"

    def replay(
        self,
        policy: Policy,
        layout: Layout | Best | None,
        seed: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Schedule:
        """Return the schedule of a policy with a layout, of the first seed if none is given."""
        return simulate(
            self.graph, self.machine, policy, layout, self.costs, self.runtime, self.engine,
            self.seed if seed is None else seed, progress=progress,
        )  # fmt: skip

    def with_worlds(self, runs: list[PolicyRun], progress: Progress) -> list[PolicyRun]:
        """Return runs of this question, those that did not fail with their makespans in worlds that could be true.

        Raises
        ------
        SimschedError
            If these can take minutes, as for `compare`, or longer than the progress allows.
        """
        scenario = Scenario.of(
            self.machine, self.layout, self.costs, self.runtime, self.engine, self.seed, progress
        )
        seeds, unsampled = default_seeds(self.seed, None, self.policies, self.machine, self.graph)
        if unsampled:
            raise SimschedError(
                "of these policies they can take minutes; compare with samples=20 (--samples 20) has them"
            )
        schedules = [run.schedule for run in runs if run.schedule is not None]
        worlds = iter(worlds_of(scenario, schedules, seeds))
        return [run if run.schedule is None else replace(run, worlds_s=next(worlds)) for run in runs]

    @property
    def work(self) -> int:
        """Approximate number of tasks replayed in all, for a progress bar."""
        searches = len(self.policies) + len(self.core_counts)
        replays = MOST_REPLAYS * searches + self.replays + len(self._layout_grid)
        return replays * self.graph.n_tasks

    @cached_property
    def core_counts(self) -> list[int]:
        """Core counts below and above the machine's own."""
        return counts_around(self.machine)

    @cached_property
    def grid(self) -> tuple[list[int], list[int]]:
        """Executors in powers of two, and widths of as many equal parts of the machine."""
        threads = self.machine.n_threads
        executors = [2**k for k in range(threads.bit_length())]
        return executors, sorted({threads // count for count in executors})

    @cached_property
    def _layout_grid(self) -> list[Layout]:
        """Layouts of the grid that fit the machine, all that fill it, and that of the question."""
        threads, (executors, widths) = self.machine.n_threads, self.grid
        grid = [Layout(k, w) for k in executors for w in widths if k * w <= threads]
        given = [] if self.layout is None else [self.layout]
        kinds = self.machine.kinds is not None
        filling = worker_layouts(self.machine) if kinds else Layout.filling(threads)
        return list(dict.fromkeys([*grid, *filling, *given]))

    def layouts_of(self, policy: Policy) -> list[Layout]:
        """Return the layouts of the grid that suit a policy."""

        def taken(layout: Layout) -> bool:
            try:
                suited = policy.suited(layout)
                return suited is not None and isinstance(policy, RankPolicy) and checked_layout(
                    policy, self.machine, suited) == layout  # fmt: skip
            except LayoutError:
                return False

        return [layout for layout in self._layout_grid if taken(layout)]


Progress = Callable[[int], object]


class TimeBudget:
    """Progress of one part of a report, which ends once its time budget is spent.

    Parameters
    ----------
    seconds : float
        Of CPU time from now on, which does not depend on other work, nor on the number of cores.
    progress : callable or None
        Called with the same counts.
    """

    def __init__(self, seconds: float, progress: Progress | None) -> None:
        self._seconds, self._report = seconds, check_progress(progress)
        self._until_s = process_time() + seconds

    def __call__(self, count: int) -> None:
        """Report progress.

        Raises
        ------
        SimschedError
            If the time is over.
        """
        self._report(count)
        if process_time() > self._until_s:
            raise SimschedError(
                f"its replays take more than {self._seconds:g} s of CPU time; patience_s (--patience) allows more"
            )


@dataclass(frozen=True, eq=False)
class PolicyRun:
    """The result of a policy.

    Parameters
    ----------
    policy : Policy
    schedule : Schedule or None
        Of the first seed; None where the replay failed.
    makespans_s : float64 array, shape (seeds,)
        Of each seed; a single one where seeds make no difference.
    error : str
        Why it failed.
    worlds_s : sequence of float
        Makespans in worlds that could be true, as `simsched.compare` samples them; none if unknown.
    called : str
        Its name among the policies of the question.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
    >>> run = ss.report(graph, "generic[cores=2]", ["fifo"]).findings.best
    >>> run.name, run.seeded, run.require_schedule().makespan_s
    ('fifo', False, 4.0)
    """

    policy: Policy
    schedule: Schedule | None
    makespans_s: Seconds
    error: str = ""
    worlds_s: Sequence[float] = ()
    called: str = ""

    @property
    def name(self) -> str:
        """The policy as text, which no other one has."""
        return self.called or str(self.policy)

    @cached_property
    def interval(self) -> Interval:
        """Geometric mean of the makespans in seconds and its 95 % interval, NaN for a single seed."""
        return typical(self.makespans_s)

    @cached_property
    def may_take(self) -> Interval:
        """The mean with the interval of its worlds, as `simsched.compare` has it; NaN for fewer than two of these."""
        mean_s = self.interval.middle
        _, low_s, high_s = spread([mean_s, *self.worlds_s[1:]])
        return Interval(mean_s, min(low_s, mean_s), max(high_s, mean_s))

    @property
    def layout(self) -> str:
        """Its layout, or a description of its own widths."""
        schedule = self.require_schedule()
        found = "" if is_own(self.policy) or schedule.policy == str(self.policy) else schedule.policy
        fitted = found.partition("[")[2].removesuffix("]")
        return schedule.layout or fitted.removeprefix("widths=") or "its own widths"

    @property
    def layout_by(self) -> str:
        """Origin of its layout: "given", "estimate" or "replays"; "-" where the policy decides per task."""
        inputs = self.require_schedule().inputs
        return (inputs.layout_by if inputs else "") or "-"

    @property
    def layout_why(self) -> str:
        """Origin of its layout, in words."""
        inputs = self.require_schedule().inputs
        return (inputs.layout_why if inputs else "") or "the policy decides the widths task by task"

    @property
    def seeded(self) -> bool:
        """Whether seeds make a difference."""
        return len(self.makespans_s) > 1

    def require_schedule(self) -> Schedule:
        """Return the schedule.

        Raises
        ------
        SimschedError
            If the replay failed.
        """
        if self.schedule is None:
            raise SimschedError(f"policy {self.name} has no schedule: {self.error}")
        return self.schedule


def replayed(question: Question, policy: Policy, layout: Layout | Best, progress: Progress) -> PolicyRun:
    """Return the run of a policy on all seeds of a question; the first seed finds the layout of all.

    Parameters
    ----------
    question : Question
    policy : Policy
    layout : Layout or "best"
    progress : callable
        Called with the number of tasks replayed since its last call.

    Raises
    ------
    SimschedError
        If it cannot be replayed.
    """
    name = question.name_of(policy)
    first = question.replay(policy, layout, progress=progress)
    makespans, rest = [first.makespan_s], range(question.seed + 1, question.seed + question.seeds)
    found = first.inputs
    for seed in rest:
        again = question.replay(
            found.policy if found else policy, found.layout if found else layout, seed, progress
        )
        # Seeds that make no difference once never do: most policies use no random numbers.
        if seed == rest[0] and _alike(first, again):
            break
        makespans.append(again.makespan_s)
    return PolicyRun(policy, first, np.array(makespans), called=name)


def _alike(one: Schedule, other: Schedule) -> bool:
    return bool(np.array_equal(one.start_s, other.start_s) and np.array_equal(one.finish_s, other.finish_s))


def by_makespan(runs: list[PolicyRun]) -> list[PolicyRun]:
    """Return the runs that did not fail, those of the shortest mean makespan first, of equals the first."""
    return sorted((run for run in runs if run.schedule is not None), key=lambda run: run.interval.middle)
