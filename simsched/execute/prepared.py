"""A case, ready to run: its plan, its program, its threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from simsched.costs import CostModel
from simsched.errors import EngineError, LayoutError, SimschedError
from simsched.execute.execution import Run
from simsched.execute.host import cpus_of
from simsched.execute.memory import Operands, arena
from simsched.execute.module import module
from simsched.execute.operators import Options
from simsched.execute.story import stopped
from simsched.execute.threads import Cpus, Crews
from simsched.execute.work import Unknown, Work
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.machine import Machine, RuntimeProfile
from simsched.machine import machine as machine_of
from simsched.policy import CandidateRule, Layout, Policy, Problem, RankPolicy
from simsched.policy import policy as policy_of
from simsched.replay.plan import DynamicPlan, Plan, StaticPlan
from simsched.replay.result import Times, schedule_of

Scheduler = Literal["worker", "thread"]
Asked = tuple[TaskGraph, "str | Policy | type[Policy]", "str | Layout | tuple[int, int] | None"]

#: Seconds that workers have to leave a run that was stopped.
GRACE_S = 2.0
NO_TASKS = Csr(np.zeros(1, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True)
class Threads:
    """The threads of a case.

    Parameters
    ----------
    cpus : tuple of tuple of int
        CPUs that each may run on; that of a scheduler last.
    scheduler : bool
        Whether the last one decides and the others only run tasks.
    share : bool
        Whether there may be fewer CPUs than threads.
    measure_latency : bool
        Whether the first two are on CPUs of their own.
    """

    cpus: Cpus
    scheduler: bool
    share: bool
    measure_latency: bool


@dataclass(frozen=True, eq=False)
class Prepared:
    """A case, ready to run any number of times.

    Parameters
    ----------
    plan : StaticPlan or DynamicPlan
        What the policy decided before the run.
    program : compiled Program
        What the tasks do.
    threads : Threads
    timeout_s : float
        Seconds after which a run is stopped.
    notes : tuple of str
        What runs and how.
    """

    plan: Plan
    program: Any
    threads: Threads
    timeout_s: float
    notes: tuple[str, ...]

    def run(self, crews: Crews) -> Run:
        """Run once.

        Raises
        ------
        EngineError
            If it does not end in time, with the story of what ran.
        """
        crew = crews.on(self.threads.cpus)
        told, times, teams = self._static(crew) if isinstance(self.plan, StaticPlan) else self._corun(crew)
        alone_s = times.finish_s - times.start_s
        measured = schedule_of(self.plan, times, teams, alone_s, "measured")
        return Run(
            schedule=replace(measured, notes=self.notes),
            stolen=float("nan") if self.threads.share else _stolen(told),
            preemptions=sum(told.preemptions),
            latency_s=told.latency_s if self.threads.measure_latency else float("nan"),
        )

    def _static(self, crew: Any) -> tuple[Any, Times, Csr]:
        plan = self.plan
        assert isinstance(plan, StaticPlan)  # noqa: S101 - narrows the type
        graph = plan.problem.graph
        before = graph.predecessors if plan.prefer == "producer" else NO_TASKS
        told, *columns = module().execute_list(
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
        self._check(told)
        ready, start, finish, _, executor, order = columns
        return told, Times(ready, start, finish, executor, executor, order), plan.executors

    def _corun(self, crew: Any) -> tuple[Any, Times, Csr]:
        problem, rule = self.plan.problem, _rule(self.plan)
        (told, *columns), indptr, indices = module().execute_corun(
            crew,
            self.program,
            problem.graph.successors.indptr,
            problem.graph.successors.indices,
            rule.widths.ravel(),
            rule.estimates_s.ravel(),
            rule.widths.shape[1],
            rule.most,
            problem.machine.n_threads,
            problem.machine.cores_per_tile,
            **self._how(),
        )
        self._check(told)
        return told, Times(*columns), Csr(indptr, indices)

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

    def _check(self, told: Any) -> None:
        n = self.plan.problem.graph.n_tasks
        if not told.in_time or told.failure or told.abandoned:
            raise EngineError(stopped(self.plan, told, self.timeout_s))
        if (told.done, told.tasks, told.sum) != (n, n, module().expected_sum(n)):
            raise EngineError(f"{told.tasks} tasks ran of {n}, or one ran twice; this is a bug in simsched")


def _stolen(told: Any) -> float:
    """Return the largest share of a run in which a thread had no CPU; threads spin, so they always want one."""
    shares = [1 - cpu / wall for cpu, wall in zip(told.cpu_s, told.wall_s, strict=True) if wall > 0]
    return max(0.0, *shares) if shares else 0.0


def prepared(
    cases: Iterable[Asked],
    *,
    machine: str | Machine,
    costs: CostModel | None,
    scheduler: Scheduler,
    unknown: Unknown,
    options: Options | None,
    instruction_set: str,
    memory_B: float | None,
    timeout_s: float | None,
    seed: int,
) -> list[Prepared]:
    """Return cases ready to run; those of one graph share its program."""
    module()  # says what is missing before anything is worked out
    host = machine_of(machine)
    cpus = cpus_of(host)
    if scheduler not in get_args(Scheduler):
        raise EngineError(f"scheduler={scheduler!r}; expected one of {', '.join(get_args(Scheduler))}")
    programs: dict[int, tuple[Any, tuple[str, ...]]] = {}
    found = []
    for graph, policy, layout in cases:
        plan = _plan(graph, host, policy_of(policy), layout, costs or CostModel(), seed)
        if id(graph) not in programs:
            programs[id(graph)] = _program(graph, Work.of(graph, unknown, instruction_set, options), memory_B)
        program, notes = programs[id(graph)]
        limit = 30 + 20 * float(plan.problem.costs.one_core_s.sum()) if timeout_s is None else timeout_s
        found.append(Prepared(plan, program, _threads(plan, cpus, scheduler), limit, notes))
    return found


def _plan(graph: Any, host: Machine, chosen: Policy, layout: Any, costs: CostModel, seed: int) -> Plan:
    if not isinstance(graph, TaskGraph):
        raise SimschedError(f"graph is {graph!r}; expected a TaskGraph")
    wanted = None if layout is None else Layout.parse(layout)
    if wanted is not None and not chosen.takes_layout:
        raise LayoutError(f"policy {chosen} chooses its own widths and cores; give it no layout")
    if isinstance(chosen, RankPolicy):
        wanted = chosen.checked_layout(host, wanted)
    problem = Problem(graph, host, costs.on(graph, host), wanted, seed)
    # What software costs passes by itself: no profile says it here.
    if isinstance(chosen, RankPolicy):
        return StaticPlan.of(problem, chosen, RuntimeProfile(), None)
    plan = DynamicPlan(problem, chosen.prepared(problem), RuntimeProfile(), None, str(chosen))
    _rule(plan)
    return plan


def _rule(plan: Plan) -> CandidateRule:
    if not isinstance(plan, DynamicPlan) or not isinstance(plan.policy, CandidateRule):
        raise EngineError(
            f"policy {plan.spec} decides in Python while it runs; for real only static policies (RankPolicy) and "
            "co-running by candidates run"
        )
    return plan.policy


def _program(graph: TaskGraph, work: Work, memory_B: float | None) -> tuple[Any, tuple[str, ...]]:
    operands = Operands.of(graph, work)
    memory = arena(operands, memory_B)
    module().fill(memory)
    size = f"operands: {operands.size_B / 1e6:.4g} MB"
    return module().Program(work.kernels, work.kernel_of, operands.starts, memory), (*work.notes, size)


def _threads(plan: Plan, cpus: list[int], scheduler: Scheduler) -> Threads:
    """Return which CPUs the workers, and a scheduler, run on."""
    every = tuple(sorted(cpus))
    if isinstance(plan, StaticPlan):
        workers = [cpus[thread] for thread in plan.executors.indices.tolist()]
        pinned, may_share = plan.strays is None, len(workers) > len(set(workers))
    else:
        workers, pinned, may_share = cpus, True, False
    masks = [(cpu,) if pinned else every for cpu in workers]
    if scheduler == "thread":
        spare = [cpu for cpu in every if cpu not in workers]
        if not (spare and pinned) and not may_share:
            raise LayoutError(
                f"scheduler='thread' needs a core beside the {len(workers)} workers, and the machine has {len(every)}: "
                "a busy scheduler on a core that it shares makes runs 25 times as long; take a smaller layout, or "
                "scheduler='worker'"
            )
        masks.append((spare[0],) if spare and pinned else every)
    alone = pinned and not may_share
    return Threads(tuple(masks), scheduler == "thread", may_share, alone and len(workers) > 1)

