"""From an engine's columns to a `Schedule`."""

from __future__ import annotations

from dataclasses import dataclass, field

from simsched.graph.adjacency import Csr, Index
from simsched.graph.taskgraph import Seconds
from simsched.replay.plan import Plan
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
        executor=times.executor,
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
