"""Merged tasks and copies."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import GraphError
from simsched.graph.parts import copies, merged


@pytest.fixture
def diamond():
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    return ss.TaskGraph.from_edges(
        [1.0, 2.0, 3.0, 4.0], edges, kinds=["a", "b", "b", "c"], flops=[1, 2, 3, 4], bytes_B=[8] * 4
    )


def test_merged_tasks_add_up(diamond):
    two = merged(diamond, [0, 0, 1, 1], ["first", "second"], diamond.durations_s, diamond.bytes_B)
    assert (two.n_tasks, two.n_edges) == (2, 1)
    assert two.durations_s.tolist() == [3.0, 7.0]
    assert two.flops.tolist() == [3.0, 7.0]
    assert two.bytes_B.tolist() == [16.0, 16.0]
    assert two.kinds.to_list() == ["first", "second"]


def test_groups_that_wait_for_each_other_are_refused(diamond):
    with pytest.raises(GraphError, match="cycle"):
        merged(diamond, [0, 1, 1, 0], ["outer", "inner"], diamond.durations_s, diamond.bytes_B)


@pytest.mark.parametrize("groups", [[0, 0, 0], [0, 0, 0, 2], [0, 0, 0, -1]])
def test_groups_are_one_a_task(diamond, groups):
    with pytest.raises(GraphError, match="groups of 4 tasks"):
        merged(diamond, groups, ["one", "two"], diamond.durations_s, diamond.bytes_B)


def test_copies_do_not_know_each_other(diamond):
    three = copies(diamond, 3)
    assert (three.n_tasks, three.n_edges) == (12, 12)
    assert three.kinds.to_list() == diamond.kinds.to_list() * 3
    sources, targets = three.successors.sources(), three.successors.indices
    assert np.array_equal(sources // 4, targets // 4)
    assert three.successors.neighbours(8).tolist() == [9, 10]
    assert ss.simulate(three, "generic[cores=3]", "data-parallel").makespan_s >= 10
    assert copies(diamond, 1) is diamond
    with pytest.raises(GraphError, match="the least is 1"):
        copies(diamond, 0)
