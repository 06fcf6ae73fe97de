"""`execute()`: real runs of graphs under policies, several cases in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from time import monotonic

from simsched.costs import CostModel
from simsched.defaults import POLICY
from simsched.errors import EngineError
from simsched.execute.execution import MOST_STOLEN, Execution, Run
from simsched.execute.operators import Options
from simsched.execute.prepared import Prepared, Settings, prepared
from simsched.execute.threads import Crews, Scheduler
from simsched.execute.work import Backend, Unknown
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.policy import Layout, Policy


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

    Neighbouring cases of one graph take turns in coming first, since the first one finds the caches full of other data.

    Parameters
    ----------
    cases : sequence of Case
        Cases of one graph share its operands.
    repeats : int
        Runs of each case that count.
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
    crews = Crews()
    found: list[list[Run]] = [[] for _ in cases]
    for turn in range(settings.warmup + repeats):
        for place in _order(cases, turn):
            _settle(ready[place], crews, settings.settle_s)
            run = ready[place].run(crews)
            if turn >= settings.warmup:
                found[place].append(run)
            if progress is not None:
                progress(1)
    return [Execution(tuple(runs), settings.most_stolen) for runs in found]


def _order(cases: Sequence[Case], turn: int) -> Iterator[int]:
    """Yield the places of the cases in the order of a turn."""
    for _, places in groupby(range(len(cases)), key=lambda place: id(cases[place].graph)):
        neighbours = list(places)
        first = turn % len(neighbours)
        yield from neighbours[first:] + neighbours[:first]


def _settle(case: Prepared, crews: Crews, seconds: float) -> None:
    """Run a case for a while, at least once, and forget what came of it."""
    ends = monotonic() + seconds
    while seconds:
        case.run(crews)
        if monotonic() >= ends:
            break
