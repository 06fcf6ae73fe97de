"""`execute()`: real runs of graphs under policies, several cases in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simsched.costs import CostModel
from simsched.errors import EngineError
from simsched.execute.execution import MOST_STOLEN, Execution, Run
from simsched.execute.operators import Options
from simsched.execute.prepared import Scheduler, prepared
from simsched.execute.threads import Crews
from simsched.execute.work import Unknown
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
        Executors x cores; the policy's own default when not given.
    """

    graph: TaskGraph
    policy: str | Policy | type[Policy]
    layout: str | Layout | tuple[int, int] | None = None


def execute(
    graph: TaskGraph,
    policy: str | Policy | type[Policy],
    layout: str | Layout | tuple[int, int] | None = None,
    repeats: int = 20,
    **options: Any,
) -> Execution:
    """Run a graph for real on this machine, under a policy of the simulator.

    Parameters
    ----------
    graph : TaskGraph
    policy, layout
        As `simsched.simulate` takes them.
    repeats : int
        Runs that count.
    **options
        As `interleaved` takes them: warmup, machine, costs, scheduler, unknown, options, instruction_set, memory_B,
        timeout_s, most_stolen, seed, progress.

    Returns
    -------
    Execution
        A sequence of measured schedules, with median, spread and what was dropped.

    Raises
    ------
    SimschedError
        If the graph cannot run, or a run does not end in time; the message says why.
    """
    return interleaved([Case(graph, policy, layout)], repeats, **options)[0]


def interleaved(
    cases: Sequence[Case],
    repeats: int = 20,
    *,
    warmup: int = 2,
    machine: str | Machine = "host",
    costs: CostModel | None = None,
    scheduler: Scheduler = "worker",
    unknown: Unknown = "spin",
    options: Options | None = None,
    instruction_set: str = "auto",
    memory_B: float | None = None,
    timeout_s: float | None = None,
    most_stolen: float = MOST_STOLEN,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> list[Execution]:
    """Run several cases in turn, one run of each, again and again: what is compared sees the same minutes.

    Parameters
    ----------
    cases : sequence of Case
        Cases of one graph share its operands.
    repeats : int
        Runs of each case that count.
    warmup : int
        Runs of each case before those.
    machine : str or Machine
        `host`, or a variation of it.
    costs : CostModel, optional
        Estimates that policies decide by; the default model when not given. Tasks that spin take as long as it says.
    scheduler : {"worker", "thread"}
        Who decides: the worker that finishes a task, or a thread of its own as Graphi has, which needs a core.
    unknown : {"spin", "memory"}
        What tasks of unknown kind do: spin for their estimated seconds, or copy their bytes.
    options : mapping of str to mapping of str to int, optional
        By kind, what shapes do not tell: stride, padding, pool_window and so on; see `execute/operators.toml`.
    instruction_set : {"auto", "base", "avx2", "avx512"}
        Of element-wise loops; the BLAS chooses for itself.
    memory_B : float, optional
        Most bytes of all operands of a graph; half of the machine's memory when not given.
    timeout_s : float, optional
        Seconds after which a run is stopped; when not given, 30 and twenty times those of all tasks in turn.
    most_stolen : float
        Runs of which other processes took a larger share are dropped from the figures.
    seed : int
        Seed of what a policy draws.
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
    >>> cases = [Case(graph, policy, "2x1") for policy in ("fifo", "critical-path")]
    >>> fifo, critical = interleaved(cases, repeats=20)  # doctest: +SKIP
    """
    _check(repeats, warmup)
    given = dict(
        machine=machine, costs=costs, scheduler=scheduler, unknown=unknown, options=options,
        instruction_set=instruction_set, memory_B=memory_B, timeout_s=timeout_s, seed=seed,
    )  # fmt: skip
    ready = prepared([(case.graph, case.policy, case.layout) for case in cases], **given)
    crews = Crews()
    found: list[list[Run]] = [[] for _ in cases]
    for turn in range(warmup + repeats):
        for runs, case in zip(found, ready, strict=True):
            run = case.run(crews)
            if turn >= warmup:
                runs.append(run)
            if progress is not None:
                progress(1)
    return [Execution(tuple(runs), most_stolen) for runs in found]


def _check(repeats: int, warmup: int) -> None:
    for name, value, least in (("repeats", repeats, 1), ("warmup", warmup, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise EngineError(f"{name} is {value!r}; expected a whole number of {least} or more")

