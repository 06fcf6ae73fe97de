"""A case, ready to run: its plan, its program, its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, get_args

import numpy as np

from simsched.costs import CostModel
from simsched.errors import EngineError
from simsched.execute.kernels.module import module
from simsched.execute.kernels.operators import Options
from simsched.execute.kernels.work import Backend, Operands, Unknown, Work, arena
from simsched.execute.run.execution import MOST_STOLEN, MeasuredRun
from simsched.execute.run.threads import Crews, Scheduler, Threads, cpus_of, threads_of
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.graph.required import check_graph
from simsched.machine import Machine, RuntimeProfile, machine as machine_of
from simsched.parameters import is_number, is_whole
from simsched.policy import CandidateRule, Layout, Policy, Problem, RankPolicy, policy as policy_of
from simsched.replay import layouts
from simsched.replay.plan import DynamicPlan, Plan, StaticPlan
from simsched.replay.result import Times, schedule_of
from simsched.replay.scenario import check_inputs
from simsched.units import format_time

Asked = tuple[TaskGraph, "str | Policy | type[Policy]", "str | Layout | tuple[int, int] | None"]

#: Factor by which a measurement may take longer to get undisturbed runs.
PATIENCE = 4.0
#: Standard error of a case's median makespan at which it has run often enough to calibrate from or to compare with.
PRECISION = 0.015
#: Seconds for which a case runs before a run that counts: after another graph, the first are up to a third slower.
SETTLE_S = 5e-3
#: Seconds within which workers must leave a stopped run.
GRACE_S = 2.0
NO_TASKS = Csr(np.zeros(1, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True)
class Settings:
    """Settings of real runs, whatever the graph and the policy.

    Parameters
    ----------
    warmup : int
        Runs of each case before those that count.
    settle_s : float
        Seconds for which a case runs after another one and before its next run that counts, so that caches hold its own
        data and not those of the other. Cases that last 20 times as long start immediately.
    machine : str or Machine
        `host`, or a variation of it.
    costs : CostModel, optional
        Estimates that policies decide by; the default model when not given. Tasks that spin take its seconds.
    scheduler : {"worker", "thread"}
        Decision maker: the worker that finishes a task, or a separate thread as in Graphi, which needs a core.
    unknown : {"spin", "memory"}
        What tasks of unknown kind do: spin for their estimated seconds, or copy their bytes.
    options : mapping of str to mapping of str to int, optional
        By kind, facts unknown from shapes: stride, padding, pool_window and so on; see `execute/operators.toml`.
    instruction_set : {"auto", "base", "avx2", "avx512"}
        Of element-wise loops; the BLAS makes its own choice.
    backend : {"blas", "onednn"}
        Implementation of convolutions: matrix products of the BLAS, or oneDNN, where it is built in.
    memory_B : float, optional
        Most bytes of all operands of a graph, and of threads' additional memory; half of the machine's memory when not
        given.
    timeout_s : float, optional
        Seconds after which a run is stopped; when not given, 30 and twenty times those of all tasks in turn.
    most_stolen : float
        Runs of which other processes took a larger share are dropped from the figures.
    patience : float
        A disturbed run is redone immediately, and a case whose median is less certain than `precision` runs for further
        turns; all of this takes at most this many times as long as the other runs of the case.
    precision : float
        Standard error of the median makespan, as a share of it, above which a case runs for further turns.
    seed : int
        Seed of a policy's random numbers.

    Examples
    --------
    >>> from simsched.execute import Settings
    >>> settings = Settings(warmup=1, unknown="memory", timeout_s=10.0)
    >>> settings.machine, settings.scheduler, settings.timeout_s
    ('host', 'worker', 10.0)
    """

    warmup: int = 2
    settle_s: float = SETTLE_S
    machine: str | Machine = "host"
    costs: CostModel | None = None
    scheduler: Scheduler = "worker"
    unknown: Unknown = "spin"
    options: Options | None = None
    instruction_set: str = "auto"
    backend: Backend = "blas"
    memory_B: float | None = None
    timeout_s: float | None = None
    most_stolen: float = MOST_STOLEN
    patience: float = PATIENCE
    precision: float = inf
    seed: int = 0

    def __post_init__(self) -> None:
        for name, fits, expected in _EXPECTED:
            value = getattr(self, name)
            if not fits(value):
                raise EngineError(f"{name} is {value!r}; expected {expected}")
        if self.scheduler not in get_args(Scheduler):
            raise EngineError(
                f"scheduler={self.scheduler!r}; expected one of {', '.join(get_args(Scheduler))}"
            )


def _above_zero(value: object) -> bool:
    return value is None or (is_number(value) and value > 0)


#: What each setting has to be, in words, too.
_EXPECTED: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("warmup", lambda value: is_whole(value, least=0), "a whole number of 0 or more"),
    ("settle_s", lambda value: is_number(value) and 0 <= value < inf, "seconds, 0 or more"),
    ("most_stolen", lambda value: is_number(value) and value >= 0, "a share, 0 or more"),
    ("patience", lambda value: is_number(value) and 0 <= value < inf, "a number, 0 or more"),
    ("precision", lambda value: is_number(value) and value > 0, "a share above zero"),
    ("timeout_s", _above_zero, "a number above zero"),
    ("memory_B", _above_zero, "a number above zero"),
)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A case, ready to run any number of times.

    Parameters
    ----------
    plan : StaticPlan or DynamicPlan
        The policy's decisions before the run.
    program : compiled Program
        The work of the tasks.
    threads : Threads
    timeout_s : float
        Seconds after which a run is stopped.
    notes : tuple of str
        Description of the run.
    """

    plan: Plan
    program: Any
    threads: Threads
    timeout_s: float
    notes: tuple[str, ...]

    def run(self, crews: Crews) -> MeasuredRun:
        """Run once.

        Raises
        ------
        EngineError
            If it does not end in time, with a description of the run.
        """
        crew = crews.on(self.threads.cpus)
        stats, times, teams = self._static(crew) if isinstance(self.plan, StaticPlan) else self._corun(crew)
        measured = schedule_of(self.plan, times, teams, times.finish_s - times.start_s, "measured")
        return MeasuredRun(
            schedule=replace(measured, notes=self.notes),
            stolen=float("nan") if self.threads.share else _stolen(stats),
            preemptions=sum(stats.preemptions),
            latency_s=stats.latency_s if self.threads.measure_latency else float("nan"),
            wall_s=tuple(stats.wall_s),
            cpu_s=tuple(stats.cpu_s),
        )

    def _static(self, crew: Any) -> tuple[Any, Times, Csr]:
        plan = self.plan
        assert isinstance(plan, StaticPlan)  # noqa: S101 - narrows the type
        graph = plan.problem.graph
        before = graph.predecessors if plan.prefer == "producer" else NO_TASKS
        stats, *columns = module().execute_list(
            crew,
            self.program,
            graph.successors.indptr,
            graph.successors.indices,
            plan.alone_s,
            plan.discipline,
            plan.position,
            plan.executors.indptr,
            plan.executors.indices,
            before.indptr,
            before.indices,
            **self._how(),
        )
        self._check(stats)
        ready, start, finish, _, executor, order = columns
        return stats, Times(ready, start, finish, executor, executor, order), plan.executors

    def _corun(self, crew: Any) -> tuple[Any, Times, Csr]:
        problem, rule = self.plan.problem, _rule(self.plan)
        (stats, *columns), indptr, indices = module().execute_corun(
            crew,
            self.program,
            problem.graph.successors.indptr,
            problem.graph.successors.indices,
            rule.widths.ravel(),
            rule.estimates_s.ravel(),
            np.empty(0) if rule.serial_s is None else rule.serial_s,
            rule.widths.shape[1],
            rule.n_offered,
            rule.max_running,
            problem.machine.n_cores,
            problem.machine.cores_per_tile,
            problem.machine.smt,
            rule.corun,
            **self._how(),
        )
        self._check(stats)
        return stats, Times(*columns), Csr(indptr, indices)

    def _how(self) -> dict[str, Any]:
        threads = self.threads
        return {
            "scheduler_thread": threads.scheduler,
            "shares_cpus": threads.share,
            "measures_latency": threads.measure_latency,
            "timeout_s": self.timeout_s,
            "grace_s": GRACE_S,
            "tick": None,
        }

    def _check(self, stats: Any) -> None:
        n = self.plan.problem.graph.n_tasks
        if not stats.in_time or stats.failure or stats.abandoned:
            raise EngineError(_stopped(self.plan, stats, self.timeout_s))
        if (stats.done, stats.tasks, stats.sum) != (n, n, module().expected_sum(n)):
            raise EngineError(f"{stats.tasks} tasks ran of {n}, or one ran twice; this is a bug in simsched")


def _stolen(stats: Any) -> float:
    """Return the largest share of a run in which a thread had no CPU; threads spin, so they always want one."""
    shares = [1 - cpu / wall for cpu, wall in zip(stats.cpu_s, stats.wall_s, strict=True) if wall > 0]
    return max(0.0, *shares) if shares else 0.0


def prepared(cases: Iterable[Asked], settings: Settings) -> list[Prepared]:
    """Return cases ready to run; those of one graph share its program."""
    module()  # reports what is missing before any work is done
    host = machine_of(settings.machine)
    cpus = cpus_of(host)
    programs: dict[int, tuple[Any, tuple[str, ...]]] = {}
    found = []
    for graph, policy, layout in cases:
        plan = _plan(graph, host, policy_of(policy), layout, settings)
        if id(graph) not in programs:
            programs[id(graph)] = _program(graph, settings, len(cpus))
        program, notes = programs[id(graph)]
        if (limit := settings.timeout_s) is None:
            limit = 30 + 20 * float(plan.problem.costs.one_core_s.sum())
        found.append(Prepared(plan, program, threads_of(plan, cpus, settings.scheduler), limit, notes))
    return found


def _plan(graph: Any, host: Machine, chosen: Policy, layout: Any, settings: Settings) -> Plan:
    check_graph(graph)
    check_inputs(settings.costs, None, settings.seed)
    problem = Problem(graph, host, (settings.costs or CostModel()).on(graph, host), None, settings.seed)
    choice = layouts.chosen(chosen, problem, host.runtime, layout)
    problem = replace(problem, layout=choice.layout)
    # The software's costs occur for real: no profile states them here.
    if isinstance(choice.policy, RankPolicy):
        return _without_shortcuts(StaticPlan.of(problem, choice.policy, RuntimeProfile(), None))
    plan = DynamicPlan.of(problem, choice.policy, RuntimeProfile(), None)
    _rule(plan)
    return plan


def _without_shortcuts(plan: StaticPlan) -> StaticPlan:
    if plan.shortcuts is not None:
        raise EngineError(
            f"policy {plan.spec} runs tasks past its queue (single-threaded executors, small tasks inline or buffers), "
            "which is only simulated; for real run critical-path or fifo without small_s and buffered"
        )
    return plan


def _rule(plan: Plan) -> CandidateRule:
    if not isinstance(plan, DynamicPlan) or not isinstance(plan.policy, CandidateRule):
        raise EngineError(
            f"policy {plan.spec} decides in Python while it runs; for real only static policies (RankPolicy) and "
            "co-running by candidates run"
        )
    return plan.policy


def _program(graph: TaskGraph, settings: Settings, threads: int) -> tuple[Any, tuple[str, ...]]:
    work = Work.of(graph, settings.unknown, settings.instruction_set, settings.options, settings.backend)
    operands = Operands.of(graph, work)
    memory = arena(operands, threads * work.scratch_B, settings.memory_B)
    module().fill(memory)
    loops = (
        settings.instruction_set if settings.instruction_set != "auto" else module().instruction_sets()[-1]
    )
    made = f"operands: {operands.size_B / 1e6:.4g} MB; loops: {loops}; BLAS: {module().blas_version()}"
    if settings.backend == "onednn":
        made += f"; convolutions: {module().onednn_version()}"
    return module().Program(work.kernels, work.kernel_of, operands.starts, memory), (*work.notes, made)


def _stopped(plan: Plan, stats: Any, timeout_s: float) -> str:
    """Return the description of a run that did not end by itself.

    Parameters
    ----------
    plan : StaticPlan or DynamicPlan
    stats : compiled RunStats
        Results of the run.
    timeout_s : float
        Seconds that it had.
    """
    graph = plan.problem.graph
    what = stats.failure or f"did not end within {format_time(timeout_s)} (timeout_s)"
    workers = []
    for worker, (task, since_s) in enumerate(stats.running):
        if task >= 0:
            at = f"runs task {task} ({graph.task_name(task)!r}, {graph.kinds[task] or 'unknown kind'})"
            workers.append(f"worker {worker} {at} since {format_time(since_s)}")
    left = " and could not be stopped; its threads were left behind" if stats.abandoned else ""
    return (
        f"the run of {graph.name!r} under {plan.spec} {what}{left}: {stats.done} of {graph.n_tasks} tasks were done; "
        + ("; ".join(workers) or "no worker ran a task")
    )
