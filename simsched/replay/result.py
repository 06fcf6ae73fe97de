"""From an engine's columns to a `Schedule`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simsched.graph.adjacency import Csr, Index
from simsched.graph.taskgraph import Seconds
from simsched.replay.plan import DynamicPlan, Plan
from simsched.schedule import Schedule
from simsched.schedule.runs import Runs
from simsched.schedule.transfers import Messages


@dataclass(frozen=True)
class Times:
    """Results of an engine; one entry per task, `order` in order of starting.

    Parameters
    ----------
    ready_s, start_s, finish_s : float64 arrays, shape (n,)
    team, executor, order : int32 arrays, shape (n,)
    messages : columns, optional
        Object, place, departure and arrival of each object that was sent; None where data are near.
    lost : Runs
        Runs that were aborted.
    """

    ready_s: Seconds
    start_s: Seconds
    finish_s: Seconds
    team: Index
    executor: Index
    order: Index
    messages: Messages | None = None
    lost: Runs = field(default_factory=Runs)


def schedule_of(plan: Plan, times: Times, teams: Csr, alone_s: Seconds, engine: str) -> Schedule:
    """Return the schedule of a replayed plan."""
    problem = plan.problem
    return Schedule(
        graph=problem.graph,
        ready_s=times.ready_s,
        start_s=times.start_s,
        finish_s=times.finish_s,
        teams=teams,
        team=times.team,
        executor=_executors(plan, times, teams),
        start_order=times.order,
        alone_s=alone_s,
        n_cores=problem.machine.n_threads,
        machine=problem.machine,
        policy=plan.spec,
        layout=str(problem.layout or ""),
        engine=engine,
        seed=problem.seed,
        notes=(*problem.costs.notes, *problem.machine.notes),
        messages=times.messages,
        lost=times.lost,
    )


def _executors(plan: Plan, times: Times, teams: Csr) -> Index:
    """Return who ran each task: under a dynamic policy its team's worker where there are workers, else a lane."""
    if not isinstance(plan, DynamicPlan) or plan.rule is not None or plan.policy.layout_limits:
        return times.executor
    widths, threads = np.unique(teams.degrees()), teams.indices
    if len(widths) != 1 or len(np.unique(threads)) < len(threads):
        return times.executor
    workers = threads[teams.indptr[:-1]] // np.int32(widths[0])
    return workers[times.team] if len(np.unique(workers)) == teams.n else times.executor
