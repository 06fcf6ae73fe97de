"""CPA and MCPA: widths and schedules worked out by hand, the compiled loop against Python's, bounds of the papers."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.native import find
from simsched.policy.planning import critical_widths, plan_teams
from simsched.testing.strategies import graphs, of_kinds

from .planned import platform_of
from .test_planners import platforms

EVEN = ss.CostModel(curves={"even": ss.Curve(0.0), "serial": ss.Curve(1.0)})


def even(seconds, cores):
    """Return the seconds of tasks that divide evenly on 1 to all cores."""
    return np.array(seconds, np.float64)[:, None] / np.arange(1, cores + 1)


def widths(seconds, edges, cores, group=None):
    platform = platform_of(seconds, edges, processors=cores)
    most = np.full(len(seconds), cores, np.int32)
    return critical_widths(platform, even(seconds, cores), most, group).tolist()


def test_a_chain_takes_all_cores():
    """The mean load of 12 s on four cores is 3 s: the path is longer until both tasks have all cores."""
    assert widths([6, 6], [(0, 1, 0)], 4) == [4, 4]


def test_the_task_whose_seconds_per_core_fall_most_grows():
    """A chain of 8 and 4 s on two cores: 8 to 4 gains 8 - 2 = 6, 4 to 2 gains 3: both, until the path is 6 = 12 / 2."""
    assert widths([8, 4], [(0, 1, 0)], 2) == [2, 2]
    # The path of 12 s shrinks to 8, no longer than the mean load of (12 + 4) / 2.
    assert widths([8, 4, 4], [(0, 1, 0)], 2) == [2, 1, 1]


def test_messages_are_on_the_path():
    """1 s, 7 s of data, 1 s on two cores: however wide, the path is longer than the load: both grow to the widest."""
    assert widths([1, 1], [(0, 1, 7)], 2) == [2, 2]
    assert widths([1, 1, 3, 3], [(0, 1, 0)], 2) == [1, 1, 1, 1]


def test_a_level_has_no_more_cores_than_there_are():
    """6 and 4 s on three cores, mean load 10/3: CPA widens both; MCPA's level is full after the first."""
    assert widths([6, 4], [], 3) == [2, 2]
    assert widths([6, 4], [], 3, np.array([0, 0], np.int32)) == [2, 1]


def test_what_gains_nothing_stays(engine):
    """A serial task is as fast on one core, however long the path."""
    graph = ss.TaskGraph.from_edges([4.0, 4.0], [(0, 1)], kinds=["serial", "even"])
    schedule = ss.simulate(graph, "generic[cores=4]", "cpa", costs=EVEN, engine=engine)
    assert schedule.tasks["width"].tolist() == [1, 4]
    assert schedule.start_s.tolist() == [0, 4]
    assert schedule.makespan_s == 5


@pytest.mark.parametrize(("policy", "width", "ends"), [("cpa", [2, 2], 5), ("mcpa", [2, 1], 4)])
def test_both_engines_replay_the_plan(policy, width, ends, engine):
    """6 and 4 s on three cores: on two each, the second waits for the first: 3 + 2 s; on two and one, 4 s."""
    graph = ss.TaskGraph.from_edges([6.0, 4.0], kinds=["even"] * 2)
    schedule = ss.simulate(graph, "generic[cores=3]", policy, costs=EVEN, engine=engine)
    assert schedule.tasks["width"].tolist() == width
    assert schedule.makespan_s == ends


def test_the_highest_level_takes_the_cores_that_are_free_first():
    """Chain 0, 1 (2 and 3 s), 2 (4 s), on two cores: 0 first, of level 5, on core 0; 2 on core 1; 1 on core 0 at 2."""
    platform = platform_of([2, 3, 4], [(0, 1, 0)], processors=2)
    seconds, level = np.array([2.0, 3.0, 4.0]), np.array([5.0, 3.0, 4.0])
    teams, order = plan_teams(platform, np.ones(3, np.int32), seconds, level)
    assert (teams, order.tolist()) == ([[0], [0], [1]], [0, 2, 1])


@pytest.mark.parametrize("policy", ["cpa", "mcpa"])
@settings(max_examples=10, deadline=None)
@given(graph=graphs(max_tasks=12), cores=st.integers(1, 6))
def test_plans_end_as_the_engines_end(policy, graph, cores):
    """The replay of a plan is the plan, on both engines: a task starts when its cores are free and its data there.

    Data leave when they are written; no plan ends below the area or the longest path.
    """
    machine = f"generic[cores={cores},link_Bps={2.0**20},data=sent]"
    engines = ("simpy",) if find() is None else ("simpy", "native")
    one, *others = (ss.simulate(graph, machine, policy, engine=engine) for engine in engines)
    assert all(other.start_s.tolist() == one.start_s.tolist() for other in others)
    free, first, data = [0.0] * cores, one.tasks["first_core"], graph.data
    for task in one.start_order.tolist():
        read = [] if data is None else data.inputs(graph.n_tasks).neighbours(task).tolist()
        sent = [(data.producer[what], np.nan_to_num(data.size_B[what])) for what in read]
        there = [one.finish_s[by] + (first[by] != first[task]) * size_B / 2.0**20 for by, size_B in sent]
        cause = max(one.ready_s[task], *(free[core] for core in one.cores(task)), *there)
        assert one.start_s[task] == pytest.approx(cause, rel=1e-12)
        for core in one.cores(task):
            free[core] = one.finish_s[task]
    assert one.makespan_s >= ss.bounds(graph, machine).bound_s * (1 - 1e-9)
    busy = one.tasks["width"].to_numpy() @ (one.finish_s - one.start_s)
    assert busy <= one.makespan_s * cores * (1 + 1e-9)


@pytest.mark.rule("Sent")
@pytest.mark.parametrize("policy", ["cpa", "mcpa"])
def test_data_leave_when_they_are_written(policy, engine):
    """0 and 1 on core 0, 3 (until 5) and 2 on core 1: what 2 reads is sent when 0 ends at 4, and is there at 7."""
    graph = ss.TaskGraph.from_edges([4.0, 3.0, 1.0, 5.0], [(0, 2)], edge_bytes=[3.0])
    schedule = ss.simulate(graph, "generic[cores=2,link_Bps=1.0,data=sent]", policy, engine=engine)
    assert schedule.transfers[["depart_s", "arrive_s"]].values.tolist() == [[4, 7]]
    assert schedule.start_s.tolist() == [0, 4, 7, 0]


@pytest.mark.parametrize("policy", ["cpa", "mcpa"])
def test_kinds_of_cores_have_a_note(policy):
    graph = ss.TaskGraph.from_edges([1.0, 2.0])
    for kinds in (True, False):
        notes = ss.simulate(graph, f"generic[cores=2{',kinds=each' * kinds}]", policy).notes
        assert any(one.startswith(f"{policy} assumes that all cores") for one in notes) == kinds


@pytest.mark.parametrize("policy", ["cpa", "mcpa"])
def test_teams_are_of_the_cores_that_were_planned(policy, engine):
    """Tiles of two fast cores, a slow one and a device: the plan has cores kind by kind, fast ones first."""
    machine = of_kinds("generic[cores=8,cores.per_tile=4]")
    schedule = ss.simulate(ss.TaskGraph.from_edges([1.0] * 4), machine, policy, engine=engine)
    assert schedule.tasks["first_core"].tolist() == [0, 1, 4, 5]


@pytest.mark.parametrize("policy", ["cpa", "mcpa"])
def test_no_task_and_one_core(policy):
    assert ss.simulate(ss.TaskGraph.from_edges([]), "generic[cores=2]", policy).makespan_s == 0
    graph = ss.TaskGraph.from_edges([1.0, 0.0, 2.0], [(0, 1)], kinds=["even"] * 3)
    assert ss.simulate(graph, "generic[cores=1]", policy, costs=EVEN).makespan_s == 3


@pytest.mark.skipif(find() is None, reason="installed without the compiled module")
@settings(max_examples=20)
@given(platform=platforms(), data=st.data())
def test_compiled_widths_are_pythons(platform, data):
    n, widest = platform.successors.n, data.draw(st.integers(1, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    table = np.sort(rng.integers(0, 9, (n, widest)), axis=1)[:, ::-1].astype(np.float64)
    most = rng.integers(1, widest + 1, n).astype(np.int32)
    group = data.draw(st.sampled_from([None, rng.integers(0, max(n, 1), n).astype(np.int32)]))
    compiled = critical_widths(platform, table, most, group)
    with patch("simsched.policy.planning.moldable.find", lambda: None):
        assert critical_widths(platform, table, most, group).tolist() == compiled.tolist()
    assert (compiled <= most).all()
