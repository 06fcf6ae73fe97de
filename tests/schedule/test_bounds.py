"""Bounds stronger than critical path and area: by hand, and beside brute truth."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.policy import Start
from simsched.schedule.energy import EFFORT, Windows, fernandez_bussell, moldable_area
from simsched.testing.strategies import graphs

ALONE = ss.CostModel(default=ss.Curve(1.0))


def windows(graph, machine, costs):
    return Windows.of(graph, costs.on(graph, ss.machine(machine)))


def test_tasks_that_must_run_at_once():
    """1 s, then four of 1 s side by side, then 1 s: path 3, area 3, but the four take 2 s on 2 cores."""
    graph = ss.TaskGraph.from_edges(np.ones(6), [(0, i) for i in range(1, 5)] + [(i, 5) for i in range(1, 5)])
    limits = ss.bounds(graph, "generic[cores=2]", ALONE, thorough=True)
    assert (limits.critical_path_s, limits.area_s, limits.moldable_area_s) == (3, 3, 3)
    assert limits.fernandez_bussell_s == limits.bound_s == 4
    assert limits.name == "fernandez bussell"
    assert ss.simulate(graph, "generic[cores=2]", "fifo", costs=ALONE).makespan_s == 4


def test_a_deadline_that_leaves_only_wide_teams():
    """Two tasks of 4 s alone, 3 s on two cores and no less, on 2 cores.

    Path 3 and area 4. By 3.5 s both would have to be wide: 6 s of both cores. So it takes 4 s.
    """
    graph = ss.TaskGraph.from_edges([4.0, 4.0], kinds="half")
    costs = ss.CostModel(curves={"half": ss.Curve(0.5)})
    limits = ss.bounds(graph, "generic[cores=2]", costs, thorough=True)
    assert (limits.critical_path_s, limits.area_s) == (3, 4)
    chain = ss.TaskGraph.from_edges([4.0, 4.0, 4.0, 4.0], [(0, 1), (1, 2)], kinds="half")
    limits = ss.bounds(chain, "generic[cores=2]", costs, thorough=True)
    # Path 9 and area 8. Within T < 10 no task of the chain can be narrow, so that its core-seconds are 18 and not 12.
    assert (limits.critical_path_s, limits.area_s) == (9, 8)
    assert limits.moldable_area_s == pytest.approx(10, rel=1e-8)
    assert limits.name == "moldable area"
    pytest.importorskip("ortools")
    assert ss.optimum(chain, "generic[cores=2]", costs=costs).makespan_s >= limits.bound_s * (1 - 1e-9)


@settings(deadline=None)
@given(graphs(max_tasks=12), st.integers(1, 4))
def test_more_cores_never_raise_a_bound_of_one_core_tasks(graph, cores):
    costs = ss.CostModel(curves=dict.fromkeys(graph.kinds.labels, ss.Curve(1.0)))
    fewer, more = (ss.bounds(graph, f"generic[cores={n}]", costs, thorough=True) for n in (cores, cores + 1))
    for name in vars(fewer):
        assert getattr(more, name) <= getattr(fewer, name) * (1 + 1e-9)


@settings(deadline=None)
@given(graphs(max_tasks=12), st.integers(1, 4), st.sampled_from([0.25, 3.0, 1e-6]))
def test_bounds_scale_with_the_seconds(graph, cores, factor):
    slower = graph.cleaned(f"scale[factor={factor}]")
    costs = ss.CostModel(curves=dict.fromkeys(graph.kinds.labels, ss.Curve(0.2)))
    one, other = (ss.bounds(g, f"generic[cores={cores}]", costs, thorough=True) for g in (graph, slower))
    for name in vars(one):
        assert getattr(other, name) == pytest.approx(factor * getattr(one, name), rel=1e-6, abs=1e-15)


def test_large_graphs_get_fewer_intervals_and_then_the_plain_bounds(monkeypatch):
    """Any choice of intervals makes a bound: it never rises as fewer are looked at, and ends at the critical path."""
    generator = np.random.default_rng(3)
    graph = ss.TaskGraph.from_edges(generator.integers(1, 10, 200), [(i, i + 5) for i in range(195)])
    found = []
    for effort in (EFFORT, 20_000, 100):
        monkeypatch.setattr("simsched.schedule.energy.EFFORT", effort)
        found.append(fernandez_bussell(windows(graph, "generic[cores=4]", ALONE), 4))
    assert found[0] >= found[1] >= found[2] == graph.critical_path_s
    assert found[0] > found[2]
    monkeypatch.setattr("simsched.schedule.energy.EFFORT", 100)
    assert moldable_area(windows(graph, "generic[cores=4]", ALONE), 4, 7.0) == 7.0


def test_the_shortest_deadline_may_be_many_times_the_other_bounds():
    """Ten chains of ten tasks, each 1000 s on fewer cores and 10 s on all 1000.

    Path 100 and area 100. Beside the others of its chain a task has T - 90, so that until T = 1090 all are wide, and
    take 1000 s of all cores.
    """
    tasks = np.ones(100)
    two_widths = SimpleNamespace(seconds=lambda width: 1000.0 * tasks if width < 1000 else 10.0 * tasks)
    deep = np.tile(np.arange(10.0), 10) * 10
    slack = Windows(deep, deep + 10, 100.0, two_widths, 1000)
    assert moldable_area(slack, 1000, 100.0) == pytest.approx(1000, rel=1e-8)


def test_slower_kinds_count_for_as_much_less_in_the_area():
    """Ten tasks of 1 s on one core and 4 on the other: both do 1.25 s of work a second, so it takes 8 s."""
    graph, machine = ss.TaskGraph.from_edges([[1.0, 4.0]] * 10), ss.machine("generic[cores=2,kinds=each]")
    assert ss.bounds(graph, machine).area_s == 8.0
    assert ss.simulate(graph, machine, "heft").makespan_s == 8.0
    mixed = ss.TaskGraph.from_edges([[1.0, 4.0], [4.0, 1.0]])
    assert ss.bounds(mixed, machine).area_s == 1.0, "each is best on a kind of its own"


def test_a_team_has_no_more_cores_of_a_kind_than_there_are():
    """6, 8 and 30 s on three cores, in parallel: 6 s on the first, 8 / 2 on two, 30 / 3 on three. So twice 4 s.

    A policy that names its cores gets there; so fast are four P cores of eight on `apple-m1`, or two GPUs.
    """

    @dataclass(frozen=True)
    class OnTwo(ss.Policy):
        def decide(self, state):
            yield from (Start(task, cores=(0, 1)) for task in state.ready)

    chain = ss.TaskGraph.from_edges([[6.0, 8.0, 30.0]] * 2, [(0, 1)], kinds="even")
    costs, machine = ss.CostModel({"even": ss.Curve(0.0)}), "generic[cores=3,kinds=each]"
    limits = ss.bounds(chain, machine, costs, thorough=True)
    assert (limits.critical_path_s, limits.bound_s) == (8, 8)
    assert ss.simulate(chain, machine, OnTwo(), costs=costs).makespan_s == 8
    for name, cores in (("apple-m1", 4), ("grace-hopper[cores=146]", 2)):
        work = ss.TaskGraph.from_edges([np.nan], kinds="MatMul", flops=[1e12], bytes_B=[1e6])
        one_core_s = ss.CostModel().on(work, ss.machine(name)).kinds_s.min()
        assert ss.bounds(work, name).critical_path_s == pytest.approx(one_core_s / cores, rel=1e-3)
