"""Policies of runtime systems that are planned on estimates: dm, dmda, dmdas and heteroprio, by hand and by bounds."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import SpecError
from simsched.policy.planning import Online

from .planned import makespan, platform_of, replayed
from .test_planners import platforms

PUSHED = ("dm", "dmda", "dmda[beta=2.0]", "dmdas")
GOLDEN = (1 + 5**0.5) / 2


def planned(platform, policy):
    assignment = ss.policy(policy).plan(platform, 0)
    return assignment.executor.tolist(), replayed(platform, assignment)[0]


def test_dm_looks_at_queues_not_at_data():
    """0 (2 s, or 1 on the second), 1 after it with 9 s of data, 2: dm finds the idle first worker for 2, then for 1."""
    platform = platform_of([[2, 1], [3, 3], [4, 4]], [(0, 1, 9)])
    # 0 goes to the second (ends at 1); 2 to the first (4, not 5); at 1 the second is idle: 1 ends at 4 there, not at 7.
    assert planned(platform, "dm") == ([1, 1, 0], [0, 1, 0])
    # 2 takes 1 s now, so the first ends 1 at 4, as the second does: the lower-numbered has it, and waits for its data.
    platform = platform_of([[2, 1], [3, 3], [1, 9]], [(0, 1, 9)])
    assert planned(platform, "dm") == ([1, 0, 0], [0, 10, 0])
    assert planned(platform, "dmda") == ([1, 1, 0], [0, 1, 0])


def test_dmda_weighs_data_that_move():
    """1 would end at 1 + 5 on its producer, at 1 + 2 + 1 elsewhere: 2 s earlier, for 2 s of data, which is a tie."""
    platform = platform_of([[1, 9], [5, 1]], [(0, 1, 2)])
    assert planned(platform, "dmda")[0] == [0, 0]
    assert planned(platform, "dmda[beta=0.5]")[0] == [0, 1]
    assert planned(platform, "dmda[beta=2.0]")[0] == [0, 0]


def test_dmda_adds_messages_up():
    """2 reads 3 s of data from the first, and 3 s from the second: on the third, 6 s, though both are there at 4."""
    platform = platform_of([[1, 9, 9], [9, 1, 9], [4, 4, 1]], [(0, 2, 3), (1, 2, 3)])
    # On the first: 1 + 3 + 4 = 8; on the third 1 + 6 + 1 = 8, but more data: the first.
    assert planned(platform, "dmda[beta=0.0]")[0] == [0, 1, 0]
    assert planned(
        platform_of([[1, 9, 9], [9, 1, 9], [4, 4, 0.5]], [(0, 2, 3), (1, 2, 3)]), "dmda[beta=0.0]"
    ) == (
        [0, 1, 2],
        [0, 0, 4],
    )


def test_dmdas_runs_the_highest_priority_of_its_queue():
    """All on one worker: 1 and 2 came before 3, which has a chain of 5 s after it."""
    edges = [(0, 1, 0), (0, 2, 0), (0, 3, 0), (3, 4, 0)]
    platform = platform_of([1, 1, 1, 1, 5], edges, processors=1)
    assert planned(platform, "dmda")[1] == [0, 1, 2, 3, 4]
    assert planned(platform, "dmdas")[1] == [0, 7, 8, 1, 2]


def in_order_of_readiness(platform):
    """Return what dm does without data: tasks by when they become ready, each where it would end first."""
    graph = platform.successors
    waiting, ends = np.bincount(graph.indices, minlength=graph.n).tolist(), np.zeros(platform.n_executors)
    ready_s, found = [0.0] * graph.n, [0] * graph.n
    ready = [(0.0, task) for task in range(graph.n) if not waiting[task]]
    heapify(ready)
    while ready:
        now_s, task = heappop(ready)
        finishes = np.maximum(ends, now_s) + platform.seconds(task)
        found[task] = int(finishes.argmin())
        ends[found[task]] = finishes[found[task]]
        for after in graph.neighbours(task).tolist():
            waiting[after] -= 1
            ready_s[after] = max(ready_s[after], float(finishes[found[task]]))
            if not waiting[after]:
                heappush(ready, (ready_s[after], after))
    return found, float(ends.max(initial=0))


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 12))
def test_dm_without_data_is_a_list_in_order_of_readiness(seed, p, n):
    """Random seconds, no two events at one instant: the same executors by a loop without queues."""
    rng = np.random.default_rng(seed)
    edges = [(i, j, 0) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.3]
    platform = platform_of(rng.random((n, p)) + 0.01, edges, processors=p)
    plan = ss.policy("dm").plan(platform, 0)
    expected, ends_s = in_order_of_readiness(platform)
    assert plan.executor.tolist() == expected
    assert max(replayed(platform, plan)[1], default=0.0) == pytest.approx(ends_s)


@pytest.mark.parametrize("policy", [*PUSHED, "heteroprio", "heteroprio[spoliation=false]"])
@settings(max_examples=40)
@given(platform=platforms())
def test_replays_are_the_runs_that_were_planned(policy, platform):
    """Runs that are taken over are not replayed: only what their core takes over itself may start earlier."""
    runs = []

    class Watched(Online):
        def __init__(self, platform):
            super().__init__(platform)
            runs.append(self)

    planner = ss.policy(policy)
    module = "heteroprio" if planner.name == "heteroprio" else "dm"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"simsched.policies.{module}.Online", Watched)
        patch.setattr(f"simsched.policies.{module}.find", lambda: None)
        plan = planner.plan(platform, 0)
    finishes = np.array(replayed(platform, plan)[1])
    assert (finishes <= runs[0].finish_s).all()
    if policy != "heteroprio":
        assert finishes.tolist() == runs[0].finish_s


def shortest(platform):
    """Return the shortest makespan of independent tasks: of all assignments."""
    n, p = platform.successors.n, platform.n_executors
    table = np.array([platform.seconds(task) for task in range(n)])
    return min(
        max(table[np.arange(n)[np.array(on) == e], e].sum() for e in range(p))
        for on in product(range(p), repeat=n)
    )


def test_heteroprio_takes_twice_the_optimum_without_spoliation():
    """The processor takes what it is slowest on as soon as it is idle, unless a running task may be taken over."""
    platform = platform_of([[100, 1], [100, 1]], [])
    assert makespan(platform, ss.policy("heteroprio[spoliation=false]")) == 100
    assert makespan(platform, ss.policy("heteroprio")) == 2


def test_the_golden_ratio_is_tight():
    """Beaumont, Eyraud-Dubois, Kumar, Sec. IV: two tasks of one acceleration, the shorter on the accelerator.

    The optimum, each on the other's, is 1; the accelerator is idle at 1/phi, and would end the other no earlier.
    """
    platform = platform_of([[GOLDEN, 1 + 1e-9], [1 + 1e-9, 1 / GOLDEN]], [])
    assert planned(platform, "heteroprio")[0] == [0, 1]
    assert makespan(platform, ss.policy("heteroprio")) == GOLDEN
    assert shortest(platform) == pytest.approx(1)


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=7))
def test_heteroprio_is_within_the_golden_ratio(seconds):
    """Beaumont, Eyraud-Dubois, Kumar, Theorem 7: one processor and one accelerator, independent tasks."""
    platform = platform_of(seconds, [])
    assert makespan(platform, ss.policy("heteroprio")) <= GOLDEN * shortest(platform) * (1 + 1e-9)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=6))
def test_heteroprio_is_within_its_bound_on_several(seconds):
    """The same, Theorem 12: any numbers of both, within 2 + sqrt(2); two and two here."""
    platform = platform_of(seconds, [], processors=4)
    assert makespan(platform, ss.policy("heteroprio")) <= (2 + 2**0.5) * shortest(platform) * (1 + 1e-9)


def test_equal_accelerations_go_by_rank():
    """On cores that are all alike it is list scheduling by upward rank."""
    platform = platform_of([1, 1, 1, 4], [(2, 3, 0)], processors=1)
    assert planned(platform, "heteroprio")[1] == [5, 6, 0, 1]


def test_weights_are_numbers():
    with pytest.raises(SpecError, match="a weight of 0 or more"):
        ss.policy("dmdas[beta=-1.0]")


@pytest.mark.parametrize("policy", ["dm", "dmda", "dmdas", "heteroprio"])
def test_both_engines_replay_what_is_planned(policy, engine):
    seconds = [[4.0, 1.0], [3.0, 2.0], [2.0, 2.0], [5.0, 1.0]]
    graph = ss.TaskGraph.from_edges(seconds, [(0, 2), (1, 3)], edge_bytes=[3.0, 1.0])
    schedule = ss.simulate(graph, "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]", policy, engine=engine)
    platform = platform_of(seconds, [(0, 2, 3), (1, 3, 1)])
    assert (schedule.executor.tolist(), schedule.start_s.tolist()) == planned(platform, policy)
