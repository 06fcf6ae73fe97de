"""`layout="best"`: the shortest of a few replays, labelled so, and as short as all layouts together."""

import pytest
from hypothesis import given, settings

import simsched as ss
from simsched.errors import LayoutError
from simsched.policy import Layout
from simsched.replay.best_layout import MOST_REPLAYS
from simsched.testing import strategies as ours


@pytest.mark.parametrize("policy", ["critical-path", "fifo", "sequential", "corun"])
@pytest.mark.parametrize("machine", ["epyc-9654x2", "knl-7250"])
def test_no_worse_than_the_estimate_and_than_every_full_layout(policy, machine):
    graph, target = ss.workload("transformer[layers=1]"), ss.machine(machine)
    best = ss.simulate(graph, target, policy, "best")
    assert best.inputs.layout_by == "replays"
    assert best.makespan_s <= ss.simulate(graph, target, policy).makespan_s
    every = [ss.simulate(graph, target, policy, layout) for layout in ss.policy(policy).layouts(target)]
    assert best.makespan_s <= 1.01 * min(schedule.makespan_s for schedule in every)


@settings(max_examples=12)
@given(ours.graphs(max_tasks=10))
def test_on_a_small_machine_it_is_the_shortest_of_all(graph):
    """Five layouts of six cores, fewer than it may replay: none that could be shorter is left out."""
    best = ss.simulate(graph, "generic[cores=6]", "critical-path", "best")
    every = [ss.simulate(graph, "generic[cores=6]", "critical-path", layout) for layout in Layout.filling(6)]
    assert best.makespan_s <= min(schedule.makespan_s for schedule in every)


def test_at_most_so_many_replays_and_each_reports_its_tasks():
    graph, finished = ss.workload("rnn"), []
    best = ss.simulate(graph, "knl-7250", "fifo", "best", progress=finished.append)
    replays, rest = divmod(sum(finished), graph.n_tasks)
    assert rest == 0
    assert 1 <= replays <= MOST_REPLAYS
    assert f"{replays} replays" in best.inputs.layout_why


def test_the_same_again():
    graph = ss.workload("rnn")
    first, second = (ss.simulate(graph, "knl-7250", "corun", "best") for _ in range(2))
    assert (first.layout, first.makespan_s) == (second.layout, second.makespan_s)


def test_policies_without_layouts():
    graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul")
    assert ss.simulate(graph, "generic[cores=2]", "kind-widths", "best").inputs.layout_by == "estimate"

    class Own(ss.Policy):
        name = "own"

        def decide(self, view):
            return [ss.Start(task) for task in view.ready[: len(view.idle_cores)]]

    assert ss.simulate(graph, "generic[cores=2]", Own, "best").inputs.layout_by == ""


def test_no_such_word():
    with pytest.raises(LayoutError, match="'worst' is not a layout"):
        ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic", "fifo", "worst")


def test_what_needs_a_layout_says_so() -> None:
    graph = ss.TaskGraph.from_edges([1.0, 2.0])
    with pytest.raises(LayoutError, match="'best' is for simulations only; write executors x cores here"):
        ss.tune(graph, "generic[cores=2]", "fifo", layouts=["best"])


def test_noise_that_shortens_tasks_cuts_no_search():
    """All tasks take a tenth of their estimates: shorter than every lower bound, so that these say nothing."""
    graph = ss.TaskGraph.from_edges([1.0] * 12, kinds="MatMul")
    short = ss.simulate(graph, "generic[cores=12]", "fifo", "best", factors=[0.1] * 12)
    assert int(short.inputs.layout_why.split(" replays")[0].split()[-1]) >= 5


def test_the_default_on_kinds_of_cores_is_found_by_replays():
    """One executor per core leaves long tasks to slow cores; estimates do not know that."""
    graph, machine = ss.workload("lstm[layers=2,steps=8,batch=64]"), "core-i7-1370p"
    found = ss.simulate(graph, machine, "fifo")
    assert found.inputs.layout_by == "replays"
    assert found.makespan_s <= ss.simulate(graph, machine, "fifo", layout="14x1").makespan_s
