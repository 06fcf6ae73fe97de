"""`Question`: the input of a report, checked before any replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import inf
from pathlib import Path

from simsched.costs import CostModel
from simsched.costs.own_machine import machine_for
from simsched.errors import LayoutError, SimschedError, SpecError
from simsched.graph import TaskGraph
from simsched.graph.required import check_graph
from simsched.machine import Machine, RuntimeProfile
from simsched.policy import Layout, Policy, RankPolicy
from simsched.policy.installed import policies_or_all
from simsched.policy.layout import BEST, Best
from simsched.replay import simulate
from simsched.replay.best_layout import MOST_REPLAYS
from simsched.schedule import Schedule
from simsched.spec import Engine
from simsched.study.core_counts import counts_around


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
        **others: object,
    ) -> Question:
        """Return the question of a user's arguments; `others` are the further fields.

        Raises
        ------
        SimschedError
            If anything asked for is impossible, whatever the graph.
        """
        check_graph(graph)
        machine = machine_for(graph, machine)
        chosen = policies_or_all(policies, machine)
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(others) - known):
            raise SimschedError(f"report has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}")
        wanted = None if layout is None or layout == BEST else Layout.parse(layout)
        return cls(graph, machine, tuple(chosen), wanted, **others)  # type: ignore[arg-type] # checked above and by simulate

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

    @property
    def work(self) -> int:
        """Approximate number of tasks replayed in all, for a progress bar."""
        searches = len(self.policies) + len(self.core_counts)
        replays = MOST_REPLAYS * searches + self.replays + len(self.layout_grid)
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
    def layout_grid(self) -> list[Layout]:
        """Layouts of the grid that fit the machine, all that fill it, and that of the question."""
        threads, (executors, widths) = self.machine.n_threads, self.grid
        grid = [Layout(k, w) for k in executors for w in widths if k * w <= threads]
        given = [] if self.layout is None else [self.layout]
        return list(dict.fromkeys([*grid, *Layout.filling(threads), *given]))

    def layouts_of(self, policy: Policy) -> list[Layout]:
        """Return the layouts of the grid that suit a policy."""

        def taken(layout: Layout) -> bool:
            try:
                suited = policy.suited(layout)
                return suited is not None and isinstance(policy, RankPolicy) and policy.checked_layout(
                    self.machine, suited) == layout  # fmt: skip
            except LayoutError:
                return False

        return [layout for layout in self.layout_grid if taken(layout)]
