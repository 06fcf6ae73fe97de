"""Why a run was stopped: what was done, and what every worker was at."""

from __future__ import annotations

from typing import Any

from simsched.replay.plan import Plan
from simsched.units import format_time


def stopped(plan: Plan, stats: Any, timeout_s: float) -> str:
    """Return the story of a run that did not end by itself.

    Parameters
    ----------
    plan : StaticPlan or DynamicPlan
    stats : compiled RunStats
        What came of the run.
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
