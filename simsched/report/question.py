"""`Question`: what a report is asked for, checked before anything is replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import inf
from pathlib import Path

from simsched.costs import CostModel
from simsched.errors import LayoutError, MachineError, SimschedError, SpecError
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.machine import machine as machine_of
from simsched.plugins import registered
from simsched.policy import Layout, Policy, RankPolicy
from simsched.policy.policy import policies as policies_of
from simsched.replay import simulate
from simsched.schedule import Schedule
from simsched.spec import Engine
from simsched.sweep.compare import BASELINE

#: Halvings of the machine's cores, below it, and doublings above it.
HALVINGS, DOUBLINGS = 5, 2


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
        For every policy that it suits; each policy's own default where None.
    costs : CostModel or None
    runtime : RuntimeProfile or None
    engine : {"auto", "simpy", "native"}
    seed : int
        The first seed, whose schedules are drawn.
    seeds : int
        Replays of a policy, each of its own seed, where seeds matter.
    replays : int
        Most replays for what would help.
    patience_s : float
        Most seconds of CPU time that the replays of a policy, or those of another part, may take; what takes more is
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
        machine: str | Path | Machine,
        policies: Sequence[str | Policy | type[Policy]] | None = None,
        layout: str | Layout | tuple[int, int] | None = None,
        **others: object,
    ) -> Question:
        """Return the question of what users write; `others` are the further fields.

        Raises
        ------
        SimschedError
            If anything asked for is impossible, whatever the graph.
        """
        if not isinstance(graph, TaskGraph):
            raise SimschedError(f"graph is {graph!r}; expected a TaskGraph")
        chosen = policies_of(all_policies() if policies is None else policies)
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(others) - known):
            raise SimschedError(f"report has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}")
        wanted = None if layout is None else Layout.parse(layout)
        return cls(graph, machine_of(machine), tuple(chosen), wanted, **others)  # type: ignore[arg-type] # checked above and by simulate

    @property
    def call(self) -> str:
        """What makes the same report in Python, but for graph, costs and runtime, which have no short name."""
        given = [repr(self.machine.spec), repr([str(policy) for policy in self.policies])]
        given += [f"layout={str(self.layout)!r}"] if self.layout is not None else []
        given += [f"{name}={name}" for name in ("costs", "runtime") if getattr(self, name) is not None]
        numbers = ("engine", "seed", "seeds", "replays", "patience_s")
        return f"ss.report(graph, {', '.join([*given, *(f'{name}={getattr(self, name)!r}' for name in numbers)])})"

    def replay(
        self, policy: Policy, seed: int | None = None, progress: Callable[[int], object] | None = None
    ) -> Schedule:
        """Return the schedule of a policy, with the question's layout where it suits the policy."""
        return simulate(
            self.graph, self.machine, policy, policy.suited(self.layout), self.costs, self.runtime, self.engine,
            self.seed if seed is None else seed, progress=progress,
        )  # fmt: skip

    @property
    def work(self) -> int:
        """About how many tasks are replayed in all, for a progress bar."""
        replays = 2 * len(self.policies) + self.replays + len(self.core_counts) + len(self.layout_grid)
        return replays * self.graph.n_tasks

    @cached_property
    def core_counts(self) -> list[int]:
        """Core counts below and above the machine's own, ascending, of whole tiles; those that its file allows."""
        own, tile = self.machine.n_cores, self.machine.cores_per_tile
        wanted = {own >> k for k in range(HALVINGS + 1)} | {own << k for k in range(1, DOUBLINGS + 1)}
        rounded = {max(count // tile * tile, tile) for count in wanted}
        return sorted(count for count in rounded if self._possible(count))

    def _possible(self, count: int) -> bool:
        try:
            return self.machine.varied({"cores": count}).n_cores == count
        except MachineError:
            return False

    @cached_property
    def layout_grid(self) -> list[Layout]:
        """Layouts of powers of two that fit the machine, and that of the question."""
        threads = self.machine.n_threads
        sizes = [2**k for k in range(threads.bit_length())]
        grid = [Layout(k, w) for k in sizes for w in sizes if k * w <= threads]
        return grid if self.layout is None or self.layout in grid else [*grid, self.layout]

    def layouts_of(self, policy: Policy) -> list[Layout]:
        """Return the layouts of the grid that a policy takes."""

        def taken(layout: Layout) -> bool:
            try:
                suited = policy.suited(layout)
                return suited is not None and isinstance(policy, RankPolicy) and policy.checked_layout(
                    self.machine, suited) == layout  # fmt: skip
            except LayoutError:
                return False

        return [layout for layout in self.layout_grid if taken(layout)]


def all_policies() -> list[str]:
    """Return the names of all policies that are installed, the baseline first."""
    return sorted(registered("policies"), key=lambda name: (name != BASELINE, name))
