"""Static list schedulers: the schedules of their papers, on both engines; compiled planners are those in Python."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import GraphError
from simsched.graph.adjacency import Csr
from simsched.native import find
from simsched.plugins import registered
from simsched.policies.cpop import critical_path
from simsched.policies.dls import medians
from simsched.policy.installed import policies_or_all
from simsched.policy.planned_policy import PlannedPolicy
from simsched.policy.planning import Priorities
from simsched.policy.platform import Platform

from .planned import ARABNEJAD, ESTEE, KWOK, TOPCUOGLU, makespan, platform_of, replayed

PLANNERS = (
    "heft", "cpop", "peft", "lookahead", "mcp", "hlfet", "t-level", "dls", "etf", "min-min", "max-min", "sufferage",
    "random", "linear-clustering", "dsc", "mct", "met", "olb", "duplex", "gdl", "bil", "fcp", "flb", "wba",
    "hbmct", "dps", "fastest-node",
)  # fmt: skip
#: Classics that push ready tasks to queues of executors, or let these take them.
PUSHED = ("dm", "dmda", "dmdas", "heteroprio")
#: Classics that decide during the replay.
ASKED = ("backfilling", "cpa", "lws", "mcpa", "runtime", "work-stealing")
PRINTED = {
    ("heft", 0): (80, [2, 0, 2, 1, 2, 1, 2, 0, 1, 1], [0, 27, 9, 18, 28, 26, 38, 57, 56, 73]),
    ("cpop", 0): (86, [1, 1, 0, 2, 1, 2, 0, 2, 1, 1], [0, 16, 28, 25, 35, 42, 39, 54, 65, 79]),
    ("peft", 1): (122, [0, 0, 0, 0, 2, 1, 0, 1, 2, 1], [0, 29, 51, 22, 35, 29, 83, 54, 81, 106]),
}


def simulated(case, policy, **options):
    """Return the replay of a paper's table: one core for each of its columns, 1 B/s between any two."""
    seconds, edges = case
    graph = ss.TaskGraph.from_edges(
        np.array(seconds, np.float64),
        [edge[:2] for edge in edges],
        edge_bytes=[float(edge[2]) for edge in edges],
    )
    machine = f"generic[cores={len(seconds[0])},kinds=each,link_Bps=1.0,data=sent]"
    return ss.simulate(graph, machine, policy, **options)


@pytest.mark.parametrize(("policy", "case"), PRINTED, ids=str)
def test_printed_schedules(policy, case, engine):
    """Topcuoglu, Hariri, Wu: Fig. 4 and 5. Arabnejad, Barbosa: Fig. 3."""
    ends, executors, starts = PRINTED[policy, case]
    schedule = simulated((TOPCUOGLU, ARABNEJAD)[case], policy, engine=engine)
    assert schedule.makespan_s == ends
    assert schedule.executor.tolist() == executors
    assert schedule.start_s.tolist() == starts


def test_what_others_take_on_the_example_of_heft():
    """Topcuoglu, Hariri, Wu, Sec. 4.1: DLS takes 91 where HEFT takes 80."""
    assert simulated(TOPCUOGLU, "dls").makespan_s == 91


@pytest.mark.parametrize(
    ("policy", "ends"),
    [("heft", 98), ("lookahead", 94), ("dls[messages=true]", 96), ("peft", 95), ("dls", 100)],
)
def test_schedules_of_dslab(policy, ends, engine):
    """The same graph on speeds of 1, 2, 4 and 4 (DSLab, dslab-dag/tests, test_4), whose static levels count messages.

    HEFT and PEFT have one schedule each, as drawn there; by the paper, DLS takes longer.
    """
    work = np.array([64, 76, 52, 32, 56, 64, 60, 44, 48, 28])[:, None]
    schedule = simulated((work / np.array([1, 2, 4, 4]), TOPCUOGLU[1]), policy, engine=engine)
    assert schedule.makespan_s == ends
    drawn = {
        "heft": ([2, 2, 2, 3, 1, 3, 2, 3, 3, 3], [0, 29, 16, 46, 27, 30, 48, 80, 68, 91]),
        "peft": ([2, 2, 2, 3, 3, 3, 2, 3, 2, 3], [0, 29, 16, 25, 33, 47, 48, 67, 63, 88]),
    }
    executors, starts = drawn.get(policy, (schedule.executor.tolist(), schedule.start_s.tolist()))
    assert (schedule.executor.tolist(), schedule.start_s.tolist()) == (executors, starts)


def test_what_others_take_on_the_example_of_peft():
    """Arabnejad, Barbosa compare PEFT's 122 with these."""
    assert simulated(ARABNEJAD, "lookahead").makespan_s == 127
    assert simulated(ARABNEJAD, "heft").makespan_s == 133


def test_ranks_of_heft():
    ranks = Priorities(platform_of(*TOPCUOGLU)).b_level / 3
    expected = [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667]
    assert ranks == pytest.approx(expected, abs=5e-4)
    assert ranks[2] == ranks[3]


def test_critical_path_of_cpop():
    assert critical_path(Priorities(platform_of(*TOPCUOGLU))) == [0, 1, 8, 9]


@pytest.mark.parametrize("names", ["smt", "tsm", "mts"])
def test_critical_path_of_cpop_takes_no_edge_that_passes_a_task_by(names, engine):
    """Means of 39.5, 28.5 and 42 s, and 15 + 41 s between: the path is s, m, t, 166 s, though s -> t is an edge, too.

    In all they take 97 s on the first core and 123 on the second.
    """
    seconds, at = {"s": [33, 46], "m": [1, 56], "t": [63, 21]}, names.index
    edges = [(at("s"), at("m"), 15), (at("m"), at("t"), 41), (at("s"), at("t"), 15)]
    case = [seconds[name] for name in names], edges
    assert critical_path(Priorities(platform_of(*case))) == [at("s"), at("m"), at("t")]
    assert simulated(case, "cpop", engine=engine).makespan_s == 97


def test_optimistic_costs_of_peft():
    """Arabnejad, Barbosa: Table 1."""
    table = Priorities(platform_of(*ARABNEJAD)).optimistic_costs
    assert table.tolist() == [
        [64, 68, 86], [42, 39, 42], [27, 41, 43], [42, 39, 50], [28, 37, 28], [42, 39, 44], [13, 16, 22], [13, 16, 33],
        [13, 16, 20], [0, 0, 0],
    ]  # fmt: skip


def test_levels_of_the_survey():
    """Kwok, Ahmad: static, b- and t-levels of the nine tasks."""
    priorities = Priorities(platform_of(*KWOK, processors=4))
    assert (priorities.static_level / 4).tolist() == [11, 8, 8, 9, 5, 5, 5, 5, 1]
    assert (priorities.b_level / 4).tolist() == [23, 15, 14, 15, 5, 10, 11, 10, 1]
    assert (priorities.t_level / 4).tolist() == [0, 6, 3, 3, 3, 10, 12, 8, 22]


@pytest.mark.parametrize(("policy", "ends"), [("hlfet", 19), ("mcp", 20), ("etf", 19), ("dls", 19)])
def test_schedules_of_the_survey(policy, ends):
    """Kwok, Ahmad: the nine tasks on processors enough."""
    assert makespan(platform_of(*KWOK, processors=9), ss.policy(policy)) == ends


def test_independent_tasks():
    """Two machines, 2, 4 and 9 s on either: min-min leaves the longest for last, max-min starts with it."""
    platform = platform_of([2, 4, 9], [], processors=2)
    assert makespan(platform, ss.policy("min-min")) == 11
    assert makespan(platform, ss.policy("max-min")) == 9
    # Both are fastest on the first executor; the second loses 5 s on the other, the first 1 s: it goes there.
    unequal = platform_of([[2, 2.5], [1, 6]], [])
    assert ss.policy("sufferage").plan(unequal, 0).executor.tolist() == [1, 0]


def test_sufferage_rates_all_again_after_each_task():
    """1 loses most (3 s) and goes to executor 2; then 0 loses 2 s and 2 loses 1.5: 0 goes first, to 0, and 2 to 1.

    In the pass of the paper, 2 would have gone to executor 0 with 1, and 0 to 2 in the next: an end at 5 s.
    """
    platform = platform_of([[2, 4.5, 1], [9, 6, 3], [5, 6.5, 8]], [])
    assert ss.policy("sufferage").plan(platform, 0).executor.tolist() == [0, 2, 1]
    assert makespan(platform, ss.policy("sufferage")) == 6.5


def test_of_equal_dynamic_levels_the_higher_static_level_goes_first():
    """On executor 0, 0 has 3 + (3 - 2) s with its median, and 1 has 4: 1 goes first, to 0, and 0 to executor 1."""
    assert ss.policy("dls").plan(platform_of([[2, 4], [4, 4]], []), 0).executor.tolist() == [1, 0]


@pytest.mark.parametrize("policy", PLANNERS)
def test_one_executor_runs_all_in_sequence(policy):
    assert makespan(platform_of(*ESTEE, processors=1), ss.policy(policy)) == 17


def test_medians():
    platform = platform_of([[4, 1, 7], [0, 0, 5]], [], processors=4)
    assert (
        medians(platform).tolist() == np.median(platform.kind_seconds[:, platform.kind_of], axis=1).tolist()
    )


def test_tasks_that_take_no_time_fit_between_two_that_touch():
    """0 (4 s) and then 1 (4 s) fill the executor; 2 takes no time, is free from 4 s on, and 3 waits for it."""
    platform = platform_of([4, 4, 0, 1], [(0, 2, 0), (0, 1, 0), (2, 3, 9)], processors=1)
    starts, _ = replayed(platform, ss.policy("heft").plan(platform, 0))
    assert starts[2] == 4


def test_a_cycle_is_an_error():
    circle = Csr(np.array([0, 1, 2]), np.array([1, 0], np.int32))
    platform = platform_of([1, 1], [(0, 1, 1)])
    known = {name: getattr(platform, name) for name in platform.__dataclass_fields__}
    with pytest.raises(GraphError, match="in a cycle"):
        ss.policy("heft").plan(Platform(**known | {"successors": circle, "edge_bytes": np.ones(2)}), 0)


def test_a_graph_without_tasks():
    for policy in PLANNERS:
        assert ss.policy(policy).plan(platform_of(np.empty((0, 2)), []), 0).order.tolist() == []


def test_planners_are_those_that_are_registered():
    found = [name for name in registered("policies") if isinstance(ss.policy(name), PlannedPolicy)]
    assert sorted(found) == sorted([*PLANNERS, "optimal"])  # which is compared only where it is named
    assert [str(one) for one in policies_or_all(["fifo", "classics"])] == [
        "fifo", *sorted([*PLANNERS, *PUSHED, *ASKED])
    ]  # fmt: skip
    assert not {*PLANNERS, *PUSHED} & {one.name for one in policies_or_all(None)}
    for machine in ("grace-hopper", "sw26010"):
        of_kinds = policies_or_all(None, ss.machine(machine))
        assert set(PLANNERS) & {one.name for one in of_kinds} == {"heft"}, (
            "others do not choose a kind for each task"
        )


def test_classics_are_compared():
    """All on cores that are alike, those that look at kinds on kinds of cores, which say so; optimal on neither."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 1.0], [(0, 2)])
    found = ss.compare(graph, "generic[cores=2]", policies="classics", layout="2x1")
    assert sorted(found["policy"]) == sorted([*PLANNERS, *PUSHED, *ASKED])
    on_kinds = ss.compare(
        graph, "generic[cores=2,kinds=each]", policies=["optimal", "classics"], layout="2x1"
    )
    assert sorted(on_kinds["policy"]) == sorted([*PLANNERS, *PUSHED, "optimal"])
    assert on_kinds["makespan_s"].min() == 2
    note = f"left out on kinds of cores: {', '.join(ASKED)}; name them to run them"
    chips = ss.machines(graph, ["generic[cores=2,kinds=each]"], "classics", samples=1)
    assert [note in one.notes for one in (found, on_kinds, chips)] == [False, True, True]


def test_random_assignments_differ_by_seed():
    graph = ss.TaskGraph.from_edges([1.0] * 40, [(i, i + 20) for i in range(20)])
    one, again, other = (ss.simulate(graph, "generic[cores=4]", "random", seed=seed) for seed in (1, 1, 2))
    assert one.executor.tolist() == again.executor.tolist() != other.executor.tolist()
    assert set(one.executor.tolist()) == {0, 1, 2, 3}


@st.composite
def platforms(draw):
    """Return platforms with ties, tasks that take no time, shared places and messages of any kind."""
    n, p, kinds = draw(st.integers(0, 14)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    whole = draw(st.booleans())
    seconds = rng.integers(0, 5, (n, kinds)).astype(np.float64) if whole else rng.random((n, kinds))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.25]
    names = rng.permutation(n)
    cost = (lambda: float(rng.integers(0, 6))) if whole else rng.random
    edges = [(int(names[i]), int(names[j]), cost()) for i, j in pairs]
    places = rng.integers(0, p, p) if draw(st.booleans()) else None
    platform = platform_of(seconds, edges, p, places, latency_s=draw(st.sampled_from([0.0, 0.5])))
    known = {name: getattr(platform, name) for name in platform.__dataclass_fields__}
    if kinds > 1 and draw(st.booleans()):
        bound = np.where(rng.random(seconds.shape) < 0.4, np.inf, platform.kind_seconds)
        used = platform.kind_of
        dead = np.isinf(bound[:, used]).all(axis=1)
        bound[dead, used[0]] = 1.0
        known["kind_seconds"] = bound
    if draw(st.booleans()):
        return Platform(**known)
    apart = rng.random(platform.latency_s.shape) * (1.0 - np.eye(len(platform.latency_s)))
    return Platform(**known | {"latency_s": apart, "s_per_B": apart.T.copy()})


@pytest.mark.skipif(find() is None, reason="installed without the compiled module")
@pytest.mark.parametrize("policy", PLANNERS)
@settings(max_examples=20)
@given(platform=platforms())
def test_compiled_planners_are_pythons_to_the_bit(policy, platform):
    planner = ss.policy(policy)
    compiled = planner.plan(platform, 0)
    with ExitStack() as stack:
        planning = "simsched.policy.planning"
        for module in (f"{planning}.listing", f"{planning}.pairing", f"{planning}.dynamic", f"{planning}.grouping",
                       f"{planning}.priorities", "simsched.policies.linear_clustering"):  # fmt: skip
            stack.enter_context(patch(f"{module}.find", lambda: None))
        python = planner.plan(platform, 0)
    for column in ("executor", "order"):
        assert getattr(compiled, column).dtype == getattr(python, column).dtype == np.int32
        assert getattr(compiled, column).tolist() == getattr(python, column).tolist()
    replayed(platform, compiled)


def test_met_takes_the_one_executor_that_it_uses() -> None:
    """Eight tasks of 1 s that gain fully from cores: one executor of four takes 2 s, the first of four takes 8 s."""
    graph = ss.TaskGraph.from_edges([1.0] * 8, kinds="mine")
    costs = ss.CostModel({"mine": ss.Curve(serial_share=0.0)})
    for layout in (None, "best"):
        found = ss.simulate(graph, "generic[cores=4]", "met", layout, costs)
        assert (found.layout, found.makespan_s) == ("1x4", 2.0)
    given = ss.simulate(graph, "generic[cores=4]", "met", "4x1", costs)
    assert given.makespan_s == 8.0
    assert any("met looks at no other task" in note for note in given.notes)
