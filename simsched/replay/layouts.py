"""The layout of one replay: given by the caller, or found by an estimate."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.machine import RuntimeProfile
from simsched.policy import Layout, Policy, Problem
from simsched.policy.estimate import Estimator
from simsched.replay.policy_checks import checked_layout, layouts_of
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
    """

    policy: Policy
    layout: Layout | None
    by: LayoutBy = ""
    why: str = ""


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
    layouts, estimator = layouts_of(policy, problem.machine), Estimator(problem, policy, runtime)
    if not layouts:
        fitted = policy.fitted(problem, runtime)
        if fitted == policy:
            return Choice(policy, None)
        return Choice(fitted, None, "estimate", "widths by kind found by an estimate, without replays")
    _, best = estimator.best(estimator.with_fewer(layouts))[0]
    why = (
        f"found by an estimate of {len(layouts)} layouts, without replays; layout='best' replays some of them"
    )
    return Choice(policy, best, "estimate", why)
