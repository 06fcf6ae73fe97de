"""The SimPy engine: the reference that the compiled one must equal.

One event per task, its completion, and where dispatching costs time one event per dispatch. Callbacks on events, not
processes: a process per task would be a hundred times slower. The handlers of one instant only record events; the
last of them settles the instant, so that all completions come before any decision (docs/semantics.md, rule 2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simsched.replay.affinity_scheduler import AffinityScheduler, SpoliatingScheduler
from simsched.replay.list_scheduler import BoundScheduler, ListScheduler, PlannedScheduler, ShortcutScheduler
from simsched.replay.plan import Plan, StaticPlan
from simsched.replay.policy_referee import PolicyReferee
from simsched.replay.pushed_scheduler import PushedScheduler
from simsched.replay.replay import Chooser, Replay
from simsched.replay.result import Times, schedule_of
from simsched.replay.sharing_replay import SharingReplay
from simsched.schedule import Schedule
from simsched.schedule.runs import Runs

BY_DISCIPLINE = {
    "pushed": PushedScheduler,
    "affinity": AffinityScheduler,
    "spoliation": SpoliatingScheduler,
}


def _chooser(plan: Plan) -> Chooser:
    if not isinstance(plan, StaticPlan):
        return PolicyReferee(plan)
    if plan.assigned is not None:
        return PlannedScheduler(plan, plan.assigned)
    if plan.discipline in BY_DISCIPLINE:
        return BY_DISCIPLINE[plan.discipline](plan)
    if plan.bound is not None:
        return BoundScheduler(plan, plan.bound)
    return ListScheduler(plan) if plan.shortcuts is None else ShortcutScheduler(plan, plan.shortcuts)


def replay(plan: Plan, progress: Callable[[int], object] | None = None) -> Schedule:
    """Replay a plan and return its schedule."""
    chooser = _chooser(plan)
    retimes = plan.problem.machine.effects.any or isinstance(chooser, SpoliatingScheduler)
    kind = SharingReplay if retimes else Replay
    run = kind(plan, chooser, progress)
    run.go()
    n = plan.problem.graph.n_tasks
    lost, executor, moments = zip(*run.lost, strict=True) if run.lost else ((),) * 3
    task = np.array([*range(n), *lost], np.int32)
    teams, team = chooser.teams(np.array([*run.team, *executor], np.int32), task)
    times = Times(
        ready_s=np.asarray(run.ready_s, np.float64),
        start_s=np.asarray(run.start_s, np.float64),
        finish_s=np.asarray(run.finish_s, np.float64),
        team=team[:n],
        executor=np.asarray(run.executor, np.int32),
        order=np.asarray(run.order, np.int32),
        messages=run.data.columns() if run.data else None,
        lost=Runs(
            task[n:],
            np.array(executor, np.int32),
            team[n:],
            *np.array(moments).reshape(len(lost), 4).T.copy(),
        ),
    )
    return schedule_of(plan, times, teams, chooser.alone(teams, times.team, times.executor), "simpy")
