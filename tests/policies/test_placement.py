"""Which cores a team takes, by hand."""

import numpy as np
import pytest

import simsched as ss
from simsched.policy import CandidateRule
from simsched.policy.placement import take_idle


@pytest.mark.parametrize(
    ("idle", "width", "team"),
    [
        ([0, 1, 2, 3], 2, [0, 1]),
        ([1, 2, 3], 2, [2, 3]),  # a whole tile before a broken one
        ([0, 1, 3], 1, [3]),  # one core fills a broken tile, so that tile 0 stays whole
        ([0, 1, 3, 4, 5], 3, [0, 1, 4]),  # whole tiles, and the rest from the next of them
        ([1, 2], 2, [1, 2]),
    ],
)
def test_tiles_of_two(idle, width, team):
    assert take_idle(idle, width, 2, 64) == team


def test_without_tiles_the_lowest_numbers():
    assert take_idle([1, 4, 5], 2, 1, 64) == [1, 4]


def test_a_dynamic_policy_on_tiles(engine):
    """Four cores in two tiles: 0 (1 s) takes core 0, 1 the rest of its tile, 2 of two cores the whole tile."""

    class Mixed(ss.Policy):
        def decide(self, view):
            return [ss.Start(task, width=(1, 1, 2)[task]) for task in view.ready]

    graph = ss.TaskGraph.from_edges([1, 1, 1])
    schedule = ss.simulate(graph, "knl-7250[cores=4]", Mixed, runtime=ss.RuntimeProfile(), engine=engine)
    assert [schedule.cores(task).tolist() for task in range(3)] == [[0], [1], [2, 3]]


def test_hardware_threads_way_by_way():
    """Four cores in two tiles, two ways: core 3 is taken before any core runs a second thread."""
    assert take_idle([3, 4, 5, 6, 7], 3, 2, 4) == [3, 4, 5]
    assert take_idle([4, 5, 6, 7], 2, 2, 4) == [4, 5]


def test_a_dynamic_policy_fills_cores_before_ways(engine):
    class Three(ss.Policy):
        def decide(self, view):
            return [ss.Start(task, width=(3, 3, 2)[task]) for task in view.ready]

    machine = "knl-7250[cores=4,smt=2,contention=false]"
    schedule = ss.simulate(ss.TaskGraph.from_edges([1, 1, 1]), machine, Three, engine=engine)
    assert [schedule.cores(task).tolist() for task in range(3)] == [[0, 1, 2], [3, 4, 5], [6, 7]]


class Asked(CandidateRule):
    """The rule that both engines know, asked through Python."""


@pytest.mark.rule("Teams of dynamic policies")
@pytest.mark.parametrize("rule", [CandidateRule, Asked])
@pytest.mark.parametrize(
    ("machine", "widths", "teams"),
    [
        # Two tiles of four. One core breaks tile 0, two more come from there, and four find tile 1 whole.
        ("generic[cores=8,cores.per_tile=4]", [1, 2, 4], [[0], [1, 2], [4, 5, 6, 7]]),
        # Two tiles of two, two ways: six threads are the first ways and those of tile 0; one more is of tile 1.
        ("knl-7250[cores=4,smt=2,contention=false]", [6, 1], [[0, 1, 2, 3, 4, 5], [6]]),
    ],
)
def test_where_a_width_goes(replay, rule, machine, widths, teams):
    """Tasks of 9, 1 and 1 s: the longest starts, the others beside it, fewest threads first."""

    class Given(ss.Policy):
        def prepared(self, problem):
            offered = np.array(widths, np.int32)
            return rule(offered[:, None], problem.costs.seconds(offered)[:, None], max_running=8)

    schedule = replay([9, 1, 1][: len(widths)], [], Given, machine, runtime=ss.RuntimeProfile())
    assert [schedule.cores(task).tolist() for task in range(len(widths))] == teams
    assert schedule.start_s.tolist() == [0] * len(widths)
