"""What would help most: real replays, by hand and on random graphs."""

import numpy as np
import pytest
from hypothesis import given, settings

import simsched as ss
from simsched.errors import CostError, SimschedError
from simsched.testing.strategies import graphs


def gains(frame):
    return dict(zip(frame["name"], frame["gain_s"], strict=True))


def test_tasks_by_hand(replay):
    """0 (1 s) -> 2 (3 s) is the path, 1 (2 s) runs beside it: halving 2 saves 1.5 s, halving 0 half a second."""
    frame = replay([1, 2, 3], [(0, 2)]).explain().what_if()
    assert gains(frame) == {"task 2": 1.5, "task 0": 0.5}
    assert frame["makespan_s"].tolist() == [2.5, 3.5]
    assert frame["gain"].tolist() == [1.5 / 4, 0.5 / 4]
    assert frame["on_path_s"].tolist() == [3, 1]


def test_another_path_limits_the_gain(replay):
    """5 s beside 4 s: five times faster saves no more than 1 s."""
    assert gains(replay([5, 4], []).explain().what_if(speedup=5)) == {"task 0": 1}


def test_kinds(engine):
    """All of kind a, 1 s and 3 s on the path, twice as fast: 0.5 + 1.5 s, as long as 1 beside them."""
    graph = ss.TaskGraph.from_edges([1, 2, 3], [(0, 2)], kinds=["a", "b", "a"])
    frame = ss.simulate(graph, "generic[cores=2]", "fifo", engine=engine).explain().what_if(kind_speedup=2)
    kind = frame[frame["what"] == "kind"]
    assert kind[["name", "task", "kind", "n_tasks", "gain_s"]].to_dict("records") == [
        {"name": "all a", "task": -1, "kind": "a", "n_tasks": 2, "gain_s": 2}
    ]


def test_equal_gains_have_one_rank(replay):
    frame = replay([1, 1, 1], [(0, 1), (1, 2)]).explain().what_if()
    assert frame[["rank", "task"]].values.tolist() == [[1, 0], [1, 1], [1, 2]]


def test_an_anomaly_is_a_negative_gain(replay):
    """Graham's nine tasks on three cores, in order of index.

    0 (3 s), 1 and 2 (2 s), at 2 s 3 (2 s), at 3 s 8 (9 s, after 0), which ends at 12 s; beside it 4 to 7 (4 s each).
    Is 3 over at 3 s, then 4, 5 and 6 start there before 8, which waits until 7 s and ends at 16 s.
    """
    seconds, edges = [3, 2, 2, 2, 4, 4, 4, 4, 9], [(0, 8), (3, 4), (3, 5), (3, 6), (3, 7)]
    schedule = replay(seconds, edges, "fifo", "generic[cores=3]")
    assert schedule.makespan_s == 12
    frame = schedule.explain().what_if()
    assert gains(frame)["task 3"] == -4
    assert frame["gain_s"].is_monotonic_decreasing


def test_noise_and_software_costs_are_those_of_the_schedule(engine):
    """The factors of a schedule stay: a speed-up of 1 saves nothing."""
    graph = ss.TaskGraph.from_edges(np.arange(1, 9) / 8, [(0, 5), (1, 6), (2, 7)], kinds="a")
    runtime = ss.RuntimeProfile(dispatch_s=0.01)
    schedule = ss.simulate(
        graph, "knl-7250[cores=4]", "fifo", "2x2", ss.CostModel(noise=0.3), runtime, engine=engine, seed=3
    )
    frame = schedule.explain().what_if(speedup=1, kind_speedup=1)
    assert len(frame)
    assert set(frame["gain_s"]) == {0.0}


def test_replays_are_bounded_and_counted(replay):
    told = []
    frame = (
        replay([1.0] * 20, [(i, i + 1) for i in range(19)])
        .explain()
        .what_if(replays=6, top=4, progress=told.append)
    )
    assert told == [1] * 6
    assert len(frame) == 4
    assert len(replay([1.0], []).explain().what_if(replays=0)) == 0


@pytest.mark.parametrize("wrong", [{"speedup": 0}, {"kind_speedup": -1}, {"speedup": float("nan")}])
def test_impossible_speed_ups(replay, wrong):
    with pytest.raises(CostError, match="must be above 0"):
        replay([1], []).explain().what_if(**wrong)


@pytest.mark.parametrize("wrong", [{"top": -1}, {"replays": -2}])
def test_impossible_counts(replay, wrong):
    with pytest.raises(SimschedError, match="zero or more"):
        replay([1], []).explain().what_if(**wrong)


@settings(max_examples=12)
@given(graphs(max_tasks=10))
def test_rows_are_replays(graph):
    """Every row says what `simulate` says with those factors."""
    schedule = ss.simulate(graph, "generic[cores=2]", "critical-path")
    frame = schedule.explain().what_if()
    for what, task, kind, makespan_s in frame[["what", "task", "kind", "makespan_s"]].itertuples(index=False):
        factors = np.ones(graph.n_tasks)
        if what == "task":
            factors[task] /= 2
        else:
            factors[np.array(graph.kinds.to_list()) == kind] /= 1.1
        again = ss.simulate(graph, "generic[cores=2]", "critical-path", factors=factors)
        assert again.makespan_s == makespan_s
