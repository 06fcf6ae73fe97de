"""The layout of one replay: given by the caller, or found by an estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simsched.machine import RuntimeProfile
from simsched.policy import Layout, Policy, Problem
from simsched.policy.estimate import ROUNDING, Estimator
from simsched.replay.policy_checks import checked_layout, usable_layouts
from simsched.schedule import Schedule
from simsched.schedule.inputs import LayoutBy


@dataclass(frozen=True, eq=False)
class Choice:
    """A policy with its layout, and who chose them.

    Parameters
    ----------
    policy : Policy
    layout : Layout or None
    by : {"", "given", "estimate", "replays"}
    why : str
        The same in words.
    rival : Layout, optional
        One of fewer executors, which is shorter by the estimate though it leaves cores idle: a replay of each decides.
    """

    policy: Policy
    layout: Layout | None
    by: LayoutBy = ""
    why: str = ""
    rival: Layout | None = None


def chosen(
    policy: Policy, problem: Problem, runtime: RuntimeProfile, layout: str | Layout | tuple[int, int] | None
) -> Choice:
    """Return the layout of a policy's executors, and the widths of a policy with widths in place of one.

    Parameters
    ----------
    policy : Policy
    problem : Problem
        Without a layout.
    runtime : RuntimeProfile
    layout : str, Layout or pair of int, optional
        Found by `simsched.policy.estimate.Estimator` when not given.

    Raises
    ------
    LayoutError, PolicyError
        If the layout is impossible, or those that the policy names are.
    """
    if layout is not None:
        return Choice(policy, checked_layout(policy, problem.machine, layout), "given", "given by the caller")
    layouts, estimator = usable_layouts(policy, problem), Estimator(problem, policy, runtime)
    if not layouts:
        fitted = policy.fitted(problem, runtime)
        if fitted == policy:
            return Choice(policy, None)
        return Choice(fitted, None, "estimate", "widths by kind found by an estimate, without replays")
    _, best = estimator.best(estimator.with_fewer(layouts))[0]
    why = (
        f"found by an estimate of {len(layouts)} layouts, without replays; layout='best' replays some of them"
    )
    idle = estimator.with_idle_cores(best)
    return Choice(policy, best, "estimate", why, None if idle == best else idle)


def shorter(one: Schedule, other: Schedule) -> Schedule:
    """Return the shorter one of the replays of a choice and of its rival; of equals the first."""
    best = other if other.makespan_s < one.makespan_s * (1 - ROUNDING) else one
    why = (
        f"the shorter of 2 replays, of {one.layout}, found by an estimate, and {other.layout}, which leaves more cores "
        "idle; layout='best' replays more"
    )
    return chosen_by_replays(best, why)


def chosen_by_replays(schedule: Schedule, why: str) -> Schedule:
    """Return a simulated schedule with the note that replays chose its layout, and why."""
    assert schedule.inputs is not None  # noqa: S101 - narrows the type: it was simulated
    return replace(schedule, inputs=replace(schedule.inputs, layout_by="replays", layout_why=why))
