"""Estimates of makespans: by hand where they are exact, and between the bounds everywhere."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.costs import Curve
from simsched.graph.columns import LabelColumn
from simsched.policy import Layout, Problem
from simsched.policy.estimate import Estimator
from simsched.testing import strategies as ours

WIDE = ss.CostModel(curves={"wide": Curve(0.0), "serial": Curve(1.0)})


def estimator(graph, machine, policy, costs=None, runtime=None):
    target = ss.machine(machine)
    profile = runtime or target.runtime
    problem = Problem(graph, target, (costs or ss.CostModel()).on(graph, target, profile))
    return Estimator(problem, ss.policy(policy), profile)


def test_a_chain_that_divides_perfectly():
    """4 s a task on one core: 8 s on 1, 2 s on 4; beside the lower bound Graham's is twice as long."""
    chain = ss.TaskGraph.from_edges([4.0, 4.0], [(0, 1)], kinds="wide")
    estimates = estimator(chain, "generic[cores=4]", "fifo", WIDE)
    assert [estimates.seconds(Layout(k, 4 // k)) for k in (1, 2, 4)] == [2, 4, 8]


def test_starts_one_after_another():
    """Ten tasks of no length, 1 s each to dispatch: at least 10 s."""
    graph = ss.TaskGraph.from_edges([0.0] * 10)
    runtime = ss.RuntimeProfile(dispatch_s=1.0)
    assert estimator(graph, "generic[cores=2]", "critical-path", runtime=runtime).seconds(Layout(2, 1)) >= 10


def test_streams_share_the_memory():
    """Eight streams of 1 GB at 10 GB/s each on 20 GB/s take 0.4 s together, by replay and by estimate."""
    graph = ss.TaskGraph.from_edges([0.1] * 8, bytes_B=[1e9] * 8)
    machine = ss.machine("generic[cores=8,bandwidth_Bps=2e10,contention=true]")
    assert ss.simulate(graph, machine, "fifo", "8x1").makespan_s == pytest.approx(0.4)
    assert estimator(graph, machine, "fifo").seconds(Layout(8, 1)) == pytest.approx(0.4)


@pytest.mark.parametrize("seconds", [1.25, 3.7, 4])
def test_ways_of_a_core_share_the_memory(seconds):
    """Two threads on each of two cores that exhaust the memory: by replay and by estimate."""
    graph = ss.TaskGraph.from_edges([seconds], kinds="add", bytes_B=[1.25e10])
    limits = "core_bandwidth_Bps=1e10,bandwidth_Bps=1.25e10,contention=false,share_cores=true"
    machine = ss.machine(f"knl-7250[cores=2,smt=2,{limits}]")
    replayed = ss.simulate(graph, machine, "fifo", "1x4", runtime=ss.RuntimeProfile())
    found = estimator(graph, machine, "fifo", runtime=ss.RuntimeProfile()).seconds(Layout(1, 4))
    assert found == pytest.approx(replayed.makespan_s, rel=1e-12)
    assert (replayed.makespan_s == replayed.alone_s[0]) == (seconds < 2)


def test_pollers_cost():
    """A chain on 16 executors: 15 idle ones poll at every pop, which one executor spares."""
    chain = ss.TaskGraph.from_edges([1e-6] * 50, [(i, i + 1) for i in range(49)])
    found = ss.simulate(
        chain, "generic[cores=16]", "fifo", runtime=ss.RuntimeProfile(pop_s=1e-7, pop_per_poller_s=1e-6)
    )
    assert found.layout == "1x16"


@pytest.mark.parametrize(
    "policy", ["fifo", "critical-path", "sequential", "corun", "wavefront", "data-parallel"]
)
def test_no_tasks(policy):
    found = ss.simulate(ss.TaskGraph.from_edges([]), "knl-7250", policy)
    assert (found.makespan_s, found.inputs.layout_by) == (0, "replays" if policy == "corun" else "estimate")


@settings(max_examples=20)
@given(ours.graphs(max_tasks=12))
def test_between_the_bounds(graph):
    """Without anything shared, and starts for nothing, list schedules of one width lie between the same bounds."""
    machine = ss.machine("generic[cores=6]")
    estimates = estimator(graph, machine, "critical-path")
    for layout in Layout.filling(6):
        seconds = ss.CostModel().on(graph, machine).seconds(layout.width)
        path_s = float(graph.levels(seconds).max(initial=0))
        area_s = float(seconds.sum()) / layout.executors
        lower_s, upper_s = max(path_s, area_s) * (1 - 1e-12), (path_s + area_s) * (1 + 1e-12)
        assert lower_s <= estimates.seconds(layout) <= upper_s
        assert estimates.lower_s(layout) == pytest.approx(max(path_s, area_s))


def test_the_best_is_first_and_ties_go_to_narrow_teams_on_all_cores():
    graph = ss.TaskGraph.from_edges(np.ones(4), kinds="serial")
    ranked = estimator(graph, "generic[cores=4]", "fifo", WIDE).best(Layout.filling(4))
    assert ranked[0] == (1.0, Layout(4, 1))


MACHINES = [ss.machine(spec) for spec in ("knl-7250[cores=6,smt=2]", "xeon-8160x2[cores=4,smt=2]")]
POLICIES = [
    "sequential", "fifo", "fifo[small_s=0.5]", "fifo[order=lifo]", "fifo[pinned=false]", "data-parallel", "wavefront",
    "critical-path", "critical-path[small_s=1.5,reserved=1]", "critical-path[small_s=0.5,buffered=true]",
    "tensorflow", "tensorflow[pool=5]", "corun", "corun[smt=true]", "corun[fill=true]", "corun[per_kind=true]",
    "corun[fastest=false]", "corun[corun=false]",
]  # fmt: skip


def test_single_threaded_executors_count_in_the_lower_bound():
    """Two tasks of 1 s run on the light-weight executor beside one of 3 s: 3 s, where one executor would take 5."""
    graph = ss.TaskGraph.from_edges([3.0, 1.0, 1.0])
    policy, layout = "critical-path[small_s=1.5,reserved=1]", Layout(1, 1)
    assert ss.simulate(graph, "generic[cores=2]", policy, layout).makespan_s == 3
    assert estimator(graph, "generic[cores=2]", policy).lower_s(layout) == 3


@settings(max_examples=15)
@given(
    graph=ours.graphs(max_tasks=12),
    policy=st.sampled_from(POLICIES),
    machine=st.sampled_from(MACHINES),
    chunks=st.booleans(),
    data=st.data(),
)
def test_no_replay_is_shorter_than_its_lower_bound(graph, policy, machine, chunks, data):
    if chunks:
        graph = dataclasses.replace(
            graph, kinds=LabelColumn.from_strings([f"chunk::{kind}" for kind in graph.kinds.to_list()])
        )
    layout = data.draw(st.sampled_from(ss.policy(policy).layouts(machine)))
    replayed = ss.simulate(graph, machine, policy, layout)
    assert replayed.makespan_s >= estimator(graph, machine, policy).lower_s(layout) * (1 - 1e-12)


class Greedy(ss.Policy):
    """Starts what is ready on all idle cores, whatever the layout says."""

    name, takes_layout = "greedy", True

    def layouts(self, machine):
        return (Layout(1, 1), Layout(2, 1))

    def decide(self, view):
        return [ss.Start(task) for task in view.ready[: len(view.idle_cores)]]


def test_layouts_that_limit_nothing_bound_nothing():
    graph = ss.TaskGraph.from_edges([1.0] * 4)
    assert estimator(graph, "generic[cores=4]", Greedy()).lower_s(Layout(1, 1)) == 1
    assert ss.simulate(graph, "generic[cores=4]", Greedy, "1x1").makespan_s == 1
