"""Both engines beside a third simulator that was written from docs/semantics.md alone, on random cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import simsched as ss
from simsched.errors import EngineError
from simsched.policy import Problem, RankPolicy
from simsched.policy.placement import displaced
from simsched.replay.scenario import effective_runtime
from simsched.testing.equivalence import LIMITS, cases

from .page_simulator import Accelerated, Asked, Listed

#: Where tasks slow each other down, the third one rounds otherwise, and does not count in whole bytes.
ROUNDING = 1e-7


def simulated(case, inputs):
    """Return what the third simulator makes of the arguments of `simulate`.

    Which layout is found where none is given is no rule of the page: it stands in the inputs of a schedule.
    """
    graph, machine, seed = case["graph"], case["machine"], case["seed"]
    policy, layout = inputs.policy, inputs.layout
    costs = case["costs"].on(graph, machine, effective_runtime(case["runtime"], policy))
    problem = Problem(graph, machine, costs, layout, seed)
    common = problem, case["runtime"], case["costs"].factors(graph.n_tasks, seed), case["memory_limit"]
    if not isinstance(policy, RankPolicy):
        return Asked(*common, policy.prepared(problem)).run()
    order = order_of(machine, policy.placement, getattr(policy, "reserved", 0))
    devices = [thread for thread in order if machine.is_device[thread % machine.n_cores]][: layout.devices]
    order = of_whole_teams(machine, order, layout)
    threads = [order[i % len(order)] for i in range(layout.executors * layout.width)]
    teams = [sorted(threads[i : i + layout.width]) for i in range(0, len(threads), layout.width)]
    teams += [[device] for device in devices]
    moved = None if policy.pinned else displaced(problem, case["runtime"].misplaced)
    accelerated = policy.discipline in ("affinity", "spoliation")
    ranked = accelerated or policy.discipline == "rank"
    ranks = policy.rank(problem) if ranked else np.zeros(graph.n_tasks)
    kind = Accelerated if accelerated else Listed
    past = policy.shortcuts(problem)
    if graph.seconds_by_kind is not None and np.isinf(graph.seconds_by_kind).any():
        past = None
    return kind(*common, policy, ranks, teams, moved, past).run()


def of_whole_teams(machine, order, layout):
    """Return the threads kind by kind, as many of each as whole teams need; without devices that are executors."""
    n, width, teams = machine.n_cores, layout.width, []
    for kind in range(len(machine.kinds.names) if machine.kinds else 0):
        of_kind = [thread for thread in order if machine.kind_of[thread % n] == kind]
        if of_kind and machine.is_device[of_kind[0] % n] and (layout.devices or width > 1):
            continue
        teams += of_kind[: len(of_kind) // width * width]
    return teams if len(teams) >= layout.executors * width else order


def order_of(machine, placement, reserved):
    """Return the hardware threads in the order in which executors take them."""
    n, tile = machine.n_cores, machine.cores_per_tile
    key = {
        "compact": lambda thread: thread,
        "scatter": lambda thread: (thread // n, thread % n % tile, thread % n),
        "dense": lambda thread: (thread % n, thread // n),
    }[placement]
    last = sorted(range(n), key=lambda core: (not machine.is_device[core], core))[n - reserved :]
    return [thread for thread in sorted(range(machine.n_threads), key=key) if thread % n not in last]


def check(case, engine):
    try:
        schedule = ss.simulate(**case, engine=engine)
    except EngineError as error:
        assert "for ever" in str(error) or "memory_limit" in str(error)  # noqa: PT017 - the third fails, too
        with pytest.raises(EngineError):
            simulated(case, ss.simulate(**{**case, "memory_limit": "ignore"}).inputs)
        return
    third = simulated(case, schedule.inputs)
    moves = case["machine"].data is not None and case["graph"].data is not None
    shares = case["machine"].effects.any or moves
    # Which of two events a rounding error apart comes first, rounding decides.
    assume(not (shares and third.doubtful))
    tasks = range(case["graph"].n_tasks)
    columns = {"ready_s": third.ready_at_s, "start_s": third.start_s, "finish_s": third.finish_s}
    for name, found in columns.items():
        expected = [found[task] for task in tasks]
        np.testing.assert_allclose(getattr(schedule, name), expected, rtol=ROUNDING if shares else 1e-12)
    assert schedule.start_order.tolist() == third.order
    for name, expected in zip(("task", "executor", "start_s", "end_s"), third.lost_columns(), strict=True):
        np.testing.assert_allclose(getattr(schedule.lost, name), expected, rtol=ROUNDING if shares else 1e-12)
    assert [schedule.cores(task).tolist() for task in tasks] == [sorted(third.threads[t]) for t in tasks]


def sent(case):
    """Return a case whose objects are sent over links of 16 B/s."""
    return case | {"machine": case["machine"].varied({"data": "sent", "link_Bps": 16.0})}


#: Many policies, and those that plan teams of many widths, whose objects leave when they are written.
PLANNING = cases(of=st.sampled_from(["cpa", "mcpa"]).map(ss.policy)).map(sent)


@pytest.mark.parametrize(("these", "most"), [(cases(LIMITS), 25), (PLANNING, 25)], ids=["all", "planned"])
def test_the_engines_do_what_the_page_says(these, most, engine):
    """The same cases every time: one in which rounding decides would be no fault, and be looked into."""

    @settings(max_examples=most, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(these)
    def suite(case):
        check(case, engine)

    suite()
