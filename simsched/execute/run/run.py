"""`execute()`: real runs of graphs under policies, several cases in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from time import monotonic
from typing import Literal

from simsched.costs import CostModel
from simsched.defaults import POLICY
from simsched.errors import EngineError
from simsched.execute.kernels.operators import Options
from simsched.execute.kernels.work import Backend, Unknown
from simsched.execute.run.execution import MOST_STOLEN, Execution, MeasuredRun
from simsched.execute.run.prepared import Prepared, Settings, prepared
from simsched.execute.run.threads import Crews, Scheduler
from simsched.execute.run.tries import Tries
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.policy import Layout, Policy

#: Runs that last so many times as long as cases settle start at once: what was in the caches is a percent of them.
LONG = 20


@dataclass(frozen=True, eq=False)
class Case:
    """A graph, to be run under a policy on a layout.

    Parameters
    ----------
    graph : TaskGraph
    policy : str, Policy or class of Policy
        As `simsched.policy` takes it.
    layout : str, Layout or pair of int, optional
        Executors x cores; found by an estimate when not given, as in `simsched.simulate`.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.execute import Case
    >>> graph = ss.TaskGraph.from_edges([1e-4] * 3, [(0, 2)], kinds="spin")
    >>> case = Case(graph, "critical-path", "2x1")
    >>> case.policy, case.layout
    ('critical-path', '2x1')
    """

    graph: TaskGraph
    policy: str | Policy | type[Policy]
    layout: str | Layout | tuple[int, int] | None = None


def execute(
    graph: TaskGraph,
    policy: str | Policy | type[Policy] = POLICY,
    layout: str | Layout | tuple[int, int] | None = None,
    repeats: int = 20,
    *,
    warmup: int = 2,
    machine: str | Machine = "host",
    costs: CostModel | None = None,
    scheduler: Scheduler = "worker",
    unknown: Unknown = "spin",
    options: Options | None = None,
    instruction_set: str = "auto",
    backend: Backend = "blas",
    memory_B: float | None = None,
    timeout_s: float | None = None,
    most_stolen: float = MOST_STOLEN,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Execution:
    """Run a graph for real on this machine, under a policy of the simulator.

    Parameters
    ----------
    graph : TaskGraph
    policy, layout
        As `simsched.simulate` takes them.
    repeats : int
        Measured runs, after warming up.
    warmup, machine, costs, scheduler, unknown, options, instruction_set, backend
        See `simsched.execute.Settings`.
    memory_B, timeout_s, most_stolen, seed
        See `simsched.execute.Settings`.
    progress : callable, optional
        Called with 1 after every run.

    Returns
    -------
    Execution
        The measured schedules as a sequence, with their median, their spread and the runs that were dropped.

    Raises
    ------
    SimschedError
        If the graph cannot run, or a run does not end in time; the message says why.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1e-4, 2e-4, 3e-4], [(0, 2)], kinds="spin")
    >>> measured = ss.execute(graph, "critical-path", "1x1", repeats=3)
    >>> len(measured), measured.median_s > 6e-4
    (3, True)
    """
    settings = Settings(
        warmup=warmup, machine=machine, costs=costs, scheduler=scheduler, unknown=unknown, options=options,
        instruction_set=instruction_set, backend=backend, memory_B=memory_B, timeout_s=timeout_s,
        most_stolen=most_stolen, seed=seed,
    )  # fmt: skip
    return interleaved([Case(graph, policy, layout)], repeats, settings, progress)[0]


def interleaved(
    cases: Sequence[Case],
    repeats: int = 20,
    settings: Settings | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Execution]:
    """Run several cases in turn, one run of each, again and again, so that disturbances of the host affect all alike.

    Disturbed runs are done again at once, and graphs of which the median of a case is uncertain run for further turns,
    as far as the settings have `patience`. Neighbouring cases of one graph take turns in coming first, since the first
    one finds the caches full of other data.

    Parameters
    ----------
    cases : sequence of Case
        Cases of one graph share its operands.
    repeats : int
        Turns of each case.
    settings : Settings, optional
        How they run.
    progress : callable, optional
        Called with 1 after every run.

    Returns
    -------
    list of Execution
        In the order of the cases.

    Raises
    ------
    SimschedError
        If a graph cannot run, or a run does not end in time; the message says why.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.execute import Case, interleaved
    >>> graph = ss.TaskGraph.from_edges([1e-4] * 3, [(0, 2)], kinds="spin")
    >>> cases = [Case(graph, policy, "1x1") for policy in ("fifo", "critical-path")]
    >>> fifo, critical = interleaved(cases, repeats=3)
    >>> len(fifo), len(critical)
    (3, 3)
    """
    if not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1:
        raise EngineError(f"repeats is {repeats!r}; expected a whole number of 1 or more")
    settings = settings or Settings()
    ready = prepared([(case.graph, case.policy, case.layout) for case in cases], settings)
    turns = _Turns(ready, [Tries(settings.most_stolen, settings.patience) for _ in cases], settings.settle_s)
    for turn in range(settings.warmup + repeats):
        for place in _order(cases, turn):
            turns.take(place, "warm-up" if turn < settings.warmup else "asked for")
            if progress is not None:
                progress(1)
    turn = settings.warmup + repeats
    while further := _further(cases, turns.tries, settings.precision):
        for place in _order(cases, turn):
            if place in further:
                turns.take(place, "further")
        turn += 1
    return [Execution(tuple(tries.runs), settings.most_stolen, tries.repeated) for tries in turns.tries]


def _further(cases: Sequence[Case], tries: Sequence[Tries], precision: float) -> set[int]:
    """Return the places of the cases of graphs of which a case lacks runs: what is compared runs at the same times."""
    lacking = {id(case.graph) for case, each in zip(cases, tries, strict=True) if each.lacks(precision)}
    return {
        place
        for place, (case, each) in enumerate(zip(cases, tries, strict=True))
        if id(case.graph) in lacking and each.patient
    }


def _order(cases: Sequence[Case], turn: int) -> Iterator[int]:
    """Yield the places of the cases in the order of a turn."""
    for _, places in groupby(range(len(cases)), key=lambda place: id(cases[place].graph)):
        neighbours = list(places)
        first = turn % len(neighbours)
        yield from neighbours[first:] + neighbours[:first]


@dataclass(eq=False)
class _Turns:
    """Cases that take turns; what ran before a run is what the caches hold."""

    cases: Sequence[Prepared]
    tries: Sequence[Tries]
    settle_s: float
    crews: Crews = field(default_factory=Crews)
    before: Prepared | None = None

    def take(self, place: int, turn: Literal["warm-up", "asked for", "further"]) -> None:
        """Run a case."""
        first, again = partial(self._first, place), partial(self._again, self.cases[place])
        if turn == "warm-up":
            first()
        elif turn == "asked for":
            self.tries[place].take(first, again)
        else:
            self.tries[place].take_further(first, again)
        self.before = self.cases[place]

    def _first(self, place: int) -> MeasuredRun:
        """Run a short case, where another one ran before, for a while and forget what came of it; then once more."""
        case, runs = self.cases[place], self.tries[place].runs
        long = runs and runs[-1].schedule.makespan_s > LONG * self.settle_s
        ends = monotonic() + self.settle_s
        while self.before is not case and not long and monotonic() < ends:
            case.run(self.crews)
        return case.run(self.crews)

    def _again(self, case: Prepared) -> MeasuredRun:
        """Run a case after what its first run came after: itself where it settles, else another case."""
        if not self.settle_s and self.before not in (None, case):
            self.before.run(self.crews)
        return case.run(self.crews)
