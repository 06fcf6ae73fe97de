"""A test suite for any policy: ours in the tests, and yours."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.costs import CostModel
from simsched.errors import PolicyError
from simsched.machine import RuntimeProfile
from simsched.policy import Policy, RankPolicy, policy as policy_of
from simsched.replay import simulate
from simsched.replay.kept_state import remembered, state_of
from simsched.schedule import Schedule
from simsched.spec import Engine
from simsched.testing import strategies as ours
from simsched.testing.equivalence import check_same
from simsched.testing.invariants import (
    check_cores,
    check_graham,
    check_precedence,
    check_schedule,
    check_work_conserving,
)


def check_policy(
    policy: str | Policy | type[Policy],
    *,
    work_conserving: bool = False,
    examples: int = 100,
    engine: Engine = "auto",
) -> None:
    """Run a policy on random graphs, machines, layouts, software costs and noise, and check every invariant.

    A policy whose parameter `smt` is true gets machines with two or more hardware threads of each core in use.

    Parameters
    ----------
    policy : str, Policy or class of Policy
    work_conserving : bool
        Check also that no executor, without a layout no core, idles with a ready task, and Graham's bound.
    examples : int
        Random cases.
    engine : {"auto", "simpy", "native"}
        Which engine replays.

    Raises
    ------
    AssertionError
        If an invariant breaks; Hypothesis prints the smallest case it found.
    SimschedError
        If the policy acts impossibly, or remembers something from one replay to the next.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import simsched as ss
    >>> from simsched.testing import check_policy
    >>> @dataclass(frozen=True)
    ... class ShortestFirst(ss.RankPolicy):
    ...     name = "shortest-first"
    ...     def rank(self, problem):
    ...         return problem.seconds
    >>> check_policy(ShortestFirst, examples=3)
    """
    chosen = policy_of(policy)
    doubts: list[str] = []

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data())
    def suite(data: st.DataObject) -> None:
        runtime = data.draw(st.one_of(st.just(RuntimeProfile()), ours.runtimes()), label="runtime")
        costs = CostModel(noise=data.draw(st.sampled_from([0.0, 0.0, 0.3]), label="noise"))
        if (schedule := _replayed_twice(data, chosen, costs, runtime, engine, doubts)) is None:
            return
        _check(schedule, chosen, quiet=not costs.noise, busy=work_conserving and runtime == RuntimeProfile())

    suite()
    if doubts:
        raise PolicyError(doubts[0])


def _replayed_twice(
    data: st.DataObject,
    policy: Policy,
    costs: CostModel,
    runtime: RuntimeProfile,
    engine: Engine,
    doubts: list[str],
) -> Schedule | None:
    """Return the schedule of a random case, the same twice; None once the policy has changed with a replay."""
    graph = data.draw(ours.graphs(widths=4), label="graph")
    machine = data.draw(ours.machines_for(policy), label="machine")
    layout = data.draw(ours.layouts_for(policy, machine), label="layout")
    seed = data.draw(st.integers(0, 3), label="seed")
    called, before = policy.name or str(policy), state_of(policy)
    schedule, again = (
        simulate(graph, machine, policy, layout, costs, runtime, engine, seed) for _ in range(2)
    )
    # Hypothesis repeats a case that fails, and this one fails in another way each time: it is told at the end.
    doubts += remembered(policy, called, before)
    if doubts:
        return None
    check_same(schedule, again)
    return schedule


def _check(schedule: Schedule, policy: Policy, *, quiet: bool, busy: bool) -> None:
    """Check a schedule of a policy, without noise if it is quiet, without idle cores beside ready tasks if busy."""
    if isinstance(policy, RankPolicy) and not policy.pinned:
        # Threads that are not pinned share cores, by design.
        check_precedence(schedule)
    elif not quiet:
        check_precedence(schedule)
        check_cores(schedule)
    else:
        check_schedule(schedule)
        if busy:
            _check_busy(schedule)


def _check_busy(schedule: Schedule) -> None:
    check_work_conserving(schedule)
    list_scheduled = bool(schedule.layout) or bool((schedule.widths == 1).all())
    if list_scheduled and not schedule.require_machine().effects.any:
        check_graham(schedule)
