"""The front of the compiled engine: plans in, schedules out. Its rules are those of the SimPy engine, in C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import CostError, EngineError
from simsched.graph.adjacency import Csr
from simsched.native import HOW_TO_GET, find
from simsched.policy import CandidateRule
from simsched.replay.decider import Decider
from simsched.replay.plan import DynamicPlan, Plan, StaticPlan
from simsched.replay.result import Times, schedule_of
from simsched.replay.run import BEYOND_NUMBERS

if TYPE_CHECKING:
    from simsched.native import Core
    from simsched.schedule import Schedule

#: What the compiled module says when a time is no number any more.
OVERFLOW = "the times grow beyond all numbers"
Progress = Callable[[int], object] | None
Memory = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
NOTHING_SHARED: Memory = (np.empty(0), np.empty(0, np.int64))


def replay(plan: Plan, progress: Progress = None) -> Schedule:
    """Replay a plan and return its schedule.

    Static policies and co-running by candidates never call Python. Any other policy is asked through a callback, which
    costs as much as it does in the SimPy engine.

    Raises
    ------
    EngineError
        If the compiled module is missing.
    CostError
        If the times grow beyond all numbers.
    """
    native = find()
    if native is None:
        raise EngineError(f"engine 'native' is not built: use engine='simpy' or 'auto', or {HOW_TO_GET}")
    try:
        if isinstance(plan, StaticPlan):
            return _list(native, plan, progress)
        if isinstance(plan.policy, CandidateRule):
            return _corun(native, plan, plan.policy, progress)
        return _callback(native, plan, progress)
    except OverflowError as error:
        # A policy's own is its own.
        if str(error) != OVERFLOW:
            raise
        raise CostError(BEYOND_NUMBERS) from error


def _list(native: Core, plan: StaticPlan, progress: Progress) -> Schedule:
    after = plan.problem.graph.successors
    done, ready_s, start_s, finish_s, executor, order = native.replay_list(
        after.indptr,
        after.indices,
        plan.seconds,
        *(plan.memory or NOTHING_SHARED),
        _shared_bandwidth(plan),
        plan.discipline,
        plan.position,
        plan.executors.n,
        plan.dispatch_s,
        plan.per_poller_s,
        progress,
    )
    _require_all(done, plan)
    times = Times(ready_s, start_s, finish_s, executor, executor, order)
    return schedule_of(plan, times, plan.executors, plan.alone_s, "native")


def _corun(native: Core, plan: DynamicPlan, rule: CandidateRule, progress: Progress) -> Schedule:
    problem, after = plan.problem, plan.problem.graph.successors
    (done, *columns), indptr, indices = native.replay_corun(
        after.indptr,
        after.indices,
        rule.widths.ravel(),
        rule.estimates_s.ravel(),
        np.empty(0) if plan.noise is None else plan.noise,
        *(_candidates_memory(plan, rule) if problem.machine.share_bandwidth else NOTHING_SHARED),
        _shared_bandwidth(plan),
        rule.widths.shape[1],
        rule.most,
        problem.machine.n_cores,
        problem.machine.cores_per_tile,
        plan.runtime.dispatch_s,
        plan.runtime.resize_s,
        progress,
    )
    _require_all(done, plan)
    times, teams = Times(*columns), Csr(indptr, indices)
    return schedule_of(plan, times, teams, problem.costs.seconds(teams.degrees()[times.team]), "native")


def _callback(native: Core, plan: DynamicPlan, progress: Progress) -> Schedule:
    after, decider = plan.problem.graph.successors, Decider(plan)
    done, *columns = native.replay_callback(
        after.indptr,
        after.indices,
        decider,
        _shared_bandwidth(plan),
        plan.problem.machine.n_cores,
        progress,
    )
    if done < plan.problem.graph.n_tasks:
        raise decider.stuck()
    times, teams = Times(*columns), decider.teams()
    return schedule_of(plan, times, teams, decider.alone(teams.degrees()[times.team]), "native")


def _shared_bandwidth(plan: Plan) -> float:
    """Return the bytes a second that running tasks share; 0 where they share nothing."""
    machine = plan.problem.machine
    return machine.bandwidth_Bps if machine.share_bandwidth else 0.0


def _candidates_memory(plan: DynamicPlan, rule: CandidateRule) -> Memory:
    """Return memory share and demand of every candidate, in the order of its widths."""
    columns = [plan.problem.costs.memory(rule.widths[:, i]) for i in range(rule.widths.shape[1])]
    shares, demands_Bps = (np.stack(part, axis=1).ravel() for part in zip(*columns, strict=True))
    return shares, demands_Bps


def _require_all(done: int, plan: Plan) -> None:
    if done < plan.problem.graph.n_tasks:
        raise EngineError(
            f"the replay ended after {done} of {plan.problem.graph.n_tasks} tasks; a bug in simsched"
        )
