"""Samples of `data-parallel`: who belongs to whom, and that a worker stays with what it has begun."""

import numpy as np

import simsched as ss
from simsched.policies.data_parallel import samples


def test_a_join_belongs_to_its_predecessor_of_the_lowest_index():
    """That is task 2, of the sample that begins with task 1."""
    graph = ss.TaskGraph.from_edges([1.0] * 5, [(1, 2), (0, 3), (2, 4), (3, 4)])
    assert samples(graph).tolist() == [0, 1, 1, 0, 1]


def test_samples_by_hand():
    """Two chains, 0-2-4 and 1-3, joined by 5; 6 stands alone and 7 follows 5 and 6."""
    edges = [(0, 2), (2, 4), (1, 3), (4, 5), (3, 5), (5, 7), (6, 7)]
    graph = ss.TaskGraph.from_edges([1.0] * 8, edges)
    assert samples(graph).tolist() == [0, 1, 0, 1, 0, 1, 6, 1]
    assert samples(ss.TaskGraph.from_edges([], [])).tolist() == []


def test_a_long_chain_is_one_sample():
    n = 1000
    graph = ss.TaskGraph.from_edges(np.ones(n), [(i, i + 1) for i in range(n - 1)])
    assert not samples(graph).any()


def test_a_worker_stays_with_its_sample(engine):
    """Three samples of two tasks on two workers: the third begins where the shorter one ends, never in between."""
    seconds = [3.0, 1.0, 1.0, 1.0, 3.0, 1.0]
    graph = ss.TaskGraph.from_edges(seconds, [(0, 1), (2, 3), (4, 5)])
    run = ss.simulate(graph, "generic[cores=2]", "data-parallel", engine=engine)
    assert run.start_s.tolist() == [0, 3, 0, 1, 2, 5]
    assert run.executor.tolist() == [0, 0, 1, 1, 1, 1]


def test_one_worker_a_hardware_thread():
    graph = ss.TaskGraph.from_edges([1.0] * 300, [])
    assert ss.simulate(graph, "knc-7120p[smt=4]", "data-parallel").layout == "244x1"
    assert str(ss.policy("data-parallel[prefer=lowest]")) == "data-parallel[prefer=lowest]"
