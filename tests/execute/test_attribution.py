"""Where the error comes from, worked out by hand."""

import numpy as np
import pytest

import simsched as ss
from simsched.execute.crosscheck.attribution import alone_s, overlaps
from simsched.execute.run.execution import Execution


def forked(kinds=("a", "a", "a", "a")):
    """Return two tasks side by side, then two in turn, all of one second."""
    return ss.TaskGraph.from_edges([1.0] * 4, [(0, 2), (1, 2), (2, 3)], kinds=list(kinds))


@pytest.fixture
def slower(made_up):
    """Return what makes a run whose first two tasks take 1.5 s beside each other, the others 1.2 s, 0.1 s late."""
    return lambda graph: made_up.run(
        made_up.measured(graph, [0, 0, 1.6, 2.9], [1.5, 1.5, 2.8, 4.1], [0, 1, 0, 0])
    )


def test_sources_by_hand(made_up, slower):
    graph = forked()
    found = made_up.checked(graph, [slower(graph)] * 2).sources
    # Predicted 3 s, measured 4.1 s; replays at the real seconds 3.9 s, at those alone 3 x 1.2 s.
    assert found.kernels_s == pytest.approx(3 - 3.6)
    assert found.interference_s == pytest.approx(0 - (3.9 - 3.6))
    assert found.dispatch_s == pytest.approx(3.9 - 4.1)
    assert found.error_s == pytest.approx(3 - 4.1, rel=1e-12)
    assert found.told_apart == 1


def test_ops_never_seen_alone_count_as_kernel_times(made_up, slower):
    graph = forked("bbaa")
    found = made_up.checked(graph, [slower(graph)] * 2).sources
    assert (found.kernels_s, found.interference_s) == pytest.approx((3 - 3.9, 0))
    assert found.told_apart == 0


def test_too_few_tasks_alone_tell_nothing(made_up, slower):
    graph = forked()
    assert made_up.checked(graph, [slower(graph)]).sources.told_apart == 0


def test_tasks_in_turn_have_no_interference(made_up):
    graph = ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)])
    found = made_up.checked(graph, [made_up.run(made_up.measured(graph, [0, 2], [2, 3]))]).sources
    assert (found.kernels_s, found.interference_s, found.dispatch_s) == pytest.approx((-1, 0, 0))
    assert np.isnan(found.told_apart)


@pytest.mark.parametrize(
    ("policy", "layout"), [("critical-path", "2x1"), ("wavefront", "1x2"), ("corun", None)]
)
def test_sources_add_up(policy, layout, made_up):
    random = np.random.default_rng(3)
    # Eight tasks that overlap, and a chain that is alone in the end.
    seconds, edges = random.uniform(0.5, 2, 30), [(i, i + 1) for i in range(8, 29)]
    graph = ss.TaskGraph.from_edges(seconds, edges, kinds=["a"] * 30)
    runs = []
    for _ in range(5):
        real = ss.TaskGraph.from_edges(seconds * random.uniform(0.8, 1.3, 30), edges)
        times = ss.simulate(real, "generic[cores=2]", "fifo", "2x1")
        runs.append(made_up.run(made_up.measured(graph, times.start_s, times.finish_s, times.executor)))
    case = made_up.checked(graph, runs, policy, layout)
    error_s = case.simulated.makespan_s - case.execution.median_s
    assert case.sources.error_s == pytest.approx(error_s, rel=1e-12)
    assert abs(case.sources.interference_s) > 0


def test_a_prediction_that_is_right_has_no_error(made_up):
    graph = forked()
    times = ss.simulate(graph, "generic[cores=2]", "fifo", "2x1")
    found = made_up.checked(
        graph, [made_up.run(made_up.measured(graph, times.start_s, times.finish_s, times.executor))]
    ).sources
    assert (found.kernels_s, found.interference_s, found.dispatch_s) == (0, 0, 0)


def test_replays_decide_as_the_prediction_did(made_up):
    """On one executor the longest estimated task goes first, though it was measured to be short."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(1, 2)])
    case = made_up.checked(
        graph, [made_up.run(made_up.measured(graph, [0, 1, 2], [1, 2, 3]))], "critical-path", "1x1"
    )
    assert case.sources.kernels_s == pytest.approx(6 - 3)
    assert case.sources.dispatch_s == 0


def test_overlaps(made_up):
    graph = ss.TaskGraph.from_edges([1.0] * 4)
    np.testing.assert_allclose(
        overlaps(made_up.measured(graph, [0, 1, 3, 5], [2, 3, 4, 5])), [0.5, 0.5, 0, 0]
    )
    assert overlaps(made_up.measured(ss.TaskGraph.from_edges([]), [], [])).shape == (0,)


def test_disturbed_runs_tell_nothing_of_tasks_alone(made_up, slower):
    graph = forked()
    execution = Execution((slower(graph), made_up.run(slower(graph).schedule, stolen=0.5)))
    seconds, told_apart = alone_s(execution)
    assert told_apart == 0
    assert seconds.tolist() == pytest.approx([1.5, 1.5, 1.2, 1.2])
