"""`execute()`: real runs of graphs under policies, several cases in turn; disturbed ones again while patience lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from math import inf
from time import monotonic
from typing import Literal

from simsched.costs import CostModel
from simsched.defaults import POLICY
from simsched.errors import EngineError
from simsched.execute.kernels.operators import Options
from simsched.execute.kernels.work import Backend, Unknown
from simsched.execute.run.execution import MOST_STOLEN, Execution, MeasuredRun, too_few
from simsched.execute.run.prepared import Prepared, Settings, prepared
from simsched.execute.run.threads import Crews, Scheduler
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.parameters import is_whole
from simsched.policy import Layout, Policy
from simsched.progress import check_progress

#: Turns that count of each case, however long they take.
FEWEST_TURNS = 3
#: Disturbed runs in a row after which a case is run only once per turn, until one is not.
HOPELESS = 20


@dataclass
class Tries:
    """The runs of one case, one per turn: the first undisturbed one, else the one that lost least.

    On a shared host, this is waiting for a quiet period: the first that is long enough for a run is used.

    Parameters
    ----------
    most_stolen : float
        Runs with a larger stolen share are disturbed.
    patience : float
        Most seconds of all repeated runs, as a multiple of those of the first runs of all turns so far.
    runs : list of MeasuredRun
        One a turn.
    repeated : int
        Runs that were done again; they count for nothing.
    clock : callable
        Seconds.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.execute.run.execution import MeasuredRun
    >>> schedule = ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic[cores=1]", "fifo")
    >>> shares, seconds = iter([0.3, 0.2, 0.0, 0.1]), iter(range(10))
    >>> tries = Tries(0.01, patience=2.0, clock=lambda: float(next(seconds)))
    >>> once = lambda: MeasuredRun(schedule, next(shares), 0, 1e-7, (1.0,), (1.0,))
    >>> tries.take(once, once)
    >>> [run.stolen for run in tries.runs], tries.repeated
    ([0.0], 2)
    """

    most_stolen: float = MOST_STOLEN
    patience: float = 0.0
    runs: list[MeasuredRun] = field(default_factory=list)
    repeated: int = 0
    clock: Callable[[], float] = monotonic
    _first_s: float = 0.0
    _again_s: float = 0.0
    _in_a_row: int = 0

    def take(self, first: Callable[[], MeasuredRun], again: Callable[[], MeasuredRun]) -> None:
        """Run the case for one turn, and again while it is disturbed."""
        self._first_s += self._take(first, again, self._first_s)

    def take_further(self, first: Callable[[], MeasuredRun], again: Callable[[], MeasuredRun]) -> None:
        """Run the case for a turn beyond the requested ones, within the time budget."""
        self._again_s += self._take(first, again, 0.0)

    @property
    def patient(self) -> bool:
        """Whether it may continue beyond the requested turns."""
        return self._may_repeat(self._first_s)

    def lacks(self, precision: float) -> bool:
        """Return whether a further turn may make the median more certain, and the time budget lasts."""
        if not self.patient:
            return False
        execution = Execution(tuple(self.runs), self.most_stolen)
        return too_few(execution.undisturbed) or execution.uncertainty > precision

    def _take(
        self, first: Callable[[], MeasuredRun], again: Callable[[], MeasuredRun], before_s: float
    ) -> float:
        """Return the seconds of the first run."""
        began_s = self.clock()
        run = first()
        ended_s = self.clock()
        first_s = ended_s - began_s
        while self._disturbed(run) and self._may_repeat(max(before_s + first_s, self._first_s)):
            other = again()
            began_s, ended_s = ended_s, self.clock()
            self._again_s += ended_s - began_s
            self.repeated += 1
            run = min(run, other, key=lambda each: each.stolen)
        self.runs.append(run)
        return first_s

    def _disturbed(self, run: MeasuredRun) -> bool:
        disturbed = run.stolen > self.most_stolen
        self._in_a_row = self._in_a_row + 1 if disturbed else 0
        return disturbed

    def _may_repeat(self, first_s: float) -> bool:
        return self._in_a_row < HOPELESS and self._again_s < self.patience * first_s


#: Runs that last so many times as long as cases settle start immediately: the caches' effect is a percent of them.
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
        If the graph cannot run, or a run does not end in time; the message gives the reason.

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
    limit_s: float = inf,
) -> list[Execution]:
    """Run several cases in turn, one run of each, repeatedly: disturbances of the host affect all alike.

    Disturbed runs are redone immediately, and graphs of which the median of a case is uncertain run for further turns,
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
    limit_s : float
        Seconds after which each case has at least 3 turns, but no further ones, and no run is done again.

    Returns
    -------
    list of Execution
        In the order of the cases.

    Raises
    ------
    SimschedError
        If a graph cannot run, or a run does not end in time; the message gives the reason.

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
    if not is_whole(repeats, least=1):
        raise EngineError(f"repeats is {repeats!r}; expected a whole number of 1 or more")
    report = check_progress(progress)
    settings = settings or Settings()
    ready = prepared([(case.graph, case.policy, case.layout) for case in cases], settings)
    tries = [Tries(settings.most_stolen, settings.patience) for _ in cases]
    turns = _Turns(ready, tries, settings.settle_s, monotonic() + limit_s)
    _take_turns(cases, turns, repeats, settings, report)
    return [Execution(tuple(each.runs), settings.most_stolen, each.repeated) for each in tries]


def _take_turns(
    cases: Sequence[Case], turns: _Turns, repeats: int, settings: Settings, report: Callable[[int], object]
) -> None:
    """Run all cases in turn: to warm up, as often as asked for or as there is time for, and where they scatter."""
    turn = counted = 0
    while counted < (repeats if turns.in_time else min(repeats, FEWEST_TURNS)):
        warms_up = turn < settings.warmup and turns.in_time
        for place in _order(cases, turn):
            turns.take(place, "warm-up" if warms_up else "asked for")
            report(1)
        turn, counted = turn + 1, counted + (not warms_up)
    while turns.in_time and (further := _further(cases, turns.tries, settings.precision)):
        for place in _order(cases, turn):
            if place in further:
                turns.take(place, "further")
        turn += 1


def _further(cases: Sequence[Case], tries: Sequence[Tries], precision: float) -> set[int]:
    """Return the places of the cases of graphs that lack runs: compared cases run at the same times."""
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
    """Cases that take turns; the previous run determines the contents of the caches."""

    cases: Sequence[Prepared]
    tries: Sequence[Tries]
    settle_s: float
    ends_s: float = inf
    crews: Crews = field(default_factory=Crews)
    before: Prepared | None = None

    @property
    def in_time(self) -> bool:
        """Whether there is time for more than the fewest turns."""
        return monotonic() < self.ends_s

    def take(self, place: int, turn: Literal["warm-up", "asked for", "further"]) -> None:
        """Run a case."""
        first, again = partial(self._first, place), partial(self._again, self.cases[place])
        if not self.in_time:
            self.tries[place].patience = 0.0
        if turn == "warm-up":
            first()
        elif turn == "asked for":
            self.tries[place].take(first, again)
        else:
            self.tries[place].take_further(first, again)
        self.before = self.cases[place]

    def _first(self, place: int) -> MeasuredRun:
        """Run a short case after another one for a while and discard the result; then run it once more."""
        case, runs = self.cases[place], self.tries[place].runs
        long = runs and runs[-1].schedule.makespan_s > LONG * self.settle_s
        ends = monotonic() + self.settle_s
        while self.before is not case and not long and monotonic() < ends:
            case.run(self.crews)
        return case.run(self.crews)

    def _again(self, case: Prepared) -> MeasuredRun:
        """Run a case after the predecessor of its first run: itself where it settles, else another case."""
        if not self.settle_s and self.before not in (None, case):
            self.before.run(self.crews)
        return case.run(self.crews)
